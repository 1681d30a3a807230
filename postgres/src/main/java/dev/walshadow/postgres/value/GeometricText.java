package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/**
 * What the output functions of the geometric types print. A number is a float8; the layouts:
 *
 * <pre>
 * point   x, y                    line  A, B, C
 * lseg    2 points                box   high point, low point
 * circle  center point, radius
 * path    payload: 0 i32 npts, 4 i32 closed, 8 unused, 12 points
 * polygon payload: 0 i32 npts, 4 box (4 numbers), 36 points
 * </pre>
 *
 * Source: {@code src/include/utils/geo_decls.h}, {@code path_encode} in {@code
 * src/backend/utils/adt/geo_ops.c}, PostgreSQL 15-18.
 */
final class GeometricText {
    private static final int NUMBER = Double.BYTES;
    private static final int POINT = 2 * NUMBER;
    private static final int PATH_CLOSED = 4;
    private static final int PATH_POINTS = 12;
    private static final int POLYGON_POINTS = 36;

    private GeometricText() {}

    static void point(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("point", POINT, bytes, offset, length);
        appendPoint(bytes, offset, out);
    }

    static void line(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("line", 3 * NUMBER, bytes, offset, length);
        out.putByte('{');
        appendNumber(bytes, offset, out);
        out.putByte(',');
        appendNumber(bytes, offset + NUMBER, out);
        out.putByte(',');
        appendNumber(bytes, offset + 2 * NUMBER, out);
        out.putByte('}');
    }

    static void lseg(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("lseg", 2 * POINT, bytes, offset, length);
        out.putByte('[');
        appendPoints(bytes, offset, 2, out);
        out.putByte(']');
    }

    static void box(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("box", 2 * POINT, bytes, offset, length);
        appendPoints(bytes, offset, 2, out);
    }

    static void circle(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("circle", POINT + NUMBER, bytes, offset, length);
        out.putByte('<');
        appendPoint(bytes, offset, out);
        out.putByte(',');
        appendNumber(bytes, offset + POINT, out);
        out.putByte('>');
    }

    static void path(byte[] bytes, int offset, int length, ByteBuilder out) {
        int count = count("path", PATH_POINTS, bytes, offset, length);
        boolean closed = LittleEndian.getInt(bytes, offset + PATH_CLOSED) != 0;
        out.putByte(closed ? '(' : '[');
        appendPoints(bytes, offset + PATH_POINTS, count, out);
        out.putByte(closed ? ')' : ']');
    }

    static void polygon(byte[] bytes, int offset, int length, ByteBuilder out) {
        int count = count("polygon", POLYGON_POINTS, bytes, offset, length);
        out.putByte('(');
        appendPoints(bytes, offset + POLYGON_POINTS, count, out);
        out.putByte(')');
    }

    private static int count(String type, int points, byte[] bytes, int offset, int length) {
        Malformed.requireInside(type, bytes, offset, length);
        int count = length < points ? -1 : LittleEndian.getInt(bytes, offset);
        if (count < 0 || length != points + (long) POINT * count) {
            throw Malformed.value(type, "as many points as it says", length + " bytes", offset);
        }
        return count;
    }

    private static void appendPoints(byte[] bytes, int offset, int count, ByteBuilder out) {
        for (int i = 0; i < count; i++) {
            if (i > 0) {
                out.putByte(',');
            }
            appendPoint(bytes, offset + POINT * i, out);
        }
    }

    private static void appendPoint(byte[] bytes, int at, ByteBuilder out) {
        out.putByte('(');
        appendNumber(bytes, at, out);
        out.putByte(',');
        appendNumber(bytes, at + NUMBER, out);
        out.putByte(')');
    }

    private static void appendNumber(byte[] bytes, int at, ByteBuilder out) {
        FloatText.append(Double.longBitsToDouble(LittleEndian.getLong(bytes, at)), out);
    }
}
