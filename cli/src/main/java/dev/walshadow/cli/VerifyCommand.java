package dev.walshadow.cli;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.verify.Repair;
import dev.walshadow.daemon.verify.TableResult;
import dev.walshadow.daemon.verify.Verification;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Compares the source with ClickHouse, all columns of all rows. */
@Command(
        name = "verify",
        description = "Compare the source with ClickHouse, all columns of all rows.")
final class VerifyCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(names = "--table", paramLabel = "SCHEMA.TABLE", description = "Only this table.")
    private @Nullable String table;

    @Option(
            names = "--timeout",
            defaultValue = "60s",
            converter = Durations.class,
            description =
                    "How long to wait for the watermark, each time (default ${DEFAULT-VALUE}).")
    private Duration timeout;

    @Option(
            names = "--repair",
            description =
                    "Have the daemon load tables anew that are not equal, and compare these again.")
    private boolean repair;

    @Option(
            names = "--summary",
            paramLabel = "json",
            description = "json: one JSON object as the last line.")
    private @Nullable String summary;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    VerifyCommand() {}

    /** There is one form of summary. */
    static void checkSummary(CommandSpec command, @Nullable String summary) {
        if (summary != null && !summary.equals("json")) {
            throw new ParameterException(
                    command.commandLine(), "--summary takes json, not " + summary);
        }
    }

    @Override
    public Integer call() throws InterruptedException {
        checkSummary(command, summary);
        Configuration configuration = ConfiguredCommand.load(command);
        PrintWriter out = command.commandLine().getOut();
        PrintWriter err = command.commandLine().getErr();
        Verification.Outcome outcome;
        try (ProgressBar bar = new ProgressBar(err)) {
            VerifyProgressBar progress = new VerifyProgressBar(bar);
            outcome =
                    repair
                            ? new Repair(configuration, timeout).run(table, progress)
                            : Verification.of(configuration, timeout).run(table, progress);
        }
        print(outcome, out);
        if ("json".equals(summary)) {
            out.println(outcome.toJson());
        }
        out.flush();
        return outcome.ok() ? ExitCodes.OK : ExitCodes.UNEQUAL;
    }

    static void print(Verification.Outcome outcome, PrintWriter out) {
        for (TableResult result : outcome.results()) {
            out.printf(
                    "%-40s %12d rows  %s%n",
                    result.table(),
                    result.sourceRows(),
                    result.equal()
                            ? "equal"
                            : result.different()
                                    + " differ, "
                                    + result.missing()
                                    + " missing, "
                                    + result.extra()
                                    + " only in ClickHouse");
            for (TableResult.Difference difference : result.differences()) {
                out.println("  " + describe(difference));
            }
        }
        if (!outcome.notCompared().isEmpty()) {
            out.println(
                    "not compared, since the configuration excludes them or they arrive as the"
                            + " bytes that PostgreSQL stores: "
                            + String.join(", ", outcome.notCompared()));
        }
        for (Verification.Repaired table : outcome.repaired()) {
            out.println(
                    table.table()
                            + " was loaded anew: "
                            + (table.equal() ? "equal now" : "still not equal"));
        }
        outcome.setAside().forEach(line -> out.println("not replicated: " + line));
        out.println(outcome.ok() ? "everything is equal" : "NOT equal: " + outcome.reason());
    }

    private static String describe(TableResult.Difference difference) {
        return switch (difference.kind()) {
            case MISSING_IN_CLICKHOUSE ->
                    "missing in ClickHouse: " + difference.key() + ": " + difference.source();
            case ONLY_IN_CLICKHOUSE ->
                    "only in ClickHouse: " + difference.key() + ": " + difference.target();
            case COUNT ->
                    difference.key()
                            + ": "
                            + difference.source()
                            + " such rows on the source, "
                            + difference.target()
                            + " in ClickHouse";
            case DIFFERENT ->
                    difference.key()
                            + ": "
                            + difference.column()
                            + " is "
                            + difference.source()
                            + " on the source, "
                            + difference.target()
                            + " in ClickHouse";
        };
    }
}
