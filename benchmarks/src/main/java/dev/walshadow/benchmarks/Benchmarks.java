package dev.walshadow.benchmarks;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.io.PrintWriter;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures and prints one table; what the figures mean is in docs/benchmarks.md. */
@Command(
        name = "benchmark",
        mixinStandardHelpOptions = true,
        description = "Run the benchmarks and print one Markdown table.")
public final class Benchmarks implements Callable<Integer> {
    /** What can be measured by itself. */
    enum Part {
        JMH,
        LOAD,
        DRAIN,
        LATENCY,
        TOAST,
        LARGE,
        HOLD,
        TEMPORARY,
        START
    }

    @Spec private CommandSpec command;

    @Option(
            names = "--only",
            split = ",",
            paramLabel = "PART",
            description = "Of ${COMPLETION-CANDIDATES}, comma-separated (default: all).")
    private Set<Part> parts = EnumSet.allOf(Part.class);

    @Option(
            names = "--rows",
            defaultValue = "10000000",
            description =
                    "Rows that are loaded, and of the backlog that drains; the large transaction"
                            + " has twice as many (default ${DEFAULT-VALUE}).")
    private long rows;

    @Option(
            names = "--seconds",
            defaultValue = "60",
            description = "How long latencies are measured (default ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(
            names = "--toast",
            split = ",",
            defaultValue = "destination,clickhouse",
            paramLabel = "MODE",
            description =
                    "Modes of [toast] that updates beside large values are measured with (default"
                            + " ${DEFAULT-VALUE}).")
    private List<String> toastModes = List.of();

    @Option(
            names = "--changes",
            defaultValue = "1000",
            description = "How many table changes hold (default ${DEFAULT-VALUE}).")
    private int changes;

    @Option(
            names = "--postgres",
            defaultValue = "18",
            paramLabel = "15..18",
            description = "Major version of the source (default ${DEFAULT-VALUE}).")
    private int major;

    @SuppressWarnings("NullAway.Init") // picocli sets the specification
    Benchmarks() {}

    public static void main(String[] arguments) {
        if (LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME) instanceof Logger root) {
            root.setLevel(Level.WARN);
        }
        System.exit(
                new CommandLine(new Benchmarks())
                        .setCaseInsensitiveEnumValuesAllowed(true)
                        .execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        command.commandLine().getOut().println(Figure.HEADER);
        if (parts.contains(Part.JMH)) {
            say("JMH, about five minutes");
            print(MicroBenchmarks.measure());
        }
        if (parts.contains(Part.LOAD)) {
            say("initial load of " + rows + " rows");
            print(LoadSpeed.measure(major, rows));
        }
        if (parts.contains(Part.DRAIN)) {
            say("backlog of " + rows + " rows");
            print(BacklogDrain.measure(major, rows));
        }
        if (parts.contains(Part.LATENCY)) {
            say("latency, " + seconds + " s after the warm-up");
            print(CommitLatency.measure(major, seconds));
        }
        if (parts.contains(Part.TOAST)) {
            for (String mode : toastModes) {
                say("updates beside large values, " + mode + ", " + seconds + " s");
                print(ToastLag.measure(major, mode, seconds));
            }
        }
        if (parts.contains(Part.LARGE)) {
            say("one transaction of " + 2 * rows + " rows");
            print(LargeTransaction.measure(major, 2 * rows));
        }
        if (parts.contains(Part.HOLD)) {
            say("holds of " + changes + " changes of tables");
            print(HoldLatency.measure(major, changes));
        }
        if (parts.contains(Part.TEMPORARY)) {
            say("temporary tables, " + seconds + " s after the warm-up");
            print(TemporaryTables.measure(major, seconds));
        }
        if (parts.contains(Part.START)) {
            say("starts of what has been attached");
            print(StartTime.measure(major));
        }
        return 0;
    }

    /** At once, so that a part that fails takes no other part's figures with it. */
    private void print(List<Figure> figures) {
        PrintWriter out = command.commandLine().getOut();
        figures.forEach(figure -> out.println(figure.line()));
        out.flush();
    }

    private void say(String line) {
        PrintWriter err = command.commandLine().getErr();
        err.println("benchmark: " + line);
        err.flush();
    }
}
