package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapTupleLayout;
import dev.walshadow.postgres.heap.SequenceDataLayout;

/**
 * View over {@code XLOG_SEQ_LOG}, the only record of {@link ResourceManager#SEQUENCE}. Reused.
 *
 * <pre>
 *  0 u32 spcOid   4 u32 dbOid   8 u32 relNumber (xl_seq_rec)
 * 12 the sequence's whole tuple in its page shape; from t_hoff on SequenceDataLayout
 * </pre>
 *
 * <p>{@code nextval} logs up to 32 (SEQ_LOG_VALS) values ahead: {@code last_value} is then the last
 * one that it may give without another record, and {@code log_cnt} is 0.
 *
 * <p>Source: {@code src/include/commands/sequence.h}, {@code src/backend/commands/sequence.c},
 * PostgreSQL 15-18.
 */
public final class SequenceRecord {
    public static final int XLOG_SEQ_LOG = 0x00;

    private static final int TABLESPACE = 0;
    private static final int DATABASE = 4;
    private static final int RELATION_NUMBER = 8;
    private static final int TUPLE = 12;

    private byte[] bytes = new byte[0];
    private int start;
    private int data;

    public void wrap(WalRecord record) {
        bytes = record.buffer();
        start = record.mainDataOffset();
        int length = record.mainDataLength();
        if ((record.info() & XLogLayout.XLR_RMGR_INFO_MASK) != XLOG_SEQ_LOG) {
            throw record.corrupt("unknown sequence record type " + record.info());
        }
        if (length < TUPLE + HeapTupleLayout.LENGTH) {
            throw record.corrupt("a sequence record is cut off");
        }
        int offset = Byte.toUnsignedInt(bytes[start + TUPLE + HeapTupleLayout.T_HOFF]);
        if (offset < HeapTupleLayout.LENGTH
                || length < TUPLE + offset + SequenceDataLayout.LENGTH) {
            throw record.corrupt("a sequence's tuple is cut off");
        }
        data = start + TUPLE + offset;
    }

    public int databaseOid() {
        return LittleEndian.getInt(bytes, start + DATABASE);
    }

    public RelationLocator locator() {
        return new RelationLocator(
                LittleEndian.getInt(bytes, start + TABLESPACE),
                databaseOid(),
                LittleEndian.getInt(bytes, start + RELATION_NUMBER));
    }

    public long lastValue() {
        return LittleEndian.getLong(bytes, data + SequenceDataLayout.LAST_VALUE);
    }

    /** How many more values may be given without another record. */
    public long logCount() {
        return LittleEndian.getLong(bytes, data + SequenceDataLayout.LOG_COUNT);
    }

    public boolean isCalled() {
        return bytes[data + SequenceDataLayout.IS_CALLED] != 0;
    }
}
