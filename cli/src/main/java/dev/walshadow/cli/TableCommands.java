package dev.walshadow.cli;

import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What commands about single tables have in common: one request for all of them. */
final class TableCommands {
    private TableCommands() {}

    /**
     * @param outcome what is said of each table
     */
    static void send(CommandSpec command, ObjectNode request, List<String> tables, String outcome) {
        ArrayNode names = request.putArray("tables");
        tables.forEach(names::add);
        JsonNode answer = Control.send(command, request);
        PrintWriter out = command.commandLine().getOut();
        for (JsonNode name : answer.path("tables")) {
            out.println(name.asString("") + " " + outcome);
        }
        out.flush();
    }
}
