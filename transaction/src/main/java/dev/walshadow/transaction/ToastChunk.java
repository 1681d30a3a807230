package dev.walshadow.transaction;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.HeapTupleLayout;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.postgres.wal.ResourceManager;

/**
 * A tuple of a TOAST relation: chunk_id oid, chunk_seq int4, chunk_data bytea, no NULLs.
 *
 * <p>PostgreSQL marks its insert with XLH_INSERT_ON_TOAST_RELATION when it logs it for logical
 * decoding (not when CLUSTER or VACUUM FULL copies it). Source: {@code heap_insert} in {@code
 * src/backend/access/heap/heapam.c}, {@code toast_save_datum} in {@code
 * src/backend/access/common/toast_internals.c}, PostgreSQL 15-18.
 */
public final class ToastChunk {
    /** TOAST_MAX_CHUNK_SIZE for 8 KB pages: every chunk of a value but the last has this size. */
    public static final int MAX_SIZE = 1996;

    /** t_hoff of a tuple without a null bitmap. */
    private static final int HEADER_LENGTH = 24;

    private static final int ATTRIBUTES = 3;
    private static final int SEQUENCE = 4;
    private static final int DATA = 8;
    private static final int SMALLEST = DATA + 1;

    private byte[] bytes = {};
    private int start;
    private int size;
    private int payload;

    /** Whether a stored record inserts a chunk; {@link #wrap} takes its data. */
    public static boolean isInsert(RawRecord record) {
        return !record.isBaseline()
                && isInsert(
                        record.resourceManager(),
                        record.info(),
                        record.buffer(),
                        record.mainOffset());
    }

    static boolean isInsert(int resourceManager, int info, byte[] bytes, int mainOffset) {
        return resourceManager == ResourceManager.HEAP
                && (info & XLOG_HEAP_OPMASK) == XLOG_HEAP_INSERT
                && (bytes[mainOffset + INSERT_FLAGS] & XLH_INSERT_ON_TOAST_RELATION) != 0;
    }

    /**
     * @param length of xl_heap_header and what follows it
     * @return false if this cannot be a chunk as PostgreSQL forms it
     */
    public boolean wrap(byte[] buffer, int offset, int length) {
        if (length < HeapTupleLayout.XL_LENGTH) {
            return false;
        }
        int hoff = buffer[offset + HeapTupleLayout.XL_HOFF] & 0xFF;
        int infomask2 =
                LittleEndian.getUnsignedShort(buffer, offset + HeapTupleLayout.XL_INFOMASK2);
        int infomask = LittleEndian.getUnsignedShort(buffer, offset + HeapTupleLayout.XL_INFOMASK);
        int at = offset + HeapTupleLayout.XL_LENGTH + HEADER_LENGTH - HeapTupleLayout.LENGTH;
        int end = offset + length;
        if (hoff != HEADER_LENGTH
                || (infomask2 & HeapTupleLayout.HEAP_NATTS_MASK) != ATTRIBUTES
                || (infomask & HeapTupleLayout.HEAP_HASNULL) != 0
                || end - at < SMALLEST) {
            return false;
        }
        bytes = buffer;
        start = at;
        return wrapData(at + DATA, end);
    }

    private boolean wrapData(int at, int end) {
        boolean isShort = Varlena.isShort(bytes, at);
        int headerLength = isShort ? Varlena.SHORT_HEADER_LENGTH : Varlena.HEADER_LENGTH;
        if (!Varlena.isPlain(bytes, at) || end - at < headerLength) {
            return false;
        }
        payload = Varlena.payloadOffset(bytes, at);
        int total = isShort ? (bytes[at] & 0xFF) >>> 1 : LittleEndian.getInt(bytes, at) >>> 2;
        size = Varlena.payloadLength(bytes, at, total);
        return size >= 0 && size == end - payload;
    }

    public int valueId() {
        return LittleEndian.getInt(bytes, start);
    }

    /** From 0 on. */
    public int sequence() {
        return LittleEndian.getInt(bytes, start + SEQUENCE);
    }

    public int dataOffset() {
        return payload;
    }

    public int dataLength() {
        return size;
    }
}
