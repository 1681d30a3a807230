package dev.walshadow.source.spool;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.source.SourceCodes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/**
 * How far the spool is durable (I11): everything in its files before this position has been
 * fsynced, and nothing behind it has been promised to anybody.
 *
 * <pre>
 * file, little-endian
 *    0 u32 magic "WSSP"     4 u32 version, 1          8 i64 system identifier
 *   16 i32 timeline        20 i32 major version      24 i32 segment size
 *   28 i64 durable         36 u32 CRC32C of everything before it
 * </pre>
 */
final class SpoolState {
    static final String FILE_NAME = "spool.state";

    private static final int MAGIC = 'W' | 'S' << 8 | 'S' << 16 | 'P' << 24;
    private static final int VERSION = 1;
    private static final int VERSION_END = 8;
    private static final int CRC = 36;
    private static final int LENGTH = CRC + Integer.BYTES;

    private SpoolState() {}

    /** Returns when the state is durable, and with it the directory. */
    static void write(Path directory, WalPages pages, long durable) throws IOException {
        ByteBuilder out = new ByteBuilder(LENGTH);
        out.putInt(MAGIC);
        out.putInt(VERSION);
        out.putLong(pages.systemIdentifier());
        out.putInt(pages.timeline());
        out.putInt(pages.majorVersion());
        out.putInt(pages.segmentSize());
        out.putLong(durable);
        CRC32C crc = new CRC32C();
        crc.update(out.array(), 0, out.length());
        out.putInt((int) crc.getValue());
        DurableFiles.replace(directory.resolve(FILE_NAME), out.toByteArray());
    }

    /**
     * The durable position; 0 if nothing was ever made durable.
     *
     * @throws ConfigurationException for a damaged file, one of another cluster, or a newer one
     */
    static long read(Path directory, WalPages pages) throws IOException {
        Path file = directory.resolve(FILE_NAME);
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(file);
        } catch (NoSuchFileException e) {
            return 0;
        }
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        if (bytes.length < VERSION_END || in.getInt() != MAGIC) {
            throw damaged(file, "it is no spool state");
        }
        int version = in.getInt();
        if (version > VERSION) {
            throw foreign(
                    file,
                    "version " + version + ", this walshadow reads up to " + VERSION,
                    "start the newer walshadow that wrote it");
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, Math.min(CRC, bytes.length));
        if (bytes.length != LENGTH || in.getInt(CRC) != (int) crc.getValue()) {
            throw damaged(file, "its length or checksum is wrong");
        }
        long system = in.getLong();
        int timeline = in.getInt();
        int major = in.getInt();
        WalPages found = new WalPages(major, system, timeline, in.getInt());
        if (!found.equals(pages)) {
            throw foreign(
                    file,
                    "WAL of " + found + ", expected " + pages,
                    "use the state directory that belongs to this source");
        }
        return in.getLong();
    }

    private static ConfigurationException foreign(Path file, String what, String remedy) {
        return new ConfigurationException(
                SourceCodes.SPOOL_FOREIGN,
                file + " is of " + what + "; " + remedy + ". Nothing was changed");
    }

    private static ConfigurationException damaged(Path file, String what) {
        return new ConfigurationException(
                SourceCodes.SPOOL_DAMAGED,
                "the WAL spool's "
                        + file
                        + " is damaged: "
                        + what
                        + "; restore the state directory from a copy, or move the spool's directory"
                        + " away: then the source is asked for that WAL, if it still has it."
                        + " Nothing was changed");
    }

    static ConfigurationException unreadable(Path file, long lsn, IOException cause) {
        return new ConfigurationException(
                SourceCodes.SPOOL_DAMAGED,
                "the WAL spool's "
                        + file
                        + " cannot be read at "
                        + Lsn.format(lsn)
                        + ": "
                        + cause
                        + "; mend the disk or its permissions, or move the spool's directory away:"
                        + " then the source is asked for that WAL, if it still has it",
                cause);
    }
}
