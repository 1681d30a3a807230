package dev.walshadow.cli;

import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The same as {@code --version}. */
@Command(
        name = "version",
        description = "Show the version, the Java that runs, and the servers it works with.")
final class VersionCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    VersionCommand() {}

    @Override
    public Integer call() {
        List.of(new Version().getVersion()).forEach(line -> Control.say(command, line));
        return ExitCodes.OK;
    }
}
