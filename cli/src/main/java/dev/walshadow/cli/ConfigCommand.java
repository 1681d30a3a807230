package dev.walshadow.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Groups what is about the configuration. */
@Command(
        name = "config",
        description = "Look at the configuration.",
        subcommands = ConfigShowCommand.class)
final class ConfigCommand implements Runnable {
    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    ConfigCommand() {}

    @Override
    public void run() {
        command.commandLine().usage(command.commandLine().getOut());
    }
}
