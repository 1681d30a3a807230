package dev.walshadow.cli;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** Loads a table anew from the source while the stream goes on. */
@Command(
        name = "resync",
        description =
                "Load a table anew from the source; readers see the old rows until it is done.")
final class ResyncCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Parameters(paramLabel = "SCHEMA.TABLE", description = "The table, as status shows it.")
    private String table;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    ResyncCommand() {}

    @Override
    public Integer call() {
        Configuration configuration = ConfiguredCommand.load(command);
        JsonNode answer =
                ControlClient.send(
                        StateDirectory.controlSocket(configuration.get(Settings.STATE_DIR)),
                        ControlClient.request("resync").put("table", table));
        PrintWriter out = command.commandLine().getOut();
        out.println(
                answer.path("table").asString(table)
                        + " is being loaded anew; walshadow wait returns when it is done");
        out.flush();
        return ExitCodes.OK;
    }
}
