package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** Shows the tables alone. */
@Command(name = "tables", description = "Show the daemon's tables with state, rows and reason.")
final class TablesCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(names = "--json", description = "One JSON array.")
    private boolean json;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    TablesCommand() {}

    @Override
    public Integer call() {
        JsonNode tables = Control.send(command, ControlClient.request("status")).path("tables");
        PrintWriter out = command.commandLine().getOut();
        if (json) {
            out.println(tables.isArray() ? tables.toString() : "[]");
        } else {
            StatusCommand.printTables(tables, out);
        }
        out.flush();
        return ExitCodes.OK;
    }
}
