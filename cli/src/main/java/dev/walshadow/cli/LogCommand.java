package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** Changes how much the daemon logs. */
@Command(name = "log", description = "Log from this level on, until a restart.")
final class LogCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Parameters(paramLabel = "LEVEL", description = "error, warn, info, debug or trace.")
    private String level;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    LogCommand() {}

    @Override
    public Integer call() {
        JsonNode answer = Control.send(command, ControlClient.request("log").put("level", level));
        Control.say(command, "the log's level is " + answer.path("level").asString(""));
        return ExitCodes.OK;
    }
}
