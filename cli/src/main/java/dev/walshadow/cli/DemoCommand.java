package dev.walshadow.cli;

import dev.walshadow.cli.demo.Demo;
import dev.walshadow.daemon.verify.Verification;
import java.io.PrintWriter;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Shows it work: real servers, existing rows, a mixed load, and the comparison at the end. */
@Command(
        name = "demo",
        description = "See it work: PostgreSQL, ClickHouse, a load, and a comparison at the end.")
final class DemoCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(
            names = "--postgres",
            defaultValue = "18",
            paramLabel = "15..18",
            description = "Major version of the source (default ${DEFAULT-VALUE}).")
    private int postgres;

    @Option(
            names = "--duration",
            defaultValue = "60s",
            converter = Durations.class,
            description = "How long the load runs (default ${DEFAULT-VALUE}).")
    private Duration duration;

    @Option(
            names = "--rate",
            defaultValue = "2000",
            paramLabel = "ROWS_PER_S",
            description = "Rows per second of the load (default ${DEFAULT-VALUE}).")
    private double rate;

    @Option(names = "--no-ui", description = "Plain lines instead of the live view.")
    private boolean noUi;

    @Option(
            names = "--summary",
            paramLabel = "json",
            description = "json: one JSON object as the last line.")
    private @Nullable String summary;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    DemoCommand() {}

    @Override
    public Integer call() throws InterruptedException, SQLException {
        if (postgres < 15 || postgres > 18) {
            throw new ParameterException(
                    command.commandLine(), "--postgres takes 15, 16, 17 or 18, not " + postgres);
        }
        if (!(rate > 0)) {
            throw new ParameterException(
                    command.commandLine(), "--rate takes rows per second above 0, not " + rate);
        }
        VerifyCommand.checkSummary(command, summary);
        RunCommand.logAt("warn");
        PrintWriter out = command.commandLine().getOut();
        boolean live = !noUi && Terminal.isInteractive();
        Verification.Outcome outcome;
        try (Demo demo = new Demo(new Demo.Options(postgres, duration, rate, live), out)) {
            Runtime.getRuntime().addShutdownHook(new Thread(demo::close, "demo-stop"));
            outcome = demo.run();
        } catch (Demo.StoppedException e) {
            out.println("stopped: the servers and their files are gone");
            out.flush();
            return ExitCodes.UNEQUAL;
        }
        VerifyCommand.print(outcome, out);
        if ("json".equals(summary)) {
            out.println(outcome.toJson());
        }
        out.flush();
        return outcome.ok() ? ExitCodes.OK : ExitCodes.UNEQUAL;
    }
}
