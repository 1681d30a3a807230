package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** Has the daemon leave ClickHouse alone. */
@Command(
        name = "pause",
        description =
                "Send nothing to ClickHouse until resume, over restarts too; the source's WAL is"
                        + " kept meanwhile.")
final class PauseCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(
            names = "--reason",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Shown by status and the status page.")
    private String reason;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    PauseCommand() {}

    @Override
    public Integer call() {
        JsonNode answer =
                Control.send(command, ControlClient.request("pause").put("reason", reason));
        int inFlight = answer.path("in_flight").asInt(0);
        Control.say(
                command,
                "paused since "
                        + answer.path("paused_since").asString("")
                        + (inFlight == 0
                                ? ""
                                : "; ClickHouse has not answered "
                                        + inFlight
                                        + " statements that were sent before"));
        return inFlight == 0 ? ExitCodes.OK : ExitCodes.UNEQUAL;
    }
}
