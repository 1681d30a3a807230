package dev.walshadow.fuzz;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.WalChecksum;
import dev.walshadow.postgres.wal.XLogLayout;

/**
 * Puts a fuzzer's bytes behind the checksums: records with a right header and CRC32C, laid into
 * pages with right headers. Without it no search would ever pass the CRC.
 */
public final class FuzzedWal {
    public static final int SEGMENT_SIZE = XLogLayout.MIN_SEGMENT_SIZE;

    private static final int BODY_LIMIT = 20_000;
    private static final int[] MAGICS = {
        XLogLayout.MAGIC_15, XLogLayout.MAGIC_16, XLogLayout.MAGIC_17, XLogLayout.MAGIC_18
    };

    private final WalChecksum checksum = new WalChecksum();
    private final ByteBuilder out = new ByteBuilder(4 * XLogLayout.PAGE_SIZE);
    private final int magic;
    private final long start;
    private long previous;

    private FuzzedWal(int major) {
        magic = MAGICS[major - 15];
        start = 3L * SEGMENT_SIZE;
    }

    public static int major(int choice) {
        return 15 + (choice & 3);
    }

    /**
     * A segment's beginning in whole pages. Per record: its resource manager, info, two bytes of
     * xid, two of length, and the bytes behind the record header.
     */
    public static byte[] segment(int major, byte[] bytes, int from) {
        FuzzedWal wal = new FuzzedWal(major);
        wal.pageHeader(0);
        int at = from;
        while (bytes.length - at >= 6) {
            int length =
                    Math.min(
                            Math.min(LittleEndian.getUnsignedShort(bytes, at + 4), BODY_LIMIT),
                            bytes.length - at - 6);
            wal.record(bytes, at, length);
            at += 6 + length;
        }
        wal.fillPage();
        return wal.out.toByteArray();
    }

    private void record(byte[] bytes, int at, int length) {
        byte[] record = new byte[XLogLayout.RECORD_HEADER_LENGTH + length];
        LittleEndian.putInt(record, XLogLayout.TOTAL_LENGTH, record.length);
        LittleEndian.putInt(record, XLogLayout.XID, LittleEndian.getUnsignedShort(bytes, at + 2));
        LittleEndian.putLong(record, XLogLayout.PREVIOUS, previous);
        record[XLogLayout.RMID] = bytes[at];
        record[XLogLayout.INFO] = bytes[at + 1];
        System.arraycopy(bytes, at + 6, record, XLogLayout.RECORD_HEADER_LENGTH, length);
        LittleEndian.putInt(record, XLogLayout.CRC, checksum.compute(record, 0, record.length));
        if (atPageStart()) {
            pageHeader(0);
        }
        previous = position();
        int done = 0;
        while (done < record.length) {
            if (atPageStart()) {
                pageHeader(record.length - done);
            }
            int room = XLogLayout.PAGE_SIZE - XLogLayout.offsetInPage(position());
            int count = Math.min(room, record.length - done);
            out.putBytes(record, done, count);
            done += count;
        }
        out.putZeros((int) (XLogLayout.align(position()) - position()));
    }

    private long position() {
        return start + out.length();
    }

    private boolean atPageStart() {
        return XLogLayout.offsetInPage(position()) == 0;
    }

    private void fillPage() {
        if (!atPageStart()) {
            out.putZeros(XLogLayout.PAGE_SIZE - XLogLayout.offsetInPage(position()));
        }
    }

    private void pageHeader(int remaining) {
        boolean first = position() == start;
        long address = position();
        out.putShort(magic);
        out.putShort(
                (remaining > 0 ? XLogLayout.XLP_FIRST_IS_CONTRECORD : 0)
                        | (first ? XLogLayout.XLP_LONG_HEADER : 0));
        out.putInt(1);
        out.putLong(address);
        out.putInt(remaining);
        out.putInt(0);
        if (first) {
            out.putLong(4711);
            out.putInt(SEGMENT_SIZE);
            out.putInt(XLogLayout.PAGE_SIZE);
        }
    }
}
