package dev.walshadow.cli;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.config.ConfigurationTemplate;
import dev.walshadow.daemon.config.Setting;
import dev.walshadow.daemon.config.Settings;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/** Writes a first configuration file. */
@Command(
        name = "init",
        description = {
            "Write a commented configuration file. Every setting is also an option, [source] url is"
                    + " --source-url; on a terminal it asks for what is missing."
        })
final class InitCommand implements Callable<Integer> {
    /** What a first configuration sets besides what is required. */
    private static final Map<Setting<?>, String> PROPOSED =
            Map.of(
                    Settings.STATE_DIR,
                    "/var/lib/walshadow",
                    Settings.HTTP_LISTEN,
                    "127.0.0.1:9464");

    private static final List<Setting<?>> ASKED =
            List.of(
                    Settings.SOURCE_URL,
                    Settings.CLICKHOUSE_URL,
                    Settings.CLICKHOUSE_USER,
                    Settings.STATE_DIR,
                    Settings.HTTP_LISTEN);

    @Spec private CommandSpec command;

    @Option(
            names = "--output",
            paramLabel = "FILE",
            defaultValue = "walshadow.toml",
            description = "The file to write, which must not exist (default ${DEFAULT-VALUE}).")
    private Path output;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    InitCommand() {}

    @Override
    public Integer call() {
        Map<Setting<?>, String> given = flags();
        if (Terminal.isInteractive()) {
            ASKED.forEach(setting -> ask(setting, given));
        } else {
            PROPOSED.forEach(given::putIfAbsent);
        }
        List<String> missing = new ArrayList<>();
        for (Setting<?> setting : Settings.all()) {
            if (setting.required() && !given.containsKey(setting)) {
                missing.add(setting.flag());
            }
        }
        if (!missing.isEmpty()) {
            throw new ParameterException(
                    command.commandLine(), "missing: " + String.join(", ", missing));
        }
        write(ConfigurationTemplate.of(given));
        PrintWriter out = command.commandLine().getOut();
        out.println(output + " is written; next:");
        out.println("  walshadow check --config " + output);
        out.println("  walshadow run --config " + output);
        out.flush();
        return ExitCodes.OK;
    }

    private Map<Setting<?>, String> flags() {
        ParseResult parsed = command.commandLine().getParseResult();
        Map<Setting<?>, String> given = new LinkedHashMap<>();
        for (Setting<?> setting : Settings.all()) {
            @Nullable String text = parsed.matchedOptionValue(setting.flag(), null);
            if (text != null) {
                given.put(setting, text);
            }
        }
        return given;
    }

    private static void ask(Setting<?> setting, Map<Setting<?>, String> given) {
        if (given.containsKey(setting)) {
            return;
        }
        String proposed = PROPOSED.getOrDefault(setting, setting.defaultText());
        String question =
                String.format(
                        "%s%n[%s] %s%s: ",
                        setting.meaning(),
                        setting.section(),
                        setting.name(),
                        proposed == null ? "" : " (" + proposed + ")");
        String answer = Terminal.ask(question);
        String text = answer == null || answer.isBlank() ? proposed : answer.strip();
        if (text != null) {
            given.put(setting, text);
        }
    }

    /** Nothing is left behind unless it can be loaded. The file may hold passwords. */
    private void write(String text) {
        try {
            Files.createFile(
                    output,
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rw-------")));
            boolean sound = false;
            try {
                Files.writeString(output, text);
                ConfigurationLoader.load(output, Map.of(), Map.of());
                sound = true;
            } finally {
                if (!sound) {
                    Files.delete(output);
                }
            }
        } catch (FileAlreadyExistsException e) {
            throw new ConfigurationException(
                    DaemonCodes.INIT,
                    output + " exists; name another file with --output, or remove it",
                    e);
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.INIT, output + " cannot be written: " + e, e);
        }
    }
}
