package dev.walshadow.transaction;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.ResourceManager;

/** Writes rows and TOAST chunks of a load in the stored form that committed records have. */
public final class BaselineRecords {
    private BaselineRecords() {}

    /**
     * Starts a record behind what {@code out} holds; {@link #end} must follow once the tuple
     * (xl_heap_header, null bitmap, padding, data) has been appended.
     *
     * @param lsn the record LSN that the row's version gets; 0 for a base backup
     * @return where the record starts in {@code out}
     */
    public static int begin(
            ByteBuilder out, RelationLocator locator, int blockNumber, int offsetNumber, long lsn) {
        int start =
                header(
                        out,
                        locator,
                        blockNumber,
                        RawRecordLayout.BASELINE | RawRecordLayout.HAS_BLOCK0);
        LittleEndian.putLong(out.array(), start + RawRecordLayout.LSN_OFFSET, lsn);
        LittleEndian.putInt(out.array(), start + RawRecordLayout.MAIN_LENGTH_OFFSET, Short.BYTES);
        out.putShort(offsetNumber);
        return start;
    }

    /**
     * As {@link #begin}, of a chunk of a TOAST relation: the same record as its insertion has, of
     * LSN 0.
     */
    public static int beginChunk(
            ByteBuilder out, RelationLocator locator, int blockNumber, int offsetNumber) {
        int start = header(out, locator, blockNumber, RawRecordLayout.HAS_BLOCK0);
        LittleEndian.putInt(
                out.array(),
                start + RawRecordLayout.MAIN_LENGTH_OFFSET,
                HeapRecordLayout.INSERT_LENGTH);
        out.putShort(offsetNumber);
        out.putByte(
                HeapRecordLayout.XLH_INSERT_CONTAINS_NEW_TUPLE
                        | HeapRecordLayout.XLH_INSERT_ON_TOAST_RELATION);
        return start;
    }

    private static int header(
            ByteBuilder out, RelationLocator locator, int blockNumber, int flags) {
        int start = out.length();
        Invariant.check(start % RawRecordLayout.ALIGNMENT == 0, "records start aligned");
        out.putZeros(RawRecordLayout.HEADER_LENGTH);
        byte[] bytes = out.array();
        bytes[start + RawRecordLayout.RESOURCE_MANAGER_OFFSET] = (byte) ResourceManager.HEAP;
        LittleEndian.putShort(bytes, start + RawRecordLayout.FLAGS_OFFSET, flags);
        LittleEndian.putInt(
                bytes, start + RawRecordLayout.TABLESPACE_OFFSET, locator.tablespaceOid());
        LittleEndian.putInt(bytes, start + RawRecordLayout.DATABASE_OFFSET, locator.databaseOid());
        LittleEndian.putInt(
                bytes, start + RawRecordLayout.RELATION_OFFSET, locator.relationNumber());
        LittleEndian.putInt(bytes, start + RawRecordLayout.BLOCK0_OFFSET, blockNumber);
        LittleEndian.putInt(bytes, start + RawRecordLayout.BLOCK1_OFFSET, blockNumber);
        return start;
    }

    /**
     * Ends the record that {@link #begin} or {@link #beginChunk} started: what follows its main
     * data is the tuple.
     */
    public static void end(ByteBuilder out, int start) {
        int mainLength =
                LittleEndian.getInt(out.array(), start + RawRecordLayout.MAIN_LENGTH_OFFSET);
        int dataLength = out.length() - start - RawRecordLayout.HEADER_LENGTH - mainLength;
        long length = RawRecordLayout.length(mainLength, dataLength);
        out.putZeros((int) length - (out.length() - start));
        LittleEndian.putInt(out.array(), start + RawRecordLayout.LENGTH_OFFSET, (int) length);
        LittleEndian.putInt(out.array(), start + RawRecordLayout.DATA_LENGTH_OFFSET, dataLength);
    }
}
