package dev.walshadow.transaction;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32C;

/**
 * The directory of spill files. They serve one run only: a restart reads the WAL again from the
 * resume floor, so nothing here is ever fsynced, and what an earlier run left is deleted at the
 * start, after its header has proved that it belongs to this cluster (I11).
 */
final class SpillDirectory {
    static final String SUFFIX = ".spill";

    /** Opens a file for reading and writing; a seam for tests of a full disk. */
    interface Opener {
        RandomAccessFile open(Path path) throws IOException;
    }

    private final Path directory;
    private final long systemIdentifier;
    private final Opener opener;
    private long created;

    SpillDirectory(Path directory, long systemIdentifier, Opener opener) {
        this.directory = directory;
        this.systemIdentifier = systemIdentifier;
        this.opener = opener;
        try {
            Files.createDirectories(directory);
            for (Path stale : staleFiles()) {
                Files.delete(stale);
            }
        } catch (IOException e) {
            throw new HaltException(
                    TransactionCodes.SPILL_FAILED,
                    "cannot prepare the spill directory "
                            + directory
                            + ": "
                            + e
                            + ". Make it writable for walshadow, or name another one.",
                    e);
        }
    }

    static RandomAccessFile openFile(Path path) throws IOException {
        return new RandomAccessFile(path.toFile(), "rw");
    }

    Path directory() {
        return directory;
    }

    /** All of them are checked before the first is deleted. */
    private List<Path> staleFiles() throws IOException {
        List<Path> stale = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + SUFFIX)) {
            for (Path file : files) {
                checkIdentity(file);
                stale.add(file);
            }
        }
        return stale;
    }

    /**
     * A header that is cut off or of zeros was being written when the process or, since nothing is
     * fsynced, the machine stopped: such a file says nothing of any cluster, and may go.
     */
    private void checkIdentity(Path file) throws IOException {
        byte[] header = new byte[SpillLayout.FILE_HEADER_LENGTH];
        try (var in = Files.newInputStream(file)) {
            int length = in.readNBytes(header, 0, header.length);
            if (length < header.length || Arrays.equals(header, new byte[length])) {
                return;
            }
        }
        if (LittleEndian.getLong(header, SpillLayout.FILE_MAGIC_OFFSET) != SpillLayout.FILE_MAGIC
                || LittleEndian.getInt(header, SpillLayout.FILE_CRC_OFFSET)
                        != headerChecksum(header)) {
            throw foreign(file, "its header is not that of a spill file");
        }
        int version = LittleEndian.getInt(header, SpillLayout.FILE_VERSION_OFFSET);
        if (version > SpillLayout.VERSION) {
            throw new ConfigurationException(
                    TransactionCodes.SPILL_NEWER,
                    "spill file "
                            + file
                            + " has version "
                            + version
                            + ", this walshadow knows "
                            + SpillLayout.VERSION
                            + ": run the newer walshadow, or empty the directory yourself.");
        }
        long found = LittleEndian.getLong(header, SpillLayout.FILE_SYSTEM_IDENTIFIER_OFFSET);
        if (found != systemIdentifier) {
            throw foreign(
                    file,
                    "expected system identifier "
                            + Long.toUnsignedString(systemIdentifier)
                            + ", found "
                            + Long.toUnsignedString(found));
        }
    }

    private static ConfigurationException foreign(Path file, String what) {
        return new ConfigurationException(
                TransactionCodes.SPILL_FOREIGN,
                "spill file "
                        + file
                        + " does not belong to this source: "
                        + what
                        + ". Nothing was deleted; use another state directory, or move the file"
                        + " away.");
    }

    private static int headerChecksum(byte[] header) {
        CRC32C crc = new CRC32C();
        crc.update(header, 0, SpillLayout.FILE_CRC_OFFSET);
        return (int) crc.getValue();
    }

    /** Creates the file of a transaction, with its header. */
    SpillFile create(int xid, long firstLsn) throws IOException {
        String name =
                String.format(
                        Locale.ROOT, "%s-%d%s", Integer.toUnsignedString(xid), created, SUFFIX);
        Path path = directory.resolve(name);
        byte[] header = new byte[SpillLayout.FILE_HEADER_LENGTH];
        LittleEndian.putLong(header, SpillLayout.FILE_MAGIC_OFFSET, SpillLayout.FILE_MAGIC);
        LittleEndian.putInt(header, SpillLayout.FILE_VERSION_OFFSET, SpillLayout.VERSION);
        LittleEndian.putInt(header, SpillLayout.FILE_XID_OFFSET, xid);
        LittleEndian.putLong(header, SpillLayout.FILE_SYSTEM_IDENTIFIER_OFFSET, systemIdentifier);
        LittleEndian.putLong(header, SpillLayout.FILE_FIRST_LSN_OFFSET, firstLsn);
        LittleEndian.putInt(header, SpillLayout.FILE_CRC_OFFSET, headerChecksum(header));
        try (RandomAccessFile file = opener.open(path)) {
            file.write(header);
        } catch (IOException e) {
            Files.deleteIfExists(path);
            throw e;
        }
        created++;
        return new SpillFile(path, opener);
    }
}
