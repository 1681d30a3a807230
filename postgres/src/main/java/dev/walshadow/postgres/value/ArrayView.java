package dev.walshadow.postgres.value;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;

/**
 * Flyweight over an array's payload (detoasted, without its varlena header). Iterates over the
 * elements in storage order (the last dimension varies fastest). Valid until the next wrap;
 * single-threaded.
 *
 * <pre>
 *  0 i32 ndim            0 for an empty array, at most 6
 *  4 i32 dataoffset      0 = no null bitmap; else from the varlena header's start (payload - 4)
 *  8 u32 elemtype
 * 12 i32 dims[ndim], i32 lbound[ndim]
 *    null bitmap (1 = present), padding to 8 counted from the varlena header, elements
 * </pre>
 *
 * Source: {@code src/include/utils/array.h}, PostgreSQL 15-18.
 */
public final class ArrayView {
    /** MAXDIM. */
    public static final int MAX_DIMENSIONS = 6;

    private static final int NDIM = 0;
    private static final int DATA_OFFSET = NDIM + 4;
    private static final int ELEMENT_TYPE = DATA_OFFSET + 4;
    private static final int DIMENSIONS = ELEMENT_TYPE + 4;

    private byte[] buffer = new byte[DIMENSIONS];
    private int payload;
    private int end;
    private int dimensions;
    private int count;
    private int bitmap;
    private int data;

    private int elementAttlen;
    private int alignmentMask;
    private int nextIndex;
    private int position;
    private boolean elementNull;
    private int elementOffset;
    private int elementLength;

    /**
     * Wraps the payload.
     *
     * @throws QuarantineException if its header lies about what follows
     */
    public void wrap(byte[] bytes, int offset, int length) {
        if (length < DIMENSIONS || offset < 0 || length > bytes.length - offset) {
            throw malformed("12 header bytes", length + " bytes", offset);
        }
        int ndim = LittleEndian.getInt(bytes, offset + NDIM);
        int dataOffset = LittleEndian.getInt(bytes, offset + DATA_OFFSET);
        if (ndim < 0 || ndim > MAX_DIMENSIONS || length - DIMENSIONS < 8 * ndim) {
            throw malformed("0 to 6 dimensions inside the value", "ndim " + ndim, offset);
        }
        int bitmapStart = DIMENSIONS + 8 * ndim;
        long items = ndim == 0 ? 0 : 1;
        for (int i = 0; i < ndim; i++) {
            int size = LittleEndian.getInt(bytes, offset + DIMENSIONS + 4 * i);
            items *= size;
            // every element takes a byte or a bit of the bitmap
            if (size < 0 || items > 8L * length) {
                throw malformed("elements inside the value", "dimension " + size, offset);
            }
        }
        int dataStart;
        if (dataOffset == 0) {
            dataStart = (bitmapStart + 4 + 7 & ~7) - 4;
        } else {
            dataStart = dataOffset - 4;
            if (dataOffset < 0
                    || (dataOffset & 7) != 0
                    || dataStart < bitmapStart + ((items + 7) >>> 3)) {
                throw malformed("elements behind the bitmap", "dataoffset " + dataOffset, offset);
            }
        }
        if ((items > 0 && dataStart > length) || (dataOffset == 0 && items > length)) {
            throw malformed("elements inside the value", items + " elements", offset);
        }
        buffer = bytes;
        payload = offset;
        end = offset + length;
        dimensions = ndim;
        count = (int) items;
        bitmap = dataOffset == 0 ? -1 : offset + bitmapStart;
        data = offset + dataStart;
        nextIndex = count;
    }

    /** 0 for an empty array. */
    public int dimensions() {
        return dimensions;
    }

    public int dimension(int index) {
        Invariant.check(index >= 0 && index < dimensions, "an array dimension exists");
        return LittleEndian.getInt(buffer, payload + DIMENSIONS + 4 * index);
    }

    public int lowerBound(int index) {
        Invariant.check(index >= 0 && index < dimensions, "an array dimension exists");
        return LittleEndian.getInt(buffer, payload + DIMENSIONS + 4 * (dimensions + index));
    }

    public int elementTypeOid() {
        return LittleEndian.getInt(buffer, payload + ELEMENT_TYPE);
    }

    /** How many elements there are in all, nulls included. */
    public int elementCount() {
        return count;
    }

    /** Whether there is a null bitmap (it may say that nothing is null). */
    public boolean hasNulls() {
        return bitmap >= 0;
    }

    /**
     * Starts the iteration anew.
     *
     * @param attlen the element type's typlen
     * @param alignment the element type's typalign
     */
    public void start(int attlen, char alignment) {
        elementAttlen = attlen;
        alignmentMask =
                switch (alignment) {
                    case 'c' -> 0;
                    case 's' -> 1;
                    case 'i' -> 3;
                    default -> 7;
                };
        nextIndex = 0;
        position = data;
    }

    /**
     * Moves to the next element; false behind the last one.
     *
     * @throws QuarantineException if the element does not end inside the value
     */
    public boolean next() {
        if (nextIndex >= count) {
            return false;
        }
        int index = nextIndex++;
        elementNull = bitmap >= 0 && (buffer[bitmap + (index >>> 3)] & 1 << (index & 7)) == 0;
        if (elementNull) {
            elementOffset = position;
            elementLength = 0;
            return true;
        }
        // array data starts 8-aligned, counted from the varlena header
        int start = data + (position - data + alignmentMask & ~alignmentMask);
        if (elementAttlen > 0) {
            if (elementAttlen > end - start) {
                throw endsEarly(index, start);
            }
            elementOffset = start;
            elementLength = elementAttlen;
            position = start + elementAttlen;
        } else if (elementAttlen == -1) {
            int total = Varlena.totalLength(buffer, start, end);
            if (!Varlena.isPlain(buffer, start)) {
                throw malformed("plain elements", "a toasted element " + index, start);
            }
            elementOffset = Varlena.payloadOffset(buffer, start);
            elementLength = Varlena.payloadLength(buffer, start, total);
            position = start + total;
        } else {
            nextString(index, start);
        }
        return true;
    }

    private void nextString(int index, int start) {
        int at = start;
        while (at < end && buffer[at] != 0) {
            at++;
        }
        if (at >= end) {
            throw endsEarly(index, start);
        }
        elementOffset = start;
        elementLength = at - start;
        position = at + 1;
    }

    public boolean elementIsNull() {
        return elementNull;
    }

    public byte[] elementBuffer() {
        return buffer;
    }

    /** Where the element's payload starts in {@link #elementBuffer()}, behind any header. */
    public int elementOffset() {
        return elementOffset;
    }

    /** The element's payload length, without header or terminator. */
    public int elementLength() {
        return elementLength;
    }

    private static QuarantineException endsEarly(int index, int start) {
        return malformed("element " + index + " inside the value", "its end", start);
    }

    private static QuarantineException malformed(String expected, String found, int offset) {
        return Malformed.value("array", expected, found, offset);
    }
}
