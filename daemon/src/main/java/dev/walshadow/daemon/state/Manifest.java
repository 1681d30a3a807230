package dev.walshadow.daemon.state;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.toml.TomlMapper;

/**
 * Where the stream stands, durable (I11): rewritten about once a second, read at start.
 *
 * @param systemIdentifier of the source cluster, unsigned
 * @param timeline the timeline that the positions are on
 * @param bootstrapStart B, start of the base backup that the shadow was laid from
 * @param resumeFloor at or below the first record of every transaction that is not yet durable (I5)
 * @param durablePosition commit position up to which everything is durable in ClickHouse
 * @param handedOn record position up to which catalog boundaries have been captured
 */
public record Manifest(
        long systemIdentifier,
        int timeline,
        int segmentSize,
        long bootstrapStart,
        long resumeFloor,
        long durablePosition,
        long handedOn) {
    private static final int VERSION = 1;
    private static final TomlMapper TOML = new TomlMapper();

    public void write(Path file) throws IOException {
        String body =
                String.format(
                        Locale.ROOT,
                        """
                        # walshadow: how far the stream is durable. Written by the daemon alone.
                        version = %d
                        system_identifier = "%s"
                        timeline = %d
                        segment_size = %d
                        bootstrap_start = "%s"
                        resume_floor = "%s"
                        durable_position = "%s"
                        handed_on = "%s"
                        """,
                        VERSION,
                        Long.toUnsignedString(systemIdentifier),
                        timeline,
                        segmentSize,
                        Lsn.format(bootstrapStart),
                        Lsn.format(resumeFloor),
                        Lsn.format(durablePosition),
                        Lsn.format(handedOn));
        String sealed = body + "checksum = \"" + checksum(body) + "\"\n";
        DurableFiles.replace(file, sealed.getBytes(StandardCharsets.UTF_8));
    }

    /** Empty if the file does not exist; anything torn, edited or of a newer version is refused. */
    public static Optional<Manifest> read(Path file) {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try {
            String text = Files.readString(file);
            JsonNode root = TOML.readTree(text);
            int version = root.path("version").asInt(0);
            if (version > VERSION) {
                throw new ConfigurationException(
                        DaemonCodes.STATE_FOREIGN,
                        file
                                + " has version "
                                + version
                                + ", this walshadow reads up to "
                                + VERSION
                                + "; start the newer walshadow that wrote it");
            }
            int end = text.lastIndexOf("checksum = ");
            if (end < 0
                    || !checksum(text.substring(0, end))
                            .equals(root.path("checksum").asString(""))) {
                throw torn(file, "its checksum does not match its content", null);
            }
            return Optional.of(parse(root));
        } catch (JacksonException | IllegalArgumentException e) {
            throw torn(file, e.toString(), e);
        } catch (IOException e) {
            throw torn(file, e.toString(), e);
        }
    }

    private static Manifest parse(JsonNode root) {
        return new Manifest(
                Long.parseUnsignedLong(root.path("system_identifier").asString("")),
                root.path("timeline").asInt(),
                root.path("segment_size").asInt(),
                Lsn.parse(root.path("bootstrap_start").asString("")),
                Lsn.parse(root.path("resume_floor").asString("")),
                Lsn.parse(root.path("durable_position").asString("")),
                Lsn.parse(root.path("handed_on").asString("")));
    }

    private static ConfigurationException torn(Path file, String why, @Nullable Throwable cause) {
        return new ConfigurationException(
                DaemonCodes.STATE_TORN,
                "the manifest "
                        + file
                        + " is damaged: "
                        + why
                        + "; restore it from a copy, or attach"
                        + " anew with an empty [state] dir. Nothing was changed",
                cause);
    }

    private static String checksum(String body) {
        CRC32C crc = new CRC32C();
        crc.update(body.getBytes(StandardCharsets.UTF_8));
        return String.format(Locale.ROOT, "%08x", crc.getValue());
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
