package dev.walshadow.source.spool;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.XLogLayout;
import dev.walshadow.source.WalChunk;
import java.util.Random;

/** Bytes of no meaning under the page headers of real segments: the spool knows no records. */
final class RawWal {
    static final int SEGMENT = 1 << 20;
    static final WalPages PAGES = new WalPages(18, 4711, 1, SEGMENT);
    static final long START = 7L * SEGMENT;

    private final byte[] bytes;

    RawWal(int segments, long seed) {
        bytes = new byte[segments * SEGMENT];
        new Random(seed).nextBytes(bytes);
        for (int at = 0; at < bytes.length; at += SEGMENT) {
            LittleEndian.putShort(bytes, at + XLogLayout.PAGE_MAGIC, (short) XLogLayout.MAGIC_18);
            LittleEndian.putShort(
                    bytes, at + XLogLayout.PAGE_INFO, (short) XLogLayout.XLP_LONG_HEADER);
            LittleEndian.putInt(bytes, at + XLogLayout.PAGE_TIMELINE, 1);
            LittleEndian.putLong(bytes, at + XLogLayout.PAGE_ADDRESS, START + at);
            LittleEndian.putLong(
                    bytes, at + XLogLayout.PAGE_SYSTEM_IDENTIFIER, PAGES.systemIdentifier());
            LittleEndian.putInt(bytes, at + XLogLayout.PAGE_SEGMENT_SIZE, SEGMENT);
            LittleEndian.putInt(bytes, at + XLogLayout.PAGE_BLOCK_SIZE, XLogLayout.PAGE_SIZE);
        }
    }

    long end() {
        return START + bytes.length;
    }

    byte[] bytes() {
        return bytes;
    }

    byte byteAt(long lsn) {
        return bytes[(int) (lsn - START)];
    }

    void chunk(WalChunk into, long from, int length) {
        into.set(bytes, (int) (from - START), length, from, end());
    }
}
