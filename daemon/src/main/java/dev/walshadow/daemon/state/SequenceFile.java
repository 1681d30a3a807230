package dev.walshadow.daemon.state;

import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/**
 * The last values of sequences by their storage, as of the position that the manifest written next
 * resumes at, or later.
 */
public final class SequenceFile {
    private static final int VERSION = 1;
    private static final int FIELDS = 6;

    /**
     * @param lsn the position that it is of
     */
    public record Value(long lastValue, boolean called, long lsn) {}

    private SequenceFile() {}

    public static void write(Path file, long systemIdentifier, Map<RelationLocator, Value> values)
            throws IOException {
        StringBuilder body = new StringBuilder();
        body.append(
                        "# walshadow: last values of sequences. Written by the daemon alone.\n"
                                + "version = ")
                .append(VERSION)
                .append("\nsystem_identifier = \"")
                .append(Long.toUnsignedString(systemIdentifier))
                .append("\"\n# tablespace, database, file, last value, whether called, position\n")
                .append("values = [");
        values.forEach((locator, value) ->
                body.append("\n  \"")
                        .append(Integer.toUnsignedString(locator.tablespaceOid()))
                        .append(' ')
                        .append(Integer.toUnsignedString(locator.databaseOid()))
                        .append(' ')
                        .append(Integer.toUnsignedString(locator.relationNumber()))
                        .append(' ')
                        .append(value.lastValue())
                        .append(' ')
                        .append(value.called())
                        .append(' ')
                        .append(Lsn.format(value.lsn()))
                        .append("\","));
        body.append("\n]\n");
        SealedToml.write(file, body.toString());
    }

    /** Empty if there is no file; a torn, edited, newer or foreign one is refused. */
    public static Map<RelationLocator, Value> read(Path file, long systemIdentifier) {
        return SealedToml.read(file, VERSION, root -> parse(root, file, systemIdentifier))
                .orElseGet(LinkedHashMap::new);
    }

    private static Map<RelationLocator, Value> parse(
            JsonNode root, Path file, long systemIdentifier) {
        SealedToml.requireOwner(root, file, systemIdentifier);
        Map<RelationLocator, Value> values = new LinkedHashMap<>();
        for (JsonNode line : root.path("values")) {
            String[] fields = line.asString("").split(" ", -1);
            if (fields.length != FIELDS) {
                throw new IllegalArgumentException("'" + line.asString("") + "' is no sequence");
            }
            values.put(
                    new RelationLocator(
                            Integer.parseUnsignedInt(fields[0]),
                            Integer.parseUnsignedInt(fields[1]),
                            Integer.parseUnsignedInt(fields[2])),
                    new Value(
                            Long.parseLong(fields[3]),
                            Boolean.parseBoolean(fields[4]),
                            Lsn.parse(fields[5])));
        }
        return values;
    }
}
