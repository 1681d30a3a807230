package dev.walshadow.source;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.WalChecksum;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.XLogLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes records into WAL pages as XLogInsert does, for sequences that no server writes on demand.
 */
final class SyntheticWal {
    final WalPages pages;
    final List<Long> lsns = new ArrayList<>();
    private final ByteBuilder out = new ByteBuilder(1 << 20);
    private final WalChecksum checksum = new WalChecksum();
    private final long start;
    private long previous = 16;

    SyntheticWal(int segmentSize) {
        pages = new WalPages(18, 4711, 1, segmentSize);
        start = 3L * segmentSize;
    }

    long start() {
        return start;
    }

    long position() {
        return start + out.length();
    }

    byte[] bytes() {
        return out.toByteArray();
    }

    StreamSnapshot initial() {
        return StreamSnapshot.initial(pages, start + XLogLayout.LONG_HEADER_LENGTH, List.of());
    }

    /** A record with main data only. */
    long record(int manager, int info, int xid, byte[] mainData) {
        return record(manager, info, xid, new byte[0], mainData);
    }

    /** A record that changes one block of a relation. */
    long block(int manager, int info, int xid, int relation, byte[] mainData) {
        ByteBuilder header = new ByteBuilder(64);
        header.putByte(0);
        header.putByte(0);
        header.putShort(0);
        header.putInt(1663);
        header.putInt(5);
        header.putInt(relation);
        header.putInt(0);
        return record(manager, info, xid, header.toByteArray(), mainData);
    }

    private long record(int manager, int info, int xid, byte[] headers, byte[] mainData) {
        ByteBuilder record = new ByteBuilder(256);
        record.putZeros(XLogLayout.RECORD_HEADER_LENGTH);
        record.putBytes(headers);
        if (mainData.length > 255) {
            record.putByte(XLogLayout.XLR_BLOCK_ID_DATA_LONG);
            record.putInt(mainData.length);
        } else {
            record.putByte(XLogLayout.XLR_BLOCK_ID_DATA_SHORT);
            record.putByte(mainData.length);
        }
        record.putBytes(mainData);
        byte[] bytes = record.toByteArray();
        if (atPageStart()) {
            pageHeader(0);
        }
        long lsn = position();
        LittleEndian.putInt(bytes, XLogLayout.TOTAL_LENGTH, bytes.length);
        LittleEndian.putInt(bytes, XLogLayout.XID, xid);
        LittleEndian.putLong(bytes, XLogLayout.PREVIOUS, previous);
        bytes[XLogLayout.INFO] = (byte) info;
        bytes[XLogLayout.RMID] = (byte) manager;
        LittleEndian.putInt(bytes, XLogLayout.CRC, checksum.compute(bytes, 0, bytes.length));
        append(bytes);
        previous = lsn;
        lsns.add(lsn);
        return lsn;
    }

    private void append(byte[] bytes) {
        int done = 0;
        while (done < bytes.length) {
            if (atPageStart()) {
                pageHeader(bytes.length - done);
            }
            int room = XLogLayout.PAGE_SIZE - XLogLayout.offsetInPage(position());
            int count = Math.min(room, bytes.length - done);
            out.putBytes(bytes, done, count);
            done += count;
        }
        out.putZeros((int) (XLogLayout.align(position()) - position()));
    }

    private boolean atPageStart() {
        return XLogLayout.offsetInPage(position()) == 0;
    }

    private void pageHeader(int remaining) {
        boolean first = pages.segmentStart(position()) == position();
        long address = position();
        out.putShort(XLogLayout.MAGIC_18);
        out.putShort(
                (remaining > 0 ? XLogLayout.XLP_FIRST_IS_CONTRECORD : 0)
                        | (first ? XLogLayout.XLP_LONG_HEADER : 0));
        out.putInt(1);
        out.putLong(address);
        out.putInt(remaining);
        out.putInt(0);
        if (first) {
            out.putLong(pages.systemIdentifier());
            out.putInt(pages.segmentSize());
            out.putInt(XLogLayout.PAGE_SIZE);
        }
    }
}
