package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.node.ObjectNode;

/** Stops the replication of tables while the stream goes on. */
@Command(name = "remove", description = "Follow tables no longer; their tables in ClickHouse stay.")
final class RemoveCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Parameters(
            paramLabel = "SCHEMA.TABLE",
            arity = "1..*",
            description = "The tables; with several databases DATABASE.SCHEMA.TABLE.")
    private List<String> tables;

    @Option(names = "--drop", description = "Drop their tables in ClickHouse too.")
    private boolean drop;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    RemoveCommand() {}

    @Override
    public Integer call() {
        ObjectNode request = ControlClient.request("remove").put("drop", drop);
        TableCommands.send(command, request, tables, "is not followed any more");
        return ExitCodes.OK;
    }
}
