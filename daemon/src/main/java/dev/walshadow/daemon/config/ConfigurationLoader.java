package dev.walshadow.daemon.config;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.state.SourceSettings;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.toml.TomlMapper;

/**
 * Loads the configuration in layers, later ones winning: defaults, TOML file, the files {@code
 * conf.d/*.toml} beside it by name, environment, flags. Reports every fault found at once, each
 * with its place.
 */
public final class ConfigurationLoader {
    private static final TomlMapper TOML = new TomlMapper();
    private static final String PIECES = "conf.d";

    private final Map<Setting<?>, Configuration.Value> values = new LinkedHashMap<>();
    private final List<String> faults = new ArrayList<>();
    private final NameRulesReader rules = new NameRulesReader(faults);

    private ConfigurationLoader() {}

    /**
     * Loads.
     *
     * @param environment the process's environment variables
     * @param flags setting flags ({@code --source-slot}) to their texts
     */
    public static Configuration load(
            Path file, Map<String, String> environment, Map<String, String> flags) {
        return new ConfigurationLoader().loadLayers(file, environment, flags);
    }

    private Configuration loadLayers(
            Path file, Map<String, String> environment, Map<String, String> flags) {
        for (Setting<?> setting : Settings.all()) {
            String text = setting.defaultText();
            if (text != null) {
                accept(setting, defaultTexts(setting, text), "default");
            }
        }
        acceptFile(file);
        morePieces(file).forEach(this::acceptFile);
        for (Setting<?> setting : Settings.all()) {
            acceptText(
                    setting,
                    environment.get(setting.environmentName()),
                    "environment " + setting.environmentName());
            acceptText(setting, flags.get(setting.flag()), "flag " + setting.flag());
        }
        boolean readable = faults.isEmpty();
        for (Setting<?> setting : Settings.all()) {
            if (readable && isRequired(setting) && !values.containsKey(setting)) {
                faults.add(
                        String.format(
                                "[%s] %s is required (%s); set it in %s, by %s or %s",
                                setting.section(),
                                setting.name(),
                                setting.kind().expected(),
                                file,
                                setting.environmentName(),
                                setting.flag()));
            }
        }
        if (!faults.isEmpty()) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    faults.size() == 1
                            ? "configuration " + file + ": " + faults.getFirst()
                            : "configuration "
                                    + file
                                    + " has "
                                    + faults.size()
                                    + " faults:\n  - "
                                    + String.join("\n  - ", faults));
        }
        Configuration loaded = new Configuration(values, rules.rules());
        return loaded.find(Settings.SOURCE_CONFIG_SCHEMA)
                .map(schema -> loaded.withSource(sourceLayer(schema, loaded)))
                .orElse(loaded);
    }

    /** As the daemon has it. */
    private static SourceLayer sourceLayer(String schema, Configuration of) {
        return SourceSettings.read(StateDirectory.sourceSettings(of.get(Settings.STATE_DIR)))
                .filter(known -> known.schema().equals(schema))
                .map(known -> SourceLayer.of(schema, known.settings(), SourceLayer.NONE))
                .orElse(SourceLayer.NONE);
    }

    private boolean isRequired(Setting<?> setting) {
        return setting.required()
                && !(setting.equals(Settings.SOURCE_URL) && isOfArchive())
                && !(setting.equals(Settings.CLICKHOUSE_URL) && hasShards());
    }

    private boolean hasShards() {
        Configuration.Value shards = values.get(Settings.CLICKHOUSE_SHARDS);
        return shards != null && !shards.parsed().equals(List.of());
    }

    private boolean isOfArchive() {
        Configuration.Value mode = values.get(Settings.SOURCE_MODE);
        return mode != null && "archive".equals(mode.parsed());
    }

    private static List<String> defaultTexts(Setting<?> setting, String text) {
        if (!setting.kind().list()) {
            return List.of(text);
        }
        return text.equals("[]") ? List.of() : List.of(text.substring(2, text.length() - 2));
    }

    private void acceptText(Setting<?> setting, @Nullable String text, String origin) {
        if (text != null) {
            List<String> texts =
                    setting.kind().list() ? List.of(text.split("\\s*,\\s*")) : List.of(text);
            accept(setting, texts, origin);
        }
    }

    private void accept(Setting<?> setting, List<String> texts, String origin) {
        try {
            Object parsed = setting.kind().parse(texts);
            values.put(setting, new Configuration.Value(parsed, origin));
        } catch (IllegalArgumentException | ArithmeticException e) {
            String found =
                    setting.kind().secret()
                            ? "the given text"
                            : "\"" + String.join(", ", texts) + "\"";
            faults.add(
                    String.format(
                            "[%s] %s: %s is not %s (%s)",
                            setting.section(),
                            setting.name(),
                            found,
                            setting.kind().expected(),
                            origin));
        }
    }

    /** The files of {@code conf.d}, by name. */
    private List<Path> morePieces(Path file) {
        Path directory = file.toAbsolutePath().resolveSibling(PIECES);
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> pieces = Files.list(directory)) {
            return pieces.filter(piece -> piece.toString().endsWith(".toml"))
                    .filter(piece -> !piece.getFileName().toString().startsWith("."))
                    .sorted()
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            faults.add(directory + " cannot be read: " + e.getMessage());
            return List.of();
        }
    }

    private void acceptFile(Path file) {
        String text;
        JsonNode root;
        try {
            text = Files.readString(file);
            root = TOML.readTree(text);
        } catch (NoSuchFileException e) {
            faults.add(file + " does not exist; name it with --config");
            return;
        } catch (IOException e) {
            faults.add(file + " cannot be read: " + e.getMessage());
            return;
        } catch (JacksonException e) {
            TokenStreamLocation at = e.getLocation();
            String place = at == null ? "" : " at line " + at.getLineNr();
            faults.add(file + " is not valid TOML" + place + ": " + e.getOriginalMessage());
            return;
        }
        TomlLines lines = new TomlLines(text);
        rules.readsFrom(file);
        for (Map.Entry<String, JsonNode> section : root.properties()) {
            if (section.getKey().equals("schemas")) {
                rules.schemas(section.getValue());
            } else {
                acceptSection(section.getKey(), section.getValue(), file, lines);
            }
        }
    }

    private void acceptSection(String section, JsonNode node, Path file, TomlLines lines) {
        Map<String, Setting<?>> known = new HashMap<>();
        TreeSet<String> sections = new TreeSet<>();
        sections.add("schemas");
        for (Setting<?> setting : Settings.all()) {
            sections.add(setting.section());
            if (setting.section().equals(section)) {
                known.put(setting.name(), setting);
            }
        }
        if (known.isEmpty()) {
            faults.add(
                    "unknown section ["
                            + section
                            + "]"
                            + suggestion(section, sections)
                            + " ("
                            + file
                            + ")");
            return;
        }
        if (!node.isObject()) {
            faults.add("[" + section + "] must be a section, not a value (" + file + ")");
            return;
        }
        for (Map.Entry<String, JsonNode> entry : node.properties()) {
            Setting<?> setting = known.get(entry.getKey());
            String place = file + lines.suffix(section, entry.getKey());
            if (section.equals("tables") && setting == null && entry.getValue().isObject()) {
                rules.table(entry.getKey(), entry.getValue());
            } else if (setting == null) {
                faults.add(
                        "unknown key ["
                                + section
                                + "] "
                                + entry.getKey()
                                + suggestion(entry.getKey(), known.keySet())
                                + " ("
                                + place
                                + ")");
            } else {
                List<String> texts = texts(entry.getValue());
                if (texts == null) {
                    faults.add(
                            "["
                                    + section
                                    + "] "
                                    + entry.getKey()
                                    + ": a section or a nested list is not "
                                    + setting.kind().expected()
                                    + " ("
                                    + place
                                    + ")");
                } else {
                    accept(setting, texts, place);
                }
            }
        }
    }

    /** A value, or a list of values; null for everything else that TOML has. */
    private static @Nullable List<String> texts(JsonNode node) {
        List<String> texts = new ArrayList<>();
        for (JsonNode element : node.isArray() ? node : List.of(node)) {
            String text = text(element);
            if (text == null) {
                return null;
            }
            texts.add(text);
        }
        return texts;
    }

    /** A text, number or truth value as text; null for a list or a section. */
    static @Nullable String text(JsonNode node) {
        return node.isString() || node.isNumber() || node.isBoolean() ? node.asString() : null;
    }

    static String suggestion(String word, Iterable<String> known) {
        Optional<String> nearest = nearest(word, known);
        return nearest.map(text -> "; did you mean " + text + "?").orElse("");
    }

    /** The word that was most likely meant; empty if none is near. */
    public static Optional<String> nearest(String word, Iterable<String> known) {
        List<String> candidates = new ArrayList<>();
        known.forEach(candidates::add);
        return candidates.stream()
                .filter(candidate -> distance(word, candidate) <= Math.max(2, word.length() / 2))
                .min(Comparator.comparingInt(candidate -> distance(word, candidate)));
    }

    /** The Levenshtein distance. */
    private static int distance(String left, String right) {
        int[] row = new int[right.length() + 1];
        for (int j = 0; j <= right.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= left.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= right.length(); j++) {
                int substituted = diagonal + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(substituted, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[right.length()];
    }
}
