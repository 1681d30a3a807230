package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapTupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.transaction.BaselineRecords;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RawRecordLayout;

/** Writes tuples of pages as stored records: WAL shape behind a record header. */
final class RowWriter {
    private RowWriter() {}

    /**
     * Low halves of versions, below any LSN: of one commit position the higher wins. The lowest bit
     * is the encoder's: a row beats a tombstone.
     */
    static final long BASELINE = 0;

    /** A deleter that was open. */
    static final long OPEN_TOMBSTONE = 0;

    /** A deleter had ended before B after all: wins over the row that was sent at once. */
    static final long LATE_TOMBSTONE = 2;

    /** A row of a transaction that was open: wins over the tombstone of the version before it. */
    static final long OPEN_INSERTER = 4;

    /** As {@link #LATE_TOMBSTONE}, of a row that was sent as {@link #OPEN_INSERTER}'s. */
    static final long LAST_TOMBSTONE = 6;

    /** A baseline row. Returns where it begins. */
    static int row(
            ByteBuilder out,
            RelationLocator locator,
            int block,
            int offsetNumber,
            TupleView tuple) {
        int start = BaselineRecords.begin(out, locator, block, offsetNumber, BASELINE);
        tuple(out, tuple);
        BaselineRecords.end(out, start);
        return start;
    }

    /** A chunk of a TOAST relation, whoever inserted it. */
    static void chunk(
            ByteBuilder out,
            RelationLocator locator,
            int block,
            int offsetNumber,
            TupleView tuple) {
        int start = BaselineRecords.beginChunk(out, locator, block, offsetNumber);
        tuple(out, tuple);
        BaselineRecords.end(out, start);
    }

    /** Gives the stored row at {@code start} another low half of its version. */
    static void setLow(ByteBuilder out, int start, long low) {
        LittleEndian.putLong(out.array(), start + RawRecordLayout.LSN_OFFSET, low);
    }

    /** A stored row again, with another low half of its version. */
    static void row(ByteBuilder out, RawRecord row, long low) {
        int start = out.length();
        out.putBytes(row.buffer(), row.offset(), row.length());
        setLow(out, start, low);
    }

    /** A tombstone for the key of a stored row: its deleter's record lies before B. */
    static void tombstone(ByteBuilder out, RawRecord row, long low) {
        int start = out.length();
        row(out, row, low);
        out.array()[start + RawRecordLayout.INFO_OFFSET] = (byte) HeapRecordLayout.XLOG_HEAP_DELETE;
    }

    /** xl_heap_header, then null bitmap, padding and data as they lie on the page. */
    private static void tuple(ByteBuilder out, TupleView tuple) {
        out.putShort(tuple.infomask2());
        out.putShort(tuple.infomask());
        out.putByte(tuple.headerLength());
        int from = tuple.headerOffset() + HeapTupleLayout.T_BITS;
        out.putBytes(tuple.buffer(), from, tuple.end() - from);
    }
}
