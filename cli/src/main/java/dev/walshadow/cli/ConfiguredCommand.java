package dev.walshadow.cli;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.config.Setting;
import dev.walshadow.daemon.config.Settings;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/**
 * {@code --config FILE} and a flag for every setting ({@code --source-slot}). A mixin: {@link
 * #addTo} declares the flags, {@link #load} reads the layers.
 */
final class ConfiguredCommand {
    private ConfiguredCommand() {}

    static void addTo(CommandSpec command) {
        command.addOption(
                OptionSpec.builder("--config")
                        .paramLabel("FILE")
                        .type(Path.class)
                        .required(true)
                        .description("The configuration file (docs/configuration.md).")
                        .build());
        for (Setting<?> setting : Settings.all()) {
            command.addOption(
                    OptionSpec.builder(setting.flag())
                            .paramLabel("VALUE")
                            .type(String.class)
                            .hidden(true)
                            .description(setting.meaning())
                            .build());
        }
    }

    static Configuration load(CommandSpec command) {
        ParseResult parsed = command.commandLine().getParseResult();
        Path file = Objects.requireNonNull(parsed.<Path>matchedOptionValue("--config", null));
        Map<String, String> flags = new LinkedHashMap<>();
        for (Setting<?> setting : Settings.all()) {
            @Nullable String text = parsed.matchedOptionValue(setting.flag(), null);
            if (text != null) {
                flags.put(setting.flag(), text);
            }
        }
        return ConfigurationLoader.load(file, System.getenv(), flags);
    }
}
