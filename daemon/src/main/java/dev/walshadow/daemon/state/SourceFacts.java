package dev.walshadow.daemon.state;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/**
 * What has to be known of a source that cannot be asked; found out at the first attach.
 *
 * @param superusers roles to read the shadow with, best first
 */
public record SourceFacts(
        long systemIdentifier,
        int timeline,
        int segmentSize,
        int major,
        String serverVersion,
        List<String> superusers,
        List<Database> databases) {
    private static final int VERSION = 1;

    /** A row of pg_database, as {@code dev.walshadow.shadow.DatabaseInfo} has it. */
    public record Database(
            int oid,
            String name,
            String encoding,
            int defaultTablespaceOid,
            boolean allowsConnections,
            boolean template,
            String collate,
            String ctype) {}

    public SourceFacts {
        superusers = List.copyOf(superusers);
        databases = List.copyOf(databases);
    }

    public void write(Path file) throws IOException {
        StringBuilder body = new StringBuilder();
        body.append("# walshadow: the source behind the archive. Written by the daemon alone.\n")
                .append("version = ")
                .append(VERSION)
                .append("\nsystem_identifier = \"")
                .append(Long.toUnsignedString(systemIdentifier))
                .append("\"\ntimeline = ")
                .append(timeline)
                .append("\nsegment_size = ")
                .append(segmentSize)
                .append("\nmajor = ")
                .append(major)
                .append("\nserver_version = ");
        SealedToml.text(body, serverVersion);
        body.append("\nsuperusers = [");
        superusers.forEach(name -> texts(body, List.of(name)));
        body.append("]\ndatabases = [");
        for (Database each : databases) {
            texts(
                    body,
                    List.of(
                            Integer.toUnsignedString(each.oid()),
                            each.name(),
                            each.encoding(),
                            Integer.toUnsignedString(each.defaultTablespaceOid()),
                            Boolean.toString(each.allowsConnections()),
                            Boolean.toString(each.template()),
                            each.collate(),
                            each.ctype()));
        }
        body.append("]\n");
        SealedToml.write(file, body.toString());
    }

    private static void texts(StringBuilder body, List<String> values) {
        body.append("\n  [");
        for (String value : values) {
            SealedToml.text(body, value);
            body.append(", ");
        }
        body.append("],");
    }

    /** Empty if the file does not exist; anything torn, edited or of a newer version is refused. */
    public static Optional<SourceFacts> read(Path file) {
        return SealedToml.read(file, VERSION, SourceFacts::parse);
    }

    private static SourceFacts parse(JsonNode root) {
        List<String> superusers = new ArrayList<>();
        root.path("superusers").forEach(each -> superusers.add(each.path(0).asString("")));
        List<Database> databases = new ArrayList<>();
        root.path("databases")
                .forEach(each ->
                        databases.add(
                                new Database(
                                        Integer.parseUnsignedInt(each.path(0).asString("")),
                                        each.path(1).asString(""),
                                        each.path(2).asString(""),
                                        Integer.parseUnsignedInt(each.path(3).asString("")),
                                        Boolean.parseBoolean(each.path(4).asString("")),
                                        Boolean.parseBoolean(each.path(5).asString("")),
                                        each.path(6).asString(""),
                                        each.path(7).asString(""))));
        return new SourceFacts(
                Long.parseUnsignedLong(root.path("system_identifier").asString("")),
                root.path("timeline").asInt(),
                root.path("segment_size").asInt(),
                root.path("major").asInt(),
                root.path("server_version").asString(""),
                superusers,
                databases);
    }
}
