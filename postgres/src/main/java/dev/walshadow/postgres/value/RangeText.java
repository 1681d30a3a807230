package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.heap.TupleLayout;

/**
 * What {@code range_out} prints. A range's payload:
 *
 * <pre>
 * 0     u32 rngtypid
 * 4     lower bound, upper bound: only those that are finite; aligned as the subtype is, counted
 *       from the varlena header's start (payload - 4)
 * end-1 u8 flags: 0x01 empty, 0x02 lower inclusive, 0x04 upper inclusive, 0x08 lower infinite,
 *       0x10 upper infinite, 0x20 and 0x40 unused NULL marks, 0x80 for GiST
 * </pre>
 *
 * Its subtype's codec may hold state, so single-threaded. Source: {@code
 * src/include/utils/rangetypes.h}, {@code src/backend/utils/adt/rangetypes.c}, PostgreSQL 15-18.
 */
public final class RangeText implements ValueCodec {
    static final int EMPTY = 0x01;
    private static final int LOWER_INCLUSIVE = 0x02;
    private static final int UPPER_INCLUSIVE = 0x04;
    private static final int NO_LOWER = EMPTY | 0x08 | 0x20;
    private static final int NO_UPPER = EMPTY | 0x10 | 0x40;

    private static final int BOUNDS = 4;

    /** From the payload back to the varlena header that alignment counts from. */
    private static final int HEADER = 4;

    private final int length;
    private final int alignmentMask;
    private final ValueCodec subtype;
    private final ByteBuilder scratch = new ByteBuilder(64);

    /** Behind the bound that was read last. */
    private int position;

    /**
     * @param length the subtype's typlen
     * @param alignment the subtype's typalign
     */
    public RangeText(int length, char alignment, ValueCodec subtype) {
        this.length = length;
        this.alignmentMask = TupleLayout.alignmentMask(alignment);
        this.subtype = subtype;
    }

    int alignmentMask() {
        return alignmentMask;
    }

    @Override
    public void appendText(byte[] bytes, int offset, int valueLength, ByteBuilder out) {
        Malformed.requireInside("range", bytes, offset, valueLength);
        if (valueLength < BOUNDS + 1) {
            throw Malformed.value("range", "5 bytes at least", valueLength + " bytes", offset);
        }
        int flags = bytes[offset + valueLength - 1] & 0xFF;
        append(bytes, offset - HEADER, offset + BOUNDS, offset + valueLength - 1, flags, out);
    }

    /**
     * Appends a range whose bounds start at {@code at}.
     *
     * @param base what alignment counts from
     * @param end where its bytes end at the latest
     * @return where its bounds end
     */
    int append(byte[] bytes, int base, int at, int end, int flags, ByteBuilder out) {
        if ((flags & EMPTY) != 0) {
            out.putAscii("empty");
            return at;
        }
        position = at;
        out.putByte((flags & LOWER_INCLUSIVE) != 0 ? '[' : '(');
        if ((flags & NO_LOWER) == 0) {
            appendBound(bytes, base, end, out);
        }
        out.putByte(',');
        if ((flags & NO_UPPER) == 0) {
            appendBound(bytes, base, end, out);
        }
        out.putByte((flags & UPPER_INCLUSIVE) != 0 ? ']' : ')');
        return position;
    }

    private void appendBound(byte[] bytes, int base, int end, ByteBuilder out) {
        int start = out.length();
        int at = position;
        // att_align_pointer: a nonzero byte is a varlena's short header, which is not aligned
        if (length != -1 || at >= end || bytes[at] == 0) {
            at = base + (at - base + alignmentMask & ~alignmentMask);
        }
        if (length > 0) {
            if (length > end - at) {
                throw endsEarly(at);
            }
            position = at + length;
            subtype.appendText(bytes, at, length, out);
        } else if (length == -1) {
            int total = Varlena.totalLength(bytes, at, end);
            position = at + total;
            appendVarlena(bytes, at, total, out);
        } else {
            int stop = at;
            while (stop < end && bytes[stop] != 0) {
                stop++;
            }
            if (stop >= end) {
                throw endsEarly(at);
            }
            position = stop + 1;
            subtype.appendText(bytes, at, stop - at, out);
        }
        QuotedText.quoteIfNeeded(out, start, true);
    }

    private void appendVarlena(byte[] bytes, int at, int total, ByteBuilder out) {
        if (Varlena.isPlain(bytes, at)) {
            subtype.appendText(
                    bytes,
                    Varlena.payloadOffset(bytes, at),
                    Varlena.payloadLength(bytes, at, total),
                    out);
            return;
        }
        scratch.clear();
        Detoaster.appendInline(bytes, at, total, scratch);
        subtype.appendText(scratch.array(), 0, scratch.length(), out);
    }

    private static RuntimeException endsEarly(int at) {
        return Malformed.value("range", "a bound inside the value", "its end", at);
    }
}
