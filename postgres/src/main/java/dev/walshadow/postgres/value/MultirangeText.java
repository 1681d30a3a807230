package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/**
 * What {@code multirange_out} prints. A multirange's payload:
 *
 * <pre>
 * 0 u32 multirangetypid
 * 4 u32 rangeCount
 * 8 u32 items[rangeCount - 1]   where the bounds of ranges 1, 2, ... start, counted from the bounds:
 *                               0x80000000 set: as an offset, else as the length of the one before
 *   u8 flags[rangeCount]        as a range has them, without the bits for emptiness
 *   bounds                      aligned as the subtype is, counted from the varlena header
 * </pre>
 *
 * Source: {@code src/include/utils/multirangetypes.h}, {@code
 * src/backend/utils/adt/multirangetypes.c}, PostgreSQL 15-18.
 */
public final class MultirangeText implements ValueCodec {
    private static final int COUNT = 4;
    private static final int ITEMS = 8;
    private static final int ITEM_HAS_OFFSET = 0x8000_0000;

    /** From the payload back to the varlena header that alignment counts from. */
    private static final int HEADER = 4;

    private final RangeText range;

    public MultirangeText(RangeText range) {
        this.range = range;
    }

    @Override
    public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("multirange", bytes, offset, length);
        if (length < ITEMS) {
            throw Malformed.value("multirange", "8 bytes at least", length + " bytes", offset);
        }
        int count = LittleEndian.getInt(bytes, offset + COUNT);
        if (count < 0 || (count > 0 && 5L * count - 4 > length - ITEMS)) {
            throw Malformed.value("multirange", "ranges inside the value", "" + count, offset);
        }
        out.putByte('{');
        if (count > 0) {
            appendRanges(bytes, offset, offset + length, count, out);
        }
        out.putByte('}');
    }

    private void appendRanges(byte[] bytes, int offset, int end, int count, ByteBuilder out) {
        int base = offset - HEADER;
        int flags = offset + ITEMS + 4 * (count - 1);
        int mask = range.alignmentMask();
        int bounds = base + (flags + count - base + mask & ~mask);
        long at = 0;
        int behind = bounds;
        int start = out.length();
        for (int i = 0; i < count; i++) {
            if (i > 0) {
                out.putByte(',');
                int item = LittleEndian.getInt(bytes, offset + ITEMS + 4 * (i - 1));
                long distance = item & ~ITEM_HAS_OFFSET;
                at = (item & ITEM_HAS_OFFSET) != 0 ? distance : at + distance;
            }
            // bounds that overlapped would make few bytes print without end
            if (at > end - bounds || bounds + at < behind) {
                throw Malformed.value("multirange", "bounds one after the other", "" + at, offset);
            }
            behind =
                    range.append(bytes, base, bounds + (int) at, end, bytes[flags + i] & 0xFF, out);
            if (out.length() - start > Malformed.TEXT_LIMIT) {
                throw Malformed.value("multirange", "a text below 1 GB", "more", offset);
            }
        }
    }
}
