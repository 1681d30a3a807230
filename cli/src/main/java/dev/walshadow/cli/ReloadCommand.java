package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** Has the daemon read its configuration again. */
@Command(
        name = "reload",
        description =
                "Have the daemon read its configuration again and apply what can change live; a"
                        + " bad one changes nothing.")
final class ReloadCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    ReloadCommand() {}

    @Override
    public Integer call() {
        JsonNode answer = Control.send(command, ControlClient.request("reload"));
        answer.path("applied")
                .forEach(key -> Control.say(command, key.asString("") + " is applied"));
        answer.path("later")
                .forEach(key -> Control.say(command, key.asString("") + " needs a restart"));
        if (answer.path("applied").isEmpty() && answer.path("later").isEmpty()) {
            Control.say(command, "the settings are as they were");
        }
        return ExitCodes.OK;
    }
}
