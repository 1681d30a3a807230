package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/**
 * Types that identify rows and transactions, and the old vectors. Layouts:
 *
 * <pre>
 * tid         u16 block high, u16 block low, u16 offset
 * pg_snapshot payload: 0 u32 nxip, 4 u64 xmin, 12 u64 xmax, 20 u64 xip[nxip]
 * int2vector, oidvector: an array of one dimension
 * </pre>
 *
 * Source: {@code src/include/storage/itemptr.h}, {@code src/backend/utils/adt/xid8funcs.c},
 * PostgreSQL 15-18.
 */
final class IdentifierText {
    private static final int TID_LENGTH = 6;
    private static final int XMIN = 4;
    private static final int XMAX = XMIN + Long.BYTES;
    private static final int XIPS = XMAX + Long.BYTES;

    private IdentifierText() {}

    static void tid(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("tid", TID_LENGTH, bytes, offset, length);
        long block =
                (long) LittleEndian.getUnsignedShort(bytes, offset) << 16
                        | LittleEndian.getUnsignedShort(bytes, offset + 2);
        out.putByte('(');
        IntegerText.append(block, out);
        out.putByte(',');
        IntegerText.append(LittleEndian.getUnsignedShort(bytes, offset + 4), out);
        out.putByte(')');
    }

    static void snapshot(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("pg_snapshot", bytes, offset, length);
        int count = length < XIPS ? -1 : LittleEndian.getInt(bytes, offset);
        if (count < 0 || length != XIPS + (long) Long.BYTES * count) {
            throw Malformed.value(
                    "pg_snapshot", "as many xids as it says", length + " bytes", offset);
        }
        IntegerText.appendUnsigned(LittleEndian.getLong(bytes, offset + XMIN), out);
        out.putByte(':');
        IntegerText.appendUnsigned(LittleEndian.getLong(bytes, offset + XMAX), out);
        out.putByte(':');
        for (int i = 0; i < count; i++) {
            if (i > 0) {
                out.putByte(',');
            }
            IntegerText.appendUnsigned(
                    LittleEndian.getLong(bytes, offset + XIPS + Long.BYTES * i), out);
        }
    }

    /** int2vector and oidvector: their elements with spaces between. */
    static final class Vector implements ValueCodec {
        private final ArrayView view = new ArrayView();
        private final int width;
        private final ValueCodec element;

        Vector(int width, ValueCodec element) {
            this.width = width;
            this.element = element;
        }

        @Override
        public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
            view.wrap(bytes, offset, length);
            view.start(width, width == Short.BYTES ? 's' : 'i');
            boolean first = true;
            while (view.next()) {
                if (view.elementIsNull()) {
                    throw Malformed.value("vector", "no NULL inside", "one", offset);
                }
                if (!first) {
                    out.putByte(' ');
                }
                first = false;
                element.appendText(bytes, view.elementOffset(), view.elementLength(), out);
            }
        }
    }
}
