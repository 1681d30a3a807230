package dev.walshadow.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Tools for the write-ahead log. */
@Command(
        name = "wal",
        description = "Tools for the write-ahead log.",
        subcommands = {WalInspectCommand.class, WalFilterCommand.class})
final class WalCommand implements Runnable {
    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    WalCommand() {}

    @Override
    public void run() {
        command.commandLine().usage(command.commandLine().getOut());
    }
}
