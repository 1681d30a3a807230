package dev.walshadow.postgres.heap;

import static dev.walshadow.postgres.heap.HeapTupleLayout.*;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.PostgresCodes;

/**
 * Flyweight over one heap tuple in any of the three shapes that {@link HeapTupleLayout} draws.
 * Valid until the next {@code wrap}; single-threaded. A wrap that returns has proved that header,
 * null bitmap and data lie inside the given bytes; {@link AttributeWalker} checks the data itself.
 */
public final class TupleView {
    private byte[] buffer = new byte[0];
    private int headerOffset;
    private boolean pageShape;
    private int infomask;
    private int infomask2;
    private int headerLength;
    private int bitmapOffset;
    private int dataOffset;
    private int end;

    /** Wraps {@code xl_heap_header} and what follows it: {@code length} bytes in all. */
    public void wrapWal(byte[] bytes, int offset, int length) {
        require(
                length >= XL_LENGTH && inside(bytes, offset, length),
                offset,
                length,
                "a WAL tuple has at least 5 bytes");
        infomask2 = LittleEndian.getUnsignedShort(bytes, offset + XL_INFOMASK2);
        infomask = LittleEndian.getUnsignedShort(bytes, offset + XL_INFOMASK);
        headerLength = bytes[offset + XL_HOFF] & 0xFF;
        pageShape = false;
        place(bytes, offset, offset + XL_LENGTH, offset + length);
    }

    /**
     * Wraps the tuple of a multi-insert at or behind {@code position}, which is brought to the even
     * distance from {@code start} that PostgreSQL pads to.
     *
     * @param start where the record's block data starts
     * @param position {@code start} for the first tuple, then what the previous call returned
     * @param limit the end of the block data
     * @return where the next tuple is looked for
     */
    public int wrapMulti(byte[] bytes, int start, int position, int limit) {
        require(
                start >= 0 && start <= position && limit <= bytes.length,
                start,
                limit - start,
                "multi-insert data lies inside its record");
        int offset = position + ((position - start) & 1);
        require(
                limit - offset >= MULTI_LENGTH,
                offset,
                limit - offset,
                "a multi-insert tuple has at least 7 bytes");
        int dataLength = LittleEndian.getUnsignedShort(bytes, offset + MULTI_DATALEN);
        require(
                limit - offset - MULTI_LENGTH >= dataLength,
                offset,
                limit - offset,
                "a multi-insert tuple ends inside its record");
        infomask2 = LittleEndian.getUnsignedShort(bytes, offset + MULTI_INFOMASK2);
        infomask = LittleEndian.getUnsignedShort(bytes, offset + MULTI_INFOMASK);
        headerLength = bytes[offset + MULTI_HOFF] & 0xFF;
        pageShape = false;
        int next = offset + MULTI_LENGTH + dataLength;
        place(bytes, offset, offset + MULTI_LENGTH, next);
        return next;
    }

    /** Wraps a tuple as it lies on a page: {@code HeapTupleHeaderData} and its data. */
    public void wrapPage(byte[] bytes, int offset, int length) {
        require(
                length >= LENGTH && inside(bytes, offset, length),
                offset,
                length,
                "a page tuple has at least 23 bytes");
        infomask2 = LittleEndian.getUnsignedShort(bytes, offset + T_INFOMASK2);
        infomask = LittleEndian.getUnsignedShort(bytes, offset + T_INFOMASK);
        headerLength = bytes[offset + T_HOFF] & 0xFF;
        pageShape = true;
        place(bytes, offset, offset + T_BITS, offset + length);
    }

    private void place(byte[] bytes, int offset, int bitmap, int limit) {
        int bitmapLength = hasNulls() ? (attributeCount() + 7) >>> 3 : 0;
        int data = bitmap + headerLength - LENGTH;
        require(
                (headerLength & 7) == 0 && headerLength >= LENGTH + bitmapLength && data <= limit,
                offset,
                limit - offset,
                "t_hoff is 8-aligned, behind the null bitmap and inside the tuple");
        buffer = bytes;
        headerOffset = offset;
        bitmapOffset = bitmap;
        dataOffset = data;
        end = limit;
    }

    private static boolean inside(byte[] bytes, int offset, int length) {
        return offset >= 0 && length <= bytes.length - offset;
    }

    private void require(boolean holds, int offset, int length, String expected) {
        if (!holds) {
            throw malformed(offset, length, expected);
        }
    }

    private QuarantineException malformed(int offset, int length, String expected) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_TUPLE,
                "malformed heap tuple: expected that "
                        + expected
                        + ", found "
                        + length
                        + " bytes at buffer offset "
                        + offset
                        + " with t_hoff "
                        + headerLength
                        + ", t_infomask 0x"
                        + Integer.toHexString(infomask)
                        + ", t_infomask2 0x"
                        + Integer.toHexString(infomask2)
                        + ". The source's data or the WAL is damaged: check it with pg_amcheck.");
    }

    public byte[] buffer() {
        return buffer;
    }

    /** Where the wrapped shape's header starts. */
    public int headerOffset() {
        return headerOffset;
    }

    /** t_hoff. */
    public int headerLength() {
        return headerLength;
    }

    /** Where the null bitmap is; meaningful only if {@link #hasNulls()}. */
    public int bitmapOffset() {
        return bitmapOffset;
    }

    public int dataOffset() {
        return dataOffset;
    }

    /** Behind the last byte of the tuple. */
    public int end() {
        return end;
    }

    public int infomask() {
        return infomask;
    }

    public int infomask2() {
        return infomask2;
    }

    /** The attributes that the tuple stores; later ones of the relation are missing values. */
    public int attributeCount() {
        return infomask2 & HEAP_NATTS_MASK;
    }

    public boolean hasNulls() {
        return (infomask & HEAP_HASNULL) != 0;
    }

    public boolean hasVariableWidth() {
        return (infomask & HEAP_HASVARWIDTH) != 0;
    }

    public boolean hasExternal() {
        return (infomask & HEAP_HASEXTERNAL) != 0;
    }

    /** Whether the stored attribute is NULL; false for attributes beyond the stored ones. */
    public boolean isNull(int attributeIndex) {
        return hasNulls()
                && attributeIndex < attributeCount()
                && (buffer[bitmapOffset + (attributeIndex >>> 3)] & 1 << (attributeIndex & 7)) == 0;
    }

    /** Whether {@link #xmin()}, {@link #xmax()} and the ctid exist: only on pages. */
    public boolean isPageShape() {
        return pageShape;
    }

    /** Page shape only. */
    public int xmin() {
        return LittleEndian.getInt(buffer, headerOffset + T_XMIN);
    }

    /** Page shape only; a multixact if {@link #isXmaxMulti()}. */
    public int xmax() {
        return LittleEndian.getInt(buffer, headerOffset + T_XMAX);
    }

    /** Page shape only. */
    public int ctidBlock() {
        return LittleEndian.getUnsignedShort(buffer, headerOffset + T_CTID_BLOCK_HIGH) << 16
                | LittleEndian.getUnsignedShort(buffer, headerOffset + T_CTID_BLOCK_LOW);
    }

    /** Page shape only. */
    public int ctidOffsetNumber() {
        return LittleEndian.getUnsignedShort(buffer, headerOffset + T_CTID_OFFSET);
    }

    /** Page shape only: HeapTupleHeaderIsSpeculative. */
    public boolean isSpeculative() {
        return ctidOffsetNumber() == SPEC_TOKEN_OFFSET;
    }

    public boolean isXminFrozen() {
        return (infomask & HEAP_XMIN_FROZEN) == HEAP_XMIN_FROZEN;
    }

    /** HeapTupleHeaderXminCommitted: hinted as committed, or frozen. */
    public boolean isXminCommitted() {
        return (infomask & HEAP_XMIN_COMMITTED) != 0;
    }

    /** HeapTupleHeaderXminInvalid: hinted as aborted. */
    public boolean isXminInvalid() {
        return (infomask & HEAP_XMIN_FROZEN) == HEAP_XMIN_INVALID;
    }

    public boolean isXmaxCommitted() {
        return (infomask & HEAP_XMAX_COMMITTED) != 0;
    }

    public boolean isXmaxInvalid() {
        return (infomask & HEAP_XMAX_INVALID) != 0;
    }

    public boolean isXmaxMulti() {
        return (infomask & HEAP_XMAX_IS_MULTI) != 0;
    }

    /** HEAP_XMAX_IS_LOCKED_ONLY: xmax locks the row and deletes nothing. */
    public boolean isXmaxLockOnly() {
        return (infomask & HEAP_XMAX_LOCK_ONLY) != 0
                || (infomask & (HEAP_XMAX_IS_MULTI | HEAP_LOCK_MASK)) == HEAP_XMAX_EXCL_LOCK;
    }
}
