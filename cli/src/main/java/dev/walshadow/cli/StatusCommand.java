package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Shows how the daemon is doing. */
@Command(name = "status", description = "Show phase, positions, lag and tables of the daemon.")
final class StatusCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    StatusCommand() {}

    @Override
    public Integer call() {
        JsonNode status = Control.send(command, ControlClient.request("status"));
        PrintWriter out = command.commandLine().getOut();
        if (json) {
            out.println(new JsonMapper().writeValueAsString(status));
        } else {
            print(status, out);
        }
        out.flush();
        return status.path("ok").asBoolean(false) ? ExitCodes.OK : ExitCodes.UNEQUAL;
    }

    private static void print(JsonNode status, PrintWriter out) {
        for (String key :
                new String[] {
                    "phase",
                    "failure",
                    "paused_since",
                    "paused_reason",
                    "waits",
                    "source",
                    "target",
                    "received",
                    "durable",
                    "lag_bytes",
                    "commit_to_durable_millis",
                    "rows",
                    "retries",
                    "spool",
                    "shadow"
                }) {
            if (status.has(key)) {
                out.printf(Locale.ROOT, "%-24s %s%n", key, text(status.path(key)));
            }
        }
        JsonNode bootstrap = status.path("bootstrap");
        if (bootstrap.isObject()) {
            out.printf(Locale.ROOT, "%-24s %s%n", "bootstrap", text(bootstrap));
        }
        for (JsonNode load : status.path("loads")) {
            out.printf(Locale.ROOT, "%-24s %s%n", "load", text(load));
        }
        out.println();
        printTables(status.path("tables"), out);
    }

    static void printTables(JsonNode tables, PrintWriter out) {
        out.printf(Locale.ROOT, "%-40s %-12s %12s  %s%n", "table", "state", "rows", "reason");
        for (JsonNode table : tables) {
            out.printf(
                    Locale.ROOT,
                    "%-40s %-12s %12d  %s%n",
                    table.path("name").asString(""),
                    table.path("state").asString(""),
                    table.path("rows").asLong(0),
                    table.path("reason").asString(""));
        }
    }

    private static String text(JsonNode node) {
        return node.isContainer() ? node.toString() : node.asString("");
    }
}
