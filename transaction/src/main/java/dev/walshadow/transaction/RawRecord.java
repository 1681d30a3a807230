package dev.walshadow.transaction;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.ResourceManager;

/**
 * Flyweight over one stored record, see {@link RawRecordLayout}. Reused: valid until the next
 * {@link #wrap}, and no longer than the chunk below it ({@link RecordCursor#chunkIsStable}).
 */
public final class RawRecord {
    private static final byte[] NOTHING = new byte[RawRecordLayout.HEADER_LENGTH];

    private byte[] buffer = NOTHING;
    private int offset;
    private int mainLength;

    public void wrap(byte[] chunk, int atOffset) {
        buffer = chunk;
        offset = atOffset;
        mainLength = LittleEndian.getInt(chunk, atOffset + RawRecordLayout.MAIN_LENGTH_OFFSET);
        Invariant.check(
                mainLength >= 0
                        && dataLength() >= 0
                        && RawRecordLayout.length(mainLength, dataLength()) == length()
                        && length() <= chunk.length - atOffset,
                "a stored record lies within its chunk");
    }

    public byte[] buffer() {
        return buffer;
    }

    public int offset() {
        return offset;
    }

    /** Bytes from {@link #offset} to the next record. */
    public int length() {
        return LittleEndian.getInt(buffer, offset + RawRecordLayout.LENGTH_OFFSET);
    }

    public int resourceManager() {
        return LittleEndian.getUnsignedByte(
                buffer, offset + RawRecordLayout.RESOURCE_MANAGER_OFFSET);
    }

    /** The full xl_info. */
    public int info() {
        return LittleEndian.getUnsignedByte(buffer, offset + RawRecordLayout.INFO_OFFSET);
    }

    public int flags() {
        return LittleEndian.getUnsignedShort(buffer, offset + RawRecordLayout.FLAGS_OFFSET);
    }

    public boolean hasBlock0() {
        return (flags() & RawRecordLayout.HAS_BLOCK0) != 0;
    }

    public boolean hasBlock1() {
        return (flags() & RawRecordLayout.HAS_BLOCK1) != 0;
    }

    public boolean isBaseline() {
        return (flags() & RawRecordLayout.BASELINE) != 0;
    }

    public boolean hasImage() {
        return (flags() & RawRecordLayout.HAS_IMAGE) != 0;
    }

    public long lsn() {
        return LittleEndian.getLong(buffer, offset + RawRecordLayout.LSN_OFFSET);
    }

    /** The (sub)transaction that wrote it. */
    public int xid() {
        return LittleEndian.getInt(buffer, offset + RawRecordLayout.XID_OFFSET);
    }

    public int tablespaceOid() {
        return LittleEndian.getInt(buffer, offset + RawRecordLayout.TABLESPACE_OFFSET);
    }

    public int databaseOid() {
        return LittleEndian.getInt(buffer, offset + RawRecordLayout.DATABASE_OFFSET);
    }

    public int relationNumber() {
        return LittleEndian.getInt(buffer, offset + RawRecordLayout.RELATION_OFFSET);
    }

    /** The page of the new tuple (of the deleted one in a DELETE). */
    public int block0() {
        return LittleEndian.getInt(buffer, offset + RawRecordLayout.BLOCK0_OFFSET);
    }

    /** The page of an UPDATE's old tuple. */
    public int block1() {
        return LittleEndian.getInt(buffer, offset + RawRecordLayout.BLOCK1_OFFSET);
    }

    public int mainOffset() {
        return offset + RawRecordLayout.HEADER_LENGTH;
    }

    public int mainLength() {
        return mainLength;
    }

    public int dataOffset() {
        return offset + RawRecordLayout.HEADER_LENGTH + mainLength;
    }

    public int dataLength() {
        return LittleEndian.getInt(buffer, offset + RawRecordLayout.DATA_LENGTH_OFFSET);
    }

    /**
     * False if a change carries no tuple for logical decoding although it should. Without it the
     * tuple may be only in a page image, or cut short by prefix and suffix compression.
     *
     * <p>On a table whose rows are to be replicated this is the sign that {@code wal_level} was
     * lowered at or before {@link #lsn}; the one harmless case are the TOAST inserts of CLUSTER and
     * VACUUM FULL, so whoever knows the relation decides.
     */
    public boolean hasLogicalTuple() {
        int flagsOffset;
        int wanted;
        if (resourceManager() == ResourceManager.HEAP2) {
            flagsOffset = HeapRecordLayout.MULTI_INSERT_FLAGS;
            wanted = HeapRecordLayout.XLH_INSERT_CONTAINS_NEW_TUPLE;
        } else {
            switch (info() & HeapRecordLayout.XLOG_HEAP_OPMASK) {
                case HeapRecordLayout.XLOG_HEAP_INSERT -> {
                    flagsOffset = HeapRecordLayout.INSERT_FLAGS;
                    wanted = HeapRecordLayout.XLH_INSERT_CONTAINS_NEW_TUPLE;
                }
                case HeapRecordLayout.XLOG_HEAP_UPDATE, HeapRecordLayout.XLOG_HEAP_HOT_UPDATE -> {
                    flagsOffset = HeapRecordLayout.UPDATE_FLAGS;
                    wanted = HeapRecordLayout.XLH_UPDATE_CONTAINS_NEW_TUPLE;
                }
                default -> {
                    return true;
                }
            }
        }
        return isBaseline() || (buffer[mainOffset() + flagsOffset] & wanted) != 0;
    }
}
