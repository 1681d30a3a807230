package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;

/**
 * The payload of a numeric.
 *
 * <pre>
 * u16 header, by its two highest bits
 *   10  short: sign 0x2000, dscale 0x1F80 &gt;&gt; 7, weight as a signed 7-bit number 0x007F
 *   11  special: 0xC000 NaN, 0xD000 Infinity, 0xF000 -Infinity (mask 0xF000); nothing follows
 *   00  long, positive: dscale 0x3FFF, then i16 weight
 *   01  long, negative: dscale 0x3FFF, then i16 weight
 * i16 digits of base 10000: value = sum of digit[i] * 10000^(weight - i)
 * </pre>
 *
 * Its send form, big-endian:
 *
 * <pre>
 * u16 number of digits, i16 weight,
 * u16 0 positive, 0x4000 negative, 0xC000 NaN, 0xD000 Infinity, 0xF000 -Infinity,
 * u16 dscale, i16 digits of base 10000
 * </pre>
 *
 * Source: {@code NumericData}, {@code numeric_send} and {@code make_result_opt_error} in {@code
 * src/backend/utils/adt/numeric.c}, PostgreSQL 15-18.
 */
final class NumericLayout {
    static final int BASE = 10_000;
    static final int BASE_DIGITS = 4;

    private static final int FLAG_BITS = 0xC000;
    private static final int SHORT = 0x8000;
    private static final int LONG_NEGATIVE = 0x4000;
    private static final int SPECIAL = 0xC000;
    private static final int SPECIAL_MASK = 0xF000;
    private static final int SPECIAL_POSITIVE_INFINITY = 0xD000;
    private static final int SPECIAL_NEGATIVE_INFINITY = 0xF000;

    /** What a short header holds: NUMERIC_CAN_BE_SHORT. */
    private static final int SHORT_SCALE_MAX = 0x3F;

    private static final int SHORT_WEIGHT_MAX = 0x3F;
    private static final int SHORT_WEIGHT_MIN = -0x40;
    private static final int LONG_SCALE_MASK = 0x3FFF;
    private static final int SENT_HEADER = 8;

    private NumericLayout() {}

    /** Appends the payload that PostgreSQL makes of a send form. */
    static void appendSent(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("numeric", bytes, offset, length);
        int count = length < SENT_HEADER ? -1 : SendForms.short2(bytes, offset) & 0xFFFF;
        if (count < 0 || length != SENT_HEADER + 2 * count) {
            throw malformed("its digits", count + " in " + length + " bytes", offset);
        }
        int sign = SendForms.short2(bytes, offset + 4) & 0xFFFF;
        if (sign != 0 && sign != LONG_NEGATIVE) {
            if ((sign & FLAG_BITS) != SPECIAL || count != 0) {
                throw malformed("a sign", "0x" + Integer.toHexString(sign), offset);
            }
            out.putShort(sign);
            return;
        }
        int weight = SendForms.short2(bytes, offset + 2);
        int scale = SendForms.short2(bytes, offset + 6) & 0xFFFF;
        if (scale > LONG_SCALE_MASK) {
            throw malformed("a scale up to 16383", "" + scale, offset);
        }
        if (scale <= SHORT_SCALE_MAX && weight <= SHORT_WEIGHT_MAX && weight >= SHORT_WEIGHT_MIN) {
            out.putShort(SHORT | sign >>> 1 | scale << 7 | (weight & 0x7F));
        } else {
            out.putShort(sign | scale);
            out.putShort(weight);
        }
        for (int i = 0; i < count; i++) {
            out.putShort(SendForms.short2(bytes, offset + SENT_HEADER + 2 * i));
        }
    }

    /** Reads the header word of a payload whose bounds it checks. */
    static int header(byte[] bytes, int offset, int length) {
        Malformed.requireInside("numeric", bytes, offset, length);
        if (length < 2 || (length & 1) != 0) {
            throw malformed("an even number of bytes, at least 2", length + " bytes", offset);
        }
        int header = LittleEndian.getUnsignedShort(bytes, offset);
        if ((header & SHORT) == 0 && length < 4) {
            throw malformed("a 4-byte header", length + " bytes", offset);
        }
        return header;
    }

    static boolean isSpecial(int header) {
        return (header & FLAG_BITS) == SPECIAL;
    }

    static boolean isPositiveInfinity(int header) {
        return (header & SPECIAL_MASK) == SPECIAL_POSITIVE_INFINITY;
    }

    static boolean isNegativeInfinity(int header) {
        return (header & SPECIAL_MASK) == SPECIAL_NEGATIVE_INFINITY;
    }

    static int headerLength(int header) {
        return (header & SHORT) != 0 ? 2 : 4;
    }

    static boolean isNegative(int header) {
        return (header & SHORT) != 0
                ? (header & 0x2000) != 0
                : (header & FLAG_BITS) == LONG_NEGATIVE;
    }

    static int displayScale(int header) {
        return (header & SHORT) != 0 ? (header & 0x1F80) >>> 7 : header & 0x3FFF;
    }

    static int weight(int header, byte[] bytes, int offset) {
        return (header & SHORT) != 0
                ? (header & 0x3F) - (header & 0x40)
                : LittleEndian.getShort(bytes, offset + 2);
    }

    /** The base-10000 digit at {@code at}. */
    static int digit(byte[] bytes, int at) {
        int digit = LittleEndian.getUnsignedShort(bytes, at);
        if (digit >= BASE) {
            throw malformed("digits below 10000", "" + digit, at);
        }
        return digit;
    }

    private static QuarantineException malformed(String expected, String found, int offset) {
        return Malformed.value("numeric", expected, found, offset);
    }
}
