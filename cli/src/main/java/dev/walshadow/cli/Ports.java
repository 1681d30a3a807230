package dev.walshadow.cli;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** TCP ports as commands take them. */
final class Ports {
    private static final int LAST = 65_535;

    private Ports() {}

    static void check(CommandSpec command, int port) {
        if (port < 0 || port > LAST) {
            throw new ParameterException(
                    command.commandLine(),
                    "--port takes 0 (a free one) to " + LAST + ", not " + port);
        }
    }
}
