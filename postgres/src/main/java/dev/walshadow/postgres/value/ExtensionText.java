package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/**
 * What the output functions of ltree and cube print. Payloads:
 *
 * <pre>
 * ltree 0 u16 numlevel, 2 unused, 4 levels: u16 length, bytes, each padded to a multiple of 8
 * cube  0 u32 dimensions | is a point 0x80000000, 4 f64 lower corner, f64 upper corner
 * </pre>
 *
 * Source: {@code contrib/ltree/ltree.h}, {@code contrib/cube/cubedata.h}, PostgreSQL 15-18.
 */
final class ExtensionText {
    private static final int LEVELS = 4;
    private static final int CUBE_NUMBERS = 4;
    private static final int CUBE_POINT = 0x8000_0000;

    private ExtensionText() {}

    static void ltree(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("ltree", bytes, offset, length);
        if (length < LEVELS) {
            throw Malformed.value("ltree", "4 bytes at least", length + " bytes", offset);
        }
        int count = LittleEndian.getUnsignedShort(bytes, offset);
        int end = offset + length;
        int at = offset + LEVELS;
        for (int i = 0; i < count; i++) {
            int size = end - at < Short.BYTES ? -1 : LittleEndian.getUnsignedShort(bytes, at);
            if (size < 0 || size > end - at - Short.BYTES) {
                throw Malformed.value("ltree", "level " + i + " inside the value", "its end", at);
            }
            if (i > 0) {
                out.putByte('.');
            }
            out.putBytes(bytes, at + Short.BYTES, size);
            at += size + Short.BYTES + 7 & ~7;
        }
    }

    static void cube(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("cube", bytes, offset, length);
        int header = length < CUBE_NUMBERS ? -1 : LittleEndian.getInt(bytes, offset);
        int count = header & ~CUBE_POINT;
        boolean flagged = (header & CUBE_POINT) != 0;
        long numbers = flagged ? count : 2L * count;
        if (length < CUBE_NUMBERS || length != CUBE_NUMBERS + Double.BYTES * numbers) {
            throw Malformed.value("cube", "as many numbers as it says", length + " bytes", offset);
        }
        int lower = offset + CUBE_NUMBERS;
        appendCorner(bytes, lower, count, out);
        if (!flagged && !isPoint(bytes, lower, count)) {
            out.putByte(',');
            appendCorner(bytes, lower + Double.BYTES * count, count, out);
        }
    }

    private static boolean isPoint(byte[] bytes, int lower, int count) {
        for (int i = 0; i < count; i++) {
            double low = number(bytes, lower, i);
            if (low != number(bytes, lower, count + i)) {
                return false;
            }
        }
        return true;
    }

    private static double number(byte[] bytes, int at, int index) {
        return Double.longBitsToDouble(LittleEndian.getLong(bytes, at + Double.BYTES * index));
    }

    private static void appendCorner(byte[] bytes, int at, int count, ByteBuilder out) {
        out.putByte('(');
        for (int i = 0; i < count; i++) {
            if (i > 0) {
                out.putAscii(", ");
            }
            FloatText.append(number(bytes, at, i), out);
        }
        out.putByte(')');
    }
}
