package dev.walshadow.cli;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;

/** The effective configuration. */
@Command(
        name = "show",
        description =
                "Show every setting's effective value and where it comes from; passwords are"
                        + " masked.")
final class ConfigShowCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(names = "--json", description = "One JSON array.")
    private boolean json;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    ConfigShowCommand() {}

    @Override
    public Integer call() {
        ArrayNode settings = new JsonMapper().createArrayNode();
        ConfiguredCommand.load(command).describe(settings);
        PrintWriter out = command.commandLine().getOut();
        if (json) {
            out.println(settings);
        } else {
            for (JsonNode setting : settings) {
                out.printf(
                        Locale.ROOT,
                        "%-30s %-40s %s%n",
                        setting.path("key").asString(),
                        setting.path("value").asString(),
                        setting.path("origin").asString());
            }
        }
        out.flush();
        return ExitCodes.OK;
    }
}
