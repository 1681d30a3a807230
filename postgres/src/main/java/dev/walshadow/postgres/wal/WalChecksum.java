package dev.walshadow.postgres.wal;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;
import java.util.zip.CRC32C;

/**
 * The CRC32C of a record: over its bytes behind the header, then over the header before {@code
 * xl_crc} (I4). Source: {@code ValidXLogRecord} in {@code xlogreader.c}. Not thread safe.
 */
public final class WalChecksum {
    private final CRC32C crc = new CRC32C();

    /** The checksum that belongs to the record of {@code length} bytes at {@code offset}. */
    public int compute(byte[] bytes, int offset, int length) {
        crc.reset();
        crc.update(
                bytes,
                offset + XLogLayout.RECORD_HEADER_LENGTH,
                length - XLogLayout.RECORD_HEADER_LENGTH);
        crc.update(bytes, offset, XLogLayout.CRC);
        return (int) crc.getValue();
    }

    /** Begins the checksum of a record that comes in pieces. */
    public void begin() {
        crc.reset();
    }

    /** The next bytes behind the header of the record that {@link #begin} was called for. */
    public void update(byte[] bytes, int offset, int count) {
        crc.update(bytes, offset, count);
    }

    /** Ends the record that came in pieces: as {@link #verify(byte[], int, int, long)}. */
    public void verifyPieces(byte[] header, long lsn) {
        crc.update(header, 0, XLogLayout.CRC);
        verify((int) crc.getValue(), header, 0, lsn);
    }

    /** Throws {@link WalCodes#CHECKSUM_MISMATCH} unless the stored checksum is right. */
    public void verify(byte[] bytes, int offset, int length, long lsn) {
        verify(compute(bytes, offset, length), bytes, offset, lsn);
    }

    private static void verify(int expected, byte[] bytes, int offset, long lsn) {
        int found = LittleEndian.getInt(bytes, offset + XLogLayout.CRC);
        int length = LittleEndian.getInt(bytes, offset);
        if (expected != found) {
            throw new HaltException(
                    WalCodes.CHECKSUM_MISMATCH,
                    "incorrect resource manager data checksum in record at "
                            + Lsn.format(lsn)
                            + ": expected "
                            + Integer.toHexString(expected)
                            + ", found "
                            + Integer.toHexString(found)
                            + ", length "
                            + length
                            + ". The WAL is damaged on the source, on the way or in the archive;"
                            + " compare with pg_waldump on the source.");
        }
    }
}
