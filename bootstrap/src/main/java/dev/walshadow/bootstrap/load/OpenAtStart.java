package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.zip.CRC32C;

/**
 * The transactions that were open at B, and those of them that still were when the load was done.
 * Durable (I11) from then until all have ended, so that a later process knows for how long the
 * backup's values are needed.
 *
 * <pre>
 * "WSOT", u32 version 1, i64 system identifier, u32 count, i32 running[count],
 * snapshot as in {@link DeferredFile}, u32 CRC32C of everything before it; little-endian
 * </pre>
 *
 * @param running top-level ones
 */
record OpenAtStart(BackupSnapshot snapshot, Set<Integer> running) {
    private static final int MAGIC = 'W' | 'S' << 8 | 'O' << 16 | 'T' << 24;
    private static final int VERSION = 1;
    private static final int COUNT = 16;
    private static final int RUNNING = COUNT + Integer.BYTES;

    void write(Path file, long systemIdentifier) {
        ByteBuilder out = new ByteBuilder(1 << 12);
        out.putInt(MAGIC);
        out.putInt(VERSION);
        out.putLong(systemIdentifier);
        out.putInt(running.size());
        running.forEach(out::putInt);
        snapshot.encode(out);
        CRC32C crc = new CRC32C();
        crc.update(out.array(), 0, out.length());
        out.putInt((int) crc.getValue());
        try {
            DurableFiles.replace(file, out.array(), 0, out.length());
        } catch (IOException e) {
            throw new RetryException(
                    BootstrapCodes.SPOOL,
                    file + " cannot be written: " + e + "; make room in the state directory",
                    e);
        }
    }

    /** Empty if there is no such file. */
    static Optional<OpenAtStart> read(Path file, long systemIdentifier) {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try {
            return Optional.of(parse(file, Files.readAllBytes(file), systemIdentifier));
        } catch (IOException e) {
            throw damaged(file, e.toString());
        }
    }

    private static OpenAtStart parse(Path file, byte[] bytes, long systemIdentifier) {
        int end = bytes.length - Integer.BYTES;
        if (end < RUNNING || LittleEndian.getInt(bytes, 0) != MAGIC) {
            throw damaged(file, "it does not begin as such a file does");
        }
        int version = LittleEndian.getInt(bytes, 4);
        if (version > VERSION) {
            throw foreign(file, "has format " + version + ", this walshadow reads " + VERSION);
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, end);
        if ((int) crc.getValue() != LittleEndian.getInt(bytes, end)) {
            throw damaged(file, "its checksum is wrong");
        }
        if (LittleEndian.getLong(bytes, 8) != systemIdentifier) {
            throw foreign(file, "belongs to another source cluster");
        }
        Set<Integer> running = new TreeSet<>();
        int count = LittleEndian.getInt(bytes, COUNT);
        for (int i = 0; i < count; i++) {
            running.add(LittleEndian.getInt(bytes, RUNNING + i * Integer.BYTES));
        }
        return BackupSnapshot.decode(bytes, RUNNING + count * Integer.BYTES, end)
                .map(snapshot -> new OpenAtStart(snapshot, running))
                .orElseThrow(() -> damaged(file, "its snapshot is cut off"));
    }

    private static ConfigurationException damaged(Path file, String found) {
        return new ConfigurationException(
                BootstrapCodes.DEFERRED_DAMAGED,
                "the file of transactions that the initial load waits for, "
                        + file
                        + ", is damaged: "
                        + found
                        + "; restore it from a copy, or attach anew with an empty [state] dir."
                        + " Nothing was changed");
    }

    private static ConfigurationException foreign(Path file, String found) {
        return new ConfigurationException(
                BootstrapCodes.DEFERRED_FOREIGN,
                "the file of transactions that the initial load waits for, "
                        + file
                        + ", "
                        + found
                        + "; use the state directory that belongs to this source and release");
    }
}
