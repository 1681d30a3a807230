package dev.walshadow.cli;

import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.PrintWriter;
import picocli.CommandLine.Model.CommandSpec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The daemon of a command's configuration. */
final class Control {
    private Control() {}

    static JsonNode send(CommandSpec command, ObjectNode request) {
        return ControlClient.send(
                StateDirectory.controlSocket(
                        ConfiguredCommand.load(command).get(Settings.STATE_DIR)),
                request);
    }

    static void say(CommandSpec command, String line) {
        PrintWriter out = command.commandLine().getOut();
        out.println(line);
        out.flush();
    }
}
