package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;

/**
 * What PostGIS prints for geometry and geography: EWKB in upper-case hex. A serialized geometry's
 * payload, versions 1 and 2:
 *
 * <pre>
 * 0 u8[3] SRID, the highest byte first, 21 bits with sign
 * 3 u8    flags: 0x01 Z, 0x02 M, 0x04 box, 0x08 geodetic, 0x40 version 2 (then 0x10: 8 bytes of
 *         further flags follow)
 * 4       box, if flagged: 2 f32 for each of its dimensions (3 if geodetic)
 *         the geometry: u32 type, u32 count, then by type
 *   point, line, circular string, triangle   count points of 2 to 4 f64
 *   polygon                                  u32 points of each ring, 4 bytes if the count is odd,
 *                                            then the points of all rings
 *   others                                   count geometries
 * </pre>
 *
 * Source: {@code liblwgeom/gserialized.txt}, {@code gserialized1.c}, {@code gserialized2.c}, {@code
 * lwout_wkb.c} of PostGIS 3. Recursion follows collections in collections, as PostGIS's own does.
 */
final class GeometryText {
    private static final int FLAGS = 3;
    private static final int BODY = 4;
    private static final int FLAG_Z = 0x01;
    private static final int FLAG_M = 0x02;
    private static final int FLAG_BOX = 0x04;
    private static final int FLAG_GEODETIC = 0x08;
    private static final int FLAG_EXTENDED = 0x10;
    private static final int FLAG_VERSION_2 = 0x40;

    private static final int POINT = 1;
    private static final int LINE = 2;
    private static final int POLYGON = 3;
    private static final int CIRCULAR_STRING = 8;
    private static final int POLYHEDRAL_SURFACE = 13;
    private static final int TRIANGLE = 14;
    private static final int TIN = 15;

    private static final int WKB_Z = 0x8000_0000;
    private static final int WKB_M = 0x4000_0000;
    private static final int WKB_SRID = 0x2000_0000;

    /** PostGIS refuses to read deeper ones. */
    private static final int DEPTH_LIMIT = 200;

    private static final byte[] HEX = {
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'
    };

    private final byte[] bytes;
    private final int end;
    private final int flags;
    private final int pointLength;
    private final ByteBuilder out;
    private int at;

    private GeometryText(byte[] bytes, int at, int end, int flags, ByteBuilder out) {
        this.bytes = bytes;
        this.at = at;
        this.end = end;
        this.flags = flags;
        this.pointLength = Double.BYTES * (2 + (flags & FLAG_Z) + ((flags & FLAG_M) == 0 ? 0 : 1));
        this.out = out;
    }

    static void geometry(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("geometry", bytes, offset, length);
        if (length < BODY + 2 * Integer.BYTES) {
            throw bad("12 bytes at least", length + " bytes", offset);
        }
        int flags = bytes[offset + FLAGS];
        int at = offset + BODY;
        if ((flags & (FLAG_VERSION_2 | FLAG_EXTENDED)) == (FLAG_VERSION_2 | FLAG_EXTENDED)) {
            at += Long.BYTES;
        }
        if ((flags & FLAG_BOX) != 0) {
            int dimensions =
                    (flags & FLAG_GEODETIC) != 0
                            ? 3
                            : 2 + (flags & FLAG_Z) + ((flags & FLAG_M) == 0 ? 0 : 1);
            at += 2 * Float.BYTES * dimensions;
        }
        new GeometryText(bytes, at, offset + length, flags, out).append(srid(bytes, offset), 0);
    }

    private static int srid(byte[] bytes, int offset) {
        int raw =
                (bytes[offset] & 0xFF) << 16
                        | (bytes[offset + 1] & 0xFF) << 8
                        | (bytes[offset + 2] & 0xFF);
        return raw << 11 >> 11;
    }

    /**
     * @param srid 0 for none; parts of a geometry have none of their own
     */
    private void append(int srid, int depth) {
        int type = number();
        int count = number();
        if (depth > DEPTH_LIMIT || count < 0) {
            throw bad("a geometry", "type " + type + " with " + count + " parts", at);
        }
        appendHex(1);
        appendNumber(
                wkbType(type)
                        | ((flags & FLAG_Z) != 0 ? WKB_Z : 0)
                        | ((flags & FLAG_M) != 0 ? WKB_M : 0)
                        | (srid != 0 ? WKB_SRID : 0));
        if (srid != 0) {
            appendNumber(srid);
        }
        switch (type) {
            case POINT -> appendPoint(count);
            case LINE, CIRCULAR_STRING -> {
                appendNumber(count);
                appendPoints(count);
            }
            case TRIANGLE -> {
                appendNumber(count == 0 ? 0 : 1);
                if (count > 0) {
                    appendNumber(count);
                    appendPoints(count);
                }
            }
            case POLYGON -> appendPolygon(count);
            default -> {
                if (count > (end - at) / (2 * Integer.BYTES)) {
                    throw bad("parts inside the value", "" + count, at);
                }
                appendNumber(count);
                for (int i = 0; i < count; i++) {
                    append(0, depth + 1);
                }
            }
        }
    }

    private static int wkbType(int type) {
        return switch (type) {
            case POLYHEDRAL_SURFACE -> 15;
            case TIN -> 16;
            case TRIANGLE -> 17;
            default -> {
                if (type < POINT || type > TIN) {
                    throw bad("a geometry type of 1 to 15", "" + type, 0);
                }
                yield type;
            }
        };
    }

    /** An empty point has NaN for each of its numbers. */
    private void appendPoint(int count) {
        if (count == 0) {
            for (int i = 0; i < pointLength; i += Double.BYTES) {
                appendNumber(0);
                appendNumber(0x7FF8_0000);
            }
        } else {
            appendPoints(1);
        }
    }

    private void appendPolygon(int rings) {
        if (rings > (end - at) / Integer.BYTES) {
            throw bad("rings inside the value", "" + rings, at);
        }
        appendNumber(rings);
        int counts = at;
        at += Integer.BYTES * (rings + (rings & 1));
        for (int i = 0; i < rings; i++) {
            int count = LittleEndian.getInt(bytes, counts + Integer.BYTES * i);
            appendNumber(count);
            appendPoints(count);
        }
    }

    private void appendPoints(int count) {
        if (count < 0 || (long) count * pointLength > end - at) {
            throw bad("points inside the value", "" + count, at);
        }
        int length = count * pointLength;
        out.ensure(2 * length);
        for (int i = 0; i < length; i++) {
            appendHex(bytes[at + i]);
        }
        at += length;
    }

    private int number() {
        if (end - at < Integer.BYTES) {
            throw bad("a number inside the value", "its end", at);
        }
        int value = LittleEndian.getInt(bytes, at);
        at += Integer.BYTES;
        return value;
    }

    private void appendNumber(int value) {
        for (int i = 0; i < Integer.BYTES; i++) {
            appendHex(value >>> (Byte.SIZE * i));
        }
    }

    private void appendHex(int value) {
        out.putByte(HEX[(value >>> 4) & 15]);
        out.putByte(HEX[value & 15]);
    }

    private static QuarantineException bad(String expected, String found, int offset) {
        return Malformed.value("geometry", expected, found, offset);
    }
}
