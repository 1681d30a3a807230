package dev.walshadow.postgres.heap;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.PostgresCodes;
import dev.walshadow.postgres.value.Varlena;

/**
 * Finds each attribute of a tuple in one pass: alignment, null bitmap, varlena headers. The two
 * output arrays are reused: valid until the next {@link #walk}; single-threaded. Whatever the
 * bytes, every reported value lies inside the tuple.
 */
public final class AttributeWalker {
    /** The offset of an attribute that is NULL in the tuple. */
    public static final int NULL = -1;

    /** The offset of an attribute that was added after the tuple was written: attmissingval. */
    public static final int MISSING = -2;

    private final int[] attributeLengths;
    private final int[] alignmentMasks;
    private final int[] offsets;
    private final int[] lengths;

    public AttributeWalker(TupleLayout layout) {
        this.attributeLengths = layout.lengths();
        this.alignmentMasks = layout.alignmentMasks();
        this.offsets = new int[attributeLengths.length];
        this.lengths = new int[attributeLengths.length];
    }

    /** Where each value starts in the tuple's buffer, or {@link #NULL} or {@link #MISSING}. */
    public int[] offsets() {
        return offsets;
    }

    /** Stored bytes of each value, varlena headers and a C string's terminator included. */
    public int[] lengths() {
        return lengths;
    }

    public int offset(int attributeIndex) {
        return offsets[attributeIndex];
    }

    public int length(int attributeIndex) {
        return lengths[attributeIndex];
    }

    /**
     * Fills {@link #offsets()} and {@link #lengths()}.
     *
     * @throws QuarantineException if the tuple has more attributes than the layout, or its data
     *     ends early or goes on: PostgreSQL forms tuples that end with their last attribute
     */
    public void walk(TupleView tuple) {
        int stored = tuple.attributeCount();
        int total = attributeLengths.length;
        if (stored > total) {
            throw tooManyAttributes(stored, total);
        }
        int end = tuple.hasNulls() ? walkWithNulls(tuple, stored) : walkWithoutNulls(tuple, stored);
        if (end != tuple.end()) {
            throw goesOn(tuple, stored, end);
        }
        for (int i = stored; i < total; i++) {
            offsets[i] = MISSING;
            lengths[i] = 0;
        }
    }

    private int walkWithoutNulls(TupleView tuple, int stored) {
        byte[] bytes = tuple.buffer();
        int base = tuple.dataOffset();
        int end = tuple.end();
        int position = base;
        for (int i = 0; i < stored; i++) {
            position = walkOne(bytes, base, position, end, i);
        }
        return position;
    }

    private int walkWithNulls(TupleView tuple, int stored) {
        byte[] bytes = tuple.buffer();
        int base = tuple.dataOffset();
        int end = tuple.end();
        int bitmap = tuple.bitmapOffset();
        int position = base;
        for (int i = 0; i < stored; i++) {
            if ((bytes[bitmap + (i >>> 3)] & 1 << (i & 7)) == 0) {
                offsets[i] = NULL;
                lengths[i] = 0;
            } else {
                position = walkOne(bytes, base, position, end, i);
            }
        }
        return position;
    }

    /** Returns the position behind attribute {@code i}; alignment counts from {@code base}. */
    private int walkOne(byte[] bytes, int base, int position, int end, int i) {
        int length = attributeLengths[i];
        int mask = alignmentMasks[i];
        int start;
        if (length > 0) {
            start = base + (position - base + mask & ~mask);
        } else if (length == -1) {
            // att_align_pointer: a nonzero byte here is a header, a zero byte is padding
            start =
                    position < end && bytes[position] != 0
                            ? position
                            : base + (position - base + mask & ~mask);
            length = Varlena.totalLength(bytes, start, end);
        } else {
            start = base + (position - base + mask & ~mask);
            length = cStringLength(bytes, start, end, i);
        }
        if (length > end - start) {
            throw endsEarly(i, start, length, end);
        }
        offsets[i] = start;
        lengths[i] = length;
        return start + length;
    }

    private static int cStringLength(byte[] bytes, int start, int end, int attributeIndex) {
        for (int at = start; at < end; at++) {
            if (bytes[at] == 0) {
                return at - start + 1;
            }
        }
        throw endsEarly(attributeIndex, start, 1, end);
    }

    private static QuarantineException tooManyAttributes(int stored, int known) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_TUPLE,
                "a tuple stores "
                        + stored
                        + " attributes, but its relation has "
                        + known
                        + " at this position: the descriptor does not belong to this tuple."
                        + " Reload the table.");
    }

    private static QuarantineException goesOn(TupleView tuple, int stored, int end) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_TUPLE,
                "a tuple has "
                        + (tuple.end() - end)
                        + " bytes behind its "
                        + stored
                        + " stored attributes: it is damaged, or its descriptor does not belong to"
                        + " it. Check the source with pg_amcheck, then reload the table.");
    }

    private static QuarantineException endsEarly(
            int attributeIndex, int start, int length, int end) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_TUPLE,
                "attribute "
                        + (attributeIndex + 1)
                        + " needs "
                        + length
                        + " bytes at buffer offset "
                        + start
                        + ", but its tuple ends at "
                        + end
                        + ": the tuple is damaged or of another shape. Check the source with"
                        + " pg_amcheck, then reload the table.");
    }
}
