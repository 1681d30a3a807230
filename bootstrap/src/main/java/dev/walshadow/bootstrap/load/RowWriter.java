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

    /** A baseline row. */
    static void row(
            ByteBuilder out,
            RelationLocator locator,
            int block,
            int offsetNumber,
            TupleView tuple) {
        int start = BaselineRecords.begin(out, locator, block, offsetNumber, 0);
        tuple(out, tuple);
        BaselineRecords.end(out, start);
    }

    /**
     * A DELETE of a stored row, with the whole old tuple as replica identity FULL would log it: for
     * a deleter whose own record lies before B.
     */
    static void tombstone(ByteBuilder out, RawRecord row) {
        RelationLocator locator =
                new RelationLocator(row.tablespaceOid(), row.databaseOid(), row.relationNumber());
        int offsetNumber = LittleEndian.getUnsignedShort(row.buffer(), row.mainOffset());
        int start = BaselineRecords.begin(out, locator, row.block0(), offsetNumber, 0);
        // main data: xl_heap_delete (xmax, offnum, infobits_set, flags), then the old tuple
        out.setLength(start + RawRecordLayout.HEADER_LENGTH);
        out.putInt(0);
        out.putShort(offsetNumber);
        out.putByte(0);
        out.putByte(HeapRecordLayout.XLH_DELETE_CONTAINS_OLD_TUPLE);
        out.putBytes(row.buffer(), row.dataOffset(), row.dataLength());
        int mainLength = out.length() - start - RawRecordLayout.HEADER_LENGTH;
        long length = RawRecordLayout.length(mainLength, 0);
        out.putZeros((int) length - (out.length() - start));
        byte[] bytes = out.array();
        bytes[start + RawRecordLayout.INFO_OFFSET] = (byte) HeapRecordLayout.XLOG_HEAP_DELETE;
        LittleEndian.putShort(
                bytes, start + RawRecordLayout.FLAGS_OFFSET, RawRecordLayout.HAS_BLOCK0);
        LittleEndian.putInt(bytes, start + RawRecordLayout.LENGTH_OFFSET, (int) length);
        LittleEndian.putInt(bytes, start + RawRecordLayout.MAIN_LENGTH_OFFSET, mainLength);
        LittleEndian.putInt(bytes, start + RawRecordLayout.DATA_LENGTH_OFFSET, 0);
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
