package dev.walshadow.bootstrap.backup;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Tells a complete shadow from a half-laid one, and whose it is: {@code
 * walshadow_bootstrap.incomplete} is the first file in a data directory and is removed when the
 * bootstrap is done; {@code walshadow.bootstrap_complete} is written just before that. PG_VERSION
 * alone could not tell. Both hold lines {@code name = value}, the last one the CRC32C of the others
 * (I11).
 */
public final class ShadowMarkers {
    static final String INCOMPLETE = "walshadow_bootstrap.incomplete";
    static final String COMPLETE = "walshadow.bootstrap_complete";
    private static final String VERSION = "1";

    /** What a data directory holds. */
    public enum State {
        /** Absent or empty: a first bootstrap may begin. */
        EMPTY,
        /** A bootstrap was begun and not completed: begin anew after {@link #discard}. */
        INCOMPLETE,
        /** Never replaced unasked (I12). */
        COMPLETE,
        /** Files that no bootstrap of ours laid: not touched. */
        FOREIGN
    }

    /**
     * @param startLsn B
     * @param endLsn E
     */
    public record Completion(long systemIdentifier, int timeline, long startLsn, long endLsn) {}

    private ShadowMarkers() {}

    /** Changes nothing. */
    public static State inspect(Path dataDirectory) {
        if (Files.exists(dataDirectory.resolve(COMPLETE), LinkOption.NOFOLLOW_LINKS)) {
            return State.COMPLETE;
        }
        if (Files.exists(dataDirectory.resolve(INCOMPLETE), LinkOption.NOFOLLOW_LINKS)) {
            return State.INCOMPLETE;
        }
        if (!Files.exists(dataDirectory, LinkOption.NOFOLLOW_LINKS)) {
            return State.EMPTY;
        }
        try (Stream<Path> content = Files.list(dataDirectory)) {
            // A crash may have left the marker's own beginning.
            boolean others = content.anyMatch(path -> !path.endsWith(INCOMPLETE + ".tmp"));
            return others ? State.FOREIGN : State.EMPTY;
        } catch (IOException e) {
            throw new ConfigurationException(
                    BackupCodes.FOREIGN_DIRECTORY,
                    "the shadow's data directory " + dataDirectory + " cannot be read: " + e,
                    e);
        }
    }

    /**
     * The completed bootstrap's identity; null unless COMPLETE.
     *
     * @throws HaltException if the marker is torn or newer than this version
     */
    public static @Nullable Completion completion(Path dataDirectory) {
        Path file = dataDirectory.resolve(COMPLETE);
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        Map<String, String> values = read(file);
        try {
            return new Completion(
                    Long.parseUnsignedLong(value(file, values, "system_identifier")),
                    Integer.parseUnsignedInt(value(file, values, "timeline")),
                    Lsn.parse(value(file, values, "start_lsn")),
                    Lsn.parse(value(file, values, "end_lsn")));
        } catch (IllegalArgumentException e) {
            throw bad(file, "a value is unreadable: " + e.getMessage());
        }
    }

    /** Makes the data directory ours, before any other file; it must be EMPTY. */
    public static void begin(Path dataDirectory, long systemIdentifier) {
        switch (inspect(dataDirectory)) {
            case EMPTY -> {}
            case FOREIGN ->
                    throw new ConfigurationException(
                            BackupCodes.FOREIGN_DIRECTORY,
                            "expected that the shadow's data directory "
                                    + dataDirectory
                                    + " is empty, found files that no bootstrap of walshadow laid"
                                    + " there. Name another directory, or move them away");
            case INCOMPLETE, COMPLETE ->
                    throw new ConfigurationException(
                            BackupCodes.NOT_EMPTY,
                            "the shadow's data directory "
                                    + dataDirectory
                                    + " holds a shadow already; it is not replaced unasked");
        }
        try {
            DirectoryLander.createRoot(dataDirectory);
            write(
                    dataDirectory.resolve(INCOMPLETE),
                    List.of("system_identifier = " + Long.toUnsignedString(systemIdentifier)));
        } catch (IOException e) {
            throw DirectoryLander.cannotWrite(dataDirectory, e);
        }
    }

    /** Declares the bootstrap done; durable on return. Repeating it is harmless. */
    public static void complete(Path dataDirectory, Completion completion) {
        try {
            write(
                    dataDirectory.resolve(COMPLETE),
                    List.of(
                            "system_identifier = "
                                    + Long.toUnsignedString(completion.systemIdentifier()),
                            "timeline = " + Integer.toUnsignedString(completion.timeline()),
                            "start_lsn = " + Lsn.format(completion.startLsn()),
                            "end_lsn = " + Lsn.format(completion.endLsn())));
            Files.deleteIfExists(dataDirectory.resolve(INCOMPLETE));
            DurableFiles.syncDirectory(dataDirectory);
        } catch (IOException e) {
            throw DirectoryLander.cannotWrite(dataDirectory, e);
        }
    }

    /**
     * Empties an INCOMPLETE data directory, the marker last: a crash in between leaves it
     * INCOMPLETE. No server may run on it.
     */
    public static void discard(Path dataDirectory) {
        Invariant.check(
                inspect(dataDirectory) == State.INCOMPLETE,
                "only a half-laid shadow is discarded (I12): " + dataDirectory);
        Path marker = dataDirectory.resolve(INCOMPLETE);
        try {
            List<Path> content;
            try (Stream<Path> paths = Files.walk(dataDirectory)) {
                content = paths.sorted(java.util.Comparator.reverseOrder()).toList();
            }
            for (Path path : content) {
                if (!path.equals(marker) && !path.equals(dataDirectory)) {
                    Files.delete(path);
                }
            }
            DurableFiles.syncDirectory(dataDirectory);
            Files.delete(marker);
            DurableFiles.syncDirectory(dataDirectory);
        } catch (IOException e) {
            throw DirectoryLander.cannotWrite(dataDirectory, e);
        }
    }

    private static void write(Path file, List<String> lines) throws IOException {
        String body = "version = " + VERSION + "\n" + String.join("\n", lines) + "\n";
        String text = body + "checksum = " + checksum(body) + "\n";
        DurableFiles.replace(file, text.getBytes(StandardCharsets.UTF_8));
    }

    private static String checksum(String body) {
        CRC32C crc = new CRC32C();
        crc.update(body.getBytes(StandardCharsets.UTF_8));
        return Long.toHexString(crc.getValue());
    }

    private static Map<String, String> read(Path file) {
        String text;
        try {
            text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw bad(file, e.toString());
        }
        int checksumAt = text.lastIndexOf("checksum = ");
        Map<String, String> values = new HashMap<>();
        for (String line : text.lines().toList()) {
            int equals = line.indexOf(" = ");
            if (equals > 0) {
                values.put(line.substring(0, equals), line.substring(equals + 3));
            }
        }
        String version = values.get("version");
        if (version != null && !version.equals(VERSION)) {
            throw bad(file, "it is of version " + version + ", this walshadow writes " + VERSION);
        }
        if (checksumAt < 0
                || !checksum(text.substring(0, checksumAt)).equals(values.get("checksum"))) {
            throw bad(file, "its checksum does not fit: it is torn or was edited");
        }
        return values;
    }

    private static String value(Path file, Map<String, String> values, String name) {
        String value = values.get(name);
        if (value == null) {
            throw bad(file, name + " is missing");
        }
        return value;
    }

    private static HaltException bad(Path file, String found) {
        return new HaltException(
                BackupCodes.BAD_MARKER,
                "the bootstrap's marker "
                        + file
                        + " cannot be used: "
                        + found
                        + ". Nothing was changed; restore the file, or load anew into another state"
                        + " directory");
    }
}
