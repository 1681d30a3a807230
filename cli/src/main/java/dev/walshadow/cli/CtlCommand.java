package dev.walshadow.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Steers a daemon that runs. */
@Command(
        name = "ctl",
        description = "Steer the daemon that runs, by its control socket.",
        subcommands = {
            StatusCommand.class,
            TablesCommand.class,
            PauseCommand.class,
            ResumeCommand.class,
            ReloadCommand.class,
            AddCommand.class,
            RemoveCommand.class,
            ResyncCommand.class,
            LogCommand.class
        })
final class CtlCommand implements Runnable {
    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    CtlCommand() {}

    @Override
    public void run() {
        command.commandLine().usage(command.commandLine().getOut());
    }
}
