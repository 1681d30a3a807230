package dev.walshadow.transaction;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.ResourceManager;

/**
 * A tuple of a TOAST relation: chunk_id oid, chunk_seq int4, chunk_data bytea, no NULLs.
 *
 * <p>PostgreSQL marks its insert with XLH_INSERT_ON_TOAST_RELATION when it logs it for logical
 * decoding (not when CLUSTER or VACUUM FULL copies it). Source: {@code heap_insert} in {@code
 * src/backend/access/heap/heapam.c}, {@code toast_save_datum} in {@code
 * src/backend/access/common/toast_internals.c}, PostgreSQL 15-18.
 */
final class ToastChunk {
    /** TOAST_MAX_CHUNK_SIZE for 8 KB pages: every chunk of a value but the last has this size. */
    static final int MAX_SIZE = 1996;

    private static final int TUPLE_HEADER_LENGTH = 23; // SizeofHeapTupleHeader
    private static final int SEQUENCE = 4;
    private static final int DATA = 8;
    private static final int SMALLEST = DATA + 1;

    private byte[] bytes = {};
    private int start;
    private int size;
    private int payload;

    static boolean isInsert(int resourceManager, int info, byte[] bytes, int mainOffset) {
        return resourceManager == ResourceManager.HEAP
                && (info & XLOG_HEAP_OPMASK) == XLOG_HEAP_INSERT
                && (bytes[mainOffset + INSERT_FLAGS] & XLH_INSERT_ON_TOAST_RELATION) != 0;
    }

    /**
     * @param length of xl_heap_header and what follows it
     * @return false if this cannot be a chunk
     */
    boolean wrap(byte[] buffer, int offset, int length) {
        if (length < HEADER_LENGTH) {
            return false;
        }
        int hoff = buffer[offset + HEADER_HOFF] & 0xFF;
        int at = offset + HEADER_LENGTH + hoff - TUPLE_HEADER_LENGTH;
        int end = offset + length;
        if (hoff < TUPLE_HEADER_LENGTH || end - at < SMALLEST) {
            return false;
        }
        bytes = buffer;
        start = at;
        return wrapData(at + DATA, end);
    }

    private boolean wrapData(int at, int end) {
        int first = bytes[at] & 0xFF;
        if ((first & 1) != 0) {
            payload = at + 1;
            size = (first >>> 1) - 1;
        } else {
            if ((first & 3) != 0 || end - at < Integer.BYTES) {
                return false;
            }
            payload = at + Integer.BYTES;
            size = (LittleEndian.getInt(bytes, at) >>> 2) - Integer.BYTES;
        }
        return size >= 0 && size <= end - payload;
    }

    int valueId() {
        return LittleEndian.getInt(bytes, start);
    }

    int sequence() {
        return LittleEndian.getInt(bytes, start + SEQUENCE);
    }

    int dataOffset() {
        return payload;
    }

    int dataLength() {
        return size;
    }
}
