package dev.walshadow.cli;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.config.Setting;
import dev.walshadow.daemon.config.Settings;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * {@code --config FILE} and a flag for every setting ({@code --source-slot}). A mixin: {@link
 * #addTo} declares the flags, {@link #load} reads the layers.
 */
final class ConfiguredCommand {
    private ConfiguredCommand() {}

    static void addTo(CommandSpec command) {
        command.usageMessage()
                .footer(
                        "Every setting of the file is also an option, [source] slot is"
                                + " --source-slot, and an environment variable,"
                                + " WALSHADOW_SOURCE_SLOT.");
        command.addOption(
                OptionSpec.builder("--config")
                        .paramLabel("FILE")
                        .type(Path.class)
                        .required(true)
                        .description("The configuration file (docs/configuration.md).")
                        .build());
        command.addOption(
                OptionSpec.builder("--set")
                        .paramLabel("SECTION.KEY=VALUE")
                        .type(List.class)
                        .auxiliaryTypes(String.class)
                        .description("A setting for this command; wins over the file.")
                        .build());
        addSettings(command);
    }

    /** The settings' flags alone. */
    static void addSettings(CommandSpec command) {
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
        List<String> set = parsed.matchedOptionValue("--set", List.of());
        set.forEach(text -> set(text, flags, command));
        return ConfigurationLoader.load(file, System.getenv(), flags);
    }

    private static void set(String text, Map<String, String> flags, CommandSpec command) {
        int equals = text.indexOf('=');
        String key = equals < 0 ? text : text.substring(0, equals).strip();
        List<String> known = Settings.all().stream().map(Setting::key).toList();
        if (equals < 0 || !known.contains(key)) {
            throw new ParameterException(
                    command.commandLine(),
                    "--set "
                            + key
                            + ": expected SECTION.KEY=VALUE with a key of docs/configuration.md"
                            + ConfigurationLoader.nearest(key, known)
                                    .map(near -> "; did you mean " + near + "?")
                                    .orElse(""));
        }
        Setting<?> setting = Settings.all().get(known.indexOf(key));
        if (flags.put(setting.flag(), text.substring(equals + 1).strip()) != null) {
            throw new ParameterException(command.commandLine(), key + " is set twice");
        }
    }
}
