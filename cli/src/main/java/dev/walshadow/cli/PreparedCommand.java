package dev.walshadow.cli;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Shows what waits between PREPARE TRANSACTION and its end. */
@Command(
        name = "prepared",
        description = "List prepared transactions, and the WAL that each holds back.")
final class PreparedCommand implements Callable<Integer> {
    private static final String ROW = "%-32s %10s %-16s %-16s %-24s %10s %-14s %14s%n";

    @Spec private CommandSpec command;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    PreparedCommand() {}

    @Override
    public Integer call() {
        Configuration configuration = ConfiguredCommand.load(command);
        JsonNode answer =
                ControlClient.send(
                        StateDirectory.controlSocket(configuration.get(Settings.STATE_DIR)),
                        ControlClient.request("prepared"));
        PrintWriter out = command.commandLine().getOut();
        if (json) {
            out.println(new JsonMapper().writeValueAsString(answer));
        } else {
            print(answer, out);
        }
        out.flush();
        return ExitCodes.OK;
    }

    private static void print(JsonNode answer, PrintWriter out) {
        out.printf(
                Locale.ROOT,
                ROW,
                "gid",
                "xid",
                "database",
                "owner",
                "prepared",
                "age s",
                "first LSN",
                "WAL held");
        for (JsonNode each : answer.path("prepared")) {
            out.printf(
                    Locale.ROOT,
                    ROW,
                    each.path("gid").asString(""),
                    each.path("xid").asLong(0),
                    each.path("database").asString(""),
                    each.path("owner").asString(""),
                    each.path("prepared").asString(""),
                    each.path("age_seconds").asLong(0),
                    each.path("first_lsn").asString("-"),
                    each.path("wal_bytes").asLong(0));
        }
        if (!answer.path("source_answers").asBoolean(true)) {
            out.println("The source does not answer: only what its WAL said is shown.");
        }
    }
}
