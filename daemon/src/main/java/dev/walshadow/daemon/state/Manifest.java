package dev.walshadow.daemon.state;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/**
 * Where the stream stands, durable (I11): rewritten about once a second, read at start.
 *
 * @param systemIdentifier of the source cluster, unsigned
 * @param timeline that of the first attach: what is kept here is named after it for good
 * @param sourceTimeline that the source is on, of the WAL at {@code handedOn} or a descendant
 * @param bootstrapStart B, start of the base backup that the shadow was laid from
 * @param resumeFloor at or below the first record of every transaction that is not yet durable (I5)
 * @param durablePosition commit position up to which everything is durable in ClickHouse
 * @param handedOn record position up to which catalog boundaries have been captured
 * @param shapesPosition of the newest capture in the descriptor log: one that ends before it is
 *     damaged
 */
public record Manifest(
        long systemIdentifier,
        int timeline,
        int sourceTimeline,
        int segmentSize,
        long bootstrapStart,
        long resumeFloor,
        long durablePosition,
        long handedOn,
        long shapesPosition) {
    private static final int VERSION = 1;

    public void write(Path file) throws IOException {
        String body =
                String.format(
                        Locale.ROOT,
                        """
                        # walshadow: how far the stream is durable. Written by the daemon alone.
                        version = %d
                        system_identifier = "%s"
                        timeline = %d
                        source_timeline = %d
                        segment_size = %d
                        bootstrap_start = "%s"
                        resume_floor = "%s"
                        durable_position = "%s"
                        handed_on = "%s"
                        shapes_position = "%s"
                        """,
                        VERSION,
                        Long.toUnsignedString(systemIdentifier),
                        timeline,
                        sourceTimeline,
                        segmentSize,
                        Lsn.format(bootstrapStart),
                        Lsn.format(resumeFloor),
                        Lsn.format(durablePosition),
                        Lsn.format(handedOn),
                        Lsn.format(shapesPosition));
        SealedToml.write(file, body);
    }

    /** Empty if the file does not exist; anything torn, edited or of a newer version is refused. */
    public static Optional<Manifest> read(Path file) {
        return SealedToml.read(file, VERSION, Manifest::parse);
    }

    private static Manifest parse(JsonNode root) {
        return new Manifest(
                Long.parseUnsignedLong(root.path("system_identifier").asString("")),
                root.path("timeline").asInt(),
                root.path("source_timeline").asInt(root.path("timeline").asInt()),
                root.path("segment_size").asInt(),
                Lsn.parse(root.path("bootstrap_start").asString("")),
                Lsn.parse(root.path("resume_floor").asString("")),
                Lsn.parse(root.path("durable_position").asString("")),
                Lsn.parse(root.path("handed_on").asString("")),
                Lsn.parse(root.path("shapes_position").asString("0/0")));
    }

    /** Refuses the state of another cluster. */
    public void requireSource(long identifier, Path file) {
        if (identifier != systemIdentifier) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_FOREIGN,
                    "the state directory belongs to the source with system identifier "
                            + Long.toUnsignedString(systemIdentifier)
                            + " ("
                            + file
                            + "), the configured source has "
                            + Long.toUnsignedString(identifier)
                            + "; point [source] url at the former, or give this source a [state]"
                            + " dir of its own");
        }
    }
}
