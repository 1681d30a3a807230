package dev.walshadow.daemon.state;

import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/**
 * What an initial load goes by, durable (I11) from when its tables are there until it is done: a
 * load that was interrupted is gone on with.
 *
 * @param systemIdentifier of the source cluster, unsigned
 * @param startLsn B: the position that the rows are of
 * @param startMicros the backup's start, PostgreSQL epoch
 * @param checksums whether the source's pages have them
 */
public record LoadStart(
        long systemIdentifier,
        int timeline,
        int segmentSize,
        long startLsn,
        long startMicros,
        boolean checksums) {
    private static final int VERSION = 1;

    public void write(Path file) throws IOException {
        String body =
                String.format(
                        Locale.ROOT,
                        """
                        # walshadow: an initial load that is not done. Written by the daemon alone.
                        version = %d
                        system_identifier = "%s"
                        timeline = %d
                        segment_size = %d
                        start = "%s"
                        start_micros = %d
                        checksums = %b
                        """,
                        VERSION,
                        Long.toUnsignedString(systemIdentifier),
                        timeline,
                        segmentSize,
                        Lsn.format(startLsn),
                        startMicros,
                        checksums);
        SealedToml.write(file, body);
    }

    /** Empty if the file does not exist; anything torn, edited or of a newer version is refused. */
    public static Optional<LoadStart> read(Path file) {
        return SealedToml.read(file, VERSION, LoadStart::parse);
    }

    private static LoadStart parse(JsonNode root) {
        return new LoadStart(
                Long.parseUnsignedLong(root.path("system_identifier").asString("")),
                root.path("timeline").asInt(),
                root.path("segment_size").asInt(),
                Lsn.parse(root.path("start").asString("")),
                root.path("start_micros").asLong(),
                root.path("checksums").asBoolean());
    }
}
