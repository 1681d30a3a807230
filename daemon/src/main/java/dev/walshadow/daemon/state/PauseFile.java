package dev.walshadow.daemon.state;

import dev.walshadow.base.DurableFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/**
 * That ClickHouse is to be left alone until an operator says otherwise: durable (I11) in {@code
 * paused.toml}, which is there as long as that lasts.
 *
 * @param since when it was asked for
 * @param reason in the operator's words; may be empty
 */
public record PauseFile(Instant since, String reason) {
    private static final int VERSION = 1;

    public void write(Path file, long systemIdentifier) throws IOException {
        StringBuilder body = new StringBuilder();
        body.append("# walshadow is paused: walshadow ctl resume. Written by the daemon alone.\n")
                .append("version = ")
                .append(VERSION)
                .append("\nsystem_identifier = \"")
                .append(Long.toUnsignedString(systemIdentifier))
                .append("\"\nsince = \"")
                .append(since)
                .append("\"\nreason = ");
        SealedToml.text(body, reason);
        body.append('\n');
        SealedToml.write(file, body.toString());
    }

    /** It is over; survives a crash. */
    public static void delete(Path file) throws IOException {
        if (Files.deleteIfExists(file)) {
            DurableFiles.syncDirectory(Objects.requireNonNull(file.toAbsolutePath().getParent()));
        }
    }

    /** Empty if there is no file; a torn, edited, newer or foreign one is refused. */
    public static Optional<PauseFile> read(Path file, long systemIdentifier) {
        return SealedToml.read(file, VERSION, root -> parse(root, file, systemIdentifier));
    }

    private static PauseFile parse(JsonNode root, Path file, long systemIdentifier) {
        SealedToml.requireOwner(root, file, systemIdentifier);
        try {
            return new PauseFile(
                    Instant.parse(root.path("since").asString("")),
                    root.path("reason").asString(""));
        } catch (DateTimeException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
