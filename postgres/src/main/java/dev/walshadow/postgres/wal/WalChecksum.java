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

    /** Throws {@link WalCodes#CHECKSUM_MISMATCH} unless the stored checksum is right. */
    public void verify(byte[] bytes, int offset, int length, long lsn) {
        int expected = compute(bytes, offset, length);
        int found = LittleEndian.getInt(bytes, offset + XLogLayout.CRC);
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
