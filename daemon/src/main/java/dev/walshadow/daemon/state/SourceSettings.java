package dev.walshadow.daemon.state;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import tools.jackson.databind.JsonNode;

/**
 * What the configuration tables in the source say, as of a commit; durable (I11) in {@code
 * source-settings.toml} before anything follows from it.
 *
 * @param schema of the tables
 * @param position commits up to here are contained
 * @param settings texts by key, bad ones too
 * @param tables whether a table is followed, by its name
 */
public record SourceSettings(
        String schema, long position, Map<String, String> settings, Map<String, Boolean> tables) {
    private static final int VERSION = 1;

    public SourceSettings {
        settings = Map.copyOf(settings);
        tables = Map.copyOf(tables);
    }

    public void write(Path file, long systemIdentifier) throws IOException {
        StringBuilder body = new StringBuilder();
        body.append("# walshadow: what the source's configuration tables say. Written by the")
                .append(" daemon alone.\nversion = ")
                .append(VERSION)
                .append("\nsystem_identifier = \"")
                .append(Long.toUnsignedString(systemIdentifier))
                .append("\"\nschema = ");
        SealedToml.text(body, schema);
        body.append("\nposition = ").append(position).append("\nsettings = [");
        new TreeMap<>(settings).forEach((key, value) -> pair(body, key, value));
        body.append("]\ntables = [");
        new TreeMap<>(tables)
                .forEach((name, followed) -> pair(body, name, Boolean.toString(followed)));
        body.append("]\n");
        SealedToml.write(file, body.toString());
    }

    private static void pair(StringBuilder body, String key, String value) {
        body.append("\n  [");
        SealedToml.text(body, key);
        body.append(", ");
        SealedToml.text(body, value);
        body.append("],");
    }

    /** Empty if there is no file; a torn, edited or newer one is refused. */
    public static Optional<SourceSettings> read(Path file) {
        return SealedToml.read(file, VERSION, SourceSettings::parse);
    }

    /** The same; that of another source is refused too. */
    public static Optional<SourceSettings> read(Path file, long systemIdentifier) {
        return SealedToml.read(
                file,
                VERSION,
                root -> {
                    SealedToml.requireOwner(root, file, systemIdentifier);
                    return parse(root);
                });
    }

    private static SourceSettings parse(JsonNode root) {
        Map<String, String> settings = new TreeMap<>();
        root.path("settings")
                .forEach(
                        pair -> settings.put(pair.path(0).asString(""), pair.path(1).asString("")));
        Map<String, Boolean> tables = new TreeMap<>();
        root.path("tables")
                .forEach(pair ->
                        tables.put(
                                pair.path(0).asString(""),
                                pair.path(1).asString("").equals("true")));
        return new SourceSettings(
                root.path("schema").asString(""),
                root.path("position").asLong(0),
                settings,
                tables);
    }
}
