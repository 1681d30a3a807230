package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Loads tables anew from the source while the stream goes on. */
@Command(
        name = "resync",
        description =
                "Load tables anew from the source; readers see the old rows until it is done.")
final class ResyncCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Parameters(
            paramLabel = "SCHEMA.TABLE",
            arity = "1..*",
            description = "The tables; with several databases DATABASE.SCHEMA.TABLE.")
    private List<String> tables;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    ResyncCommand() {}

    @Override
    public Integer call() {
        TableCommands.send(
                command,
                ControlClient.request("resync"),
                tables,
                "is being loaded anew; walshadow wait returns when it is done");
        return ExitCodes.OK;
    }
}
