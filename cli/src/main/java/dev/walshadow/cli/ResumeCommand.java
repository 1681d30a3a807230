package dev.walshadow.cli;

import dev.walshadow.daemon.control.ControlClient;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Ends a pause. */
@Command(name = "resume", description = "End a pause.")
final class ResumeCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    ResumeCommand() {}

    @Override
    public Integer call() {
        Control.send(command, ControlClient.request("resume"));
        Control.say(command, "walshadow goes on");
        return ExitCodes.OK;
    }
}
