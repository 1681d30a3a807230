package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Takes in tables that the configuration leaves out, while the stream goes on. */
@Command(
        name = "add",
        description = "Follow tables that are left out, with the rows that they have.")
final class AddCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Parameters(
            paramLabel = "SCHEMA.TABLE",
            arity = "1..*",
            description = "The tables; with several databases DATABASE.SCHEMA.TABLE.")
    private List<String> tables;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    AddCommand() {}

    @Override
    public Integer call() {
        TableCommands.send(
                command,
                ControlClient.request("add"),
                tables,
                "is followed from now on; walshadow wait returns when its rows are there");
        return ExitCodes.OK;
    }
}
