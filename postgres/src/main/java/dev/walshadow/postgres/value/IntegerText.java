package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/** Integers and bool, as text. */
public final class IntegerText {
    static final long[] POWERS_OF_TEN = new long[19];

    static {
        POWERS_OF_TEN[0] = 1;
        for (int i = 1; i < POWERS_OF_TEN.length; i++) {
            POWERS_OF_TEN[i] = POWERS_OF_TEN[i - 1] * 10;
        }
    }

    private IntegerText() {}

    /** Appends a signed number. */
    public static void append(long value, ByteBuilder out) {
        if (value < 0) {
            out.putByte('-');
            value = -value; // Long.MIN_VALUE stays itself and is right as an unsigned number
        }
        appendUnsigned(value, out);
    }

    /** Appends a number of 0 to 2^64 - 1. */
    public static void appendUnsigned(long value, ByteBuilder out) {
        if (value < 0) {
            long head = Long.divideUnsigned(value, 10);
            appendUnsigned(head, out);
            out.putByte('0' + (int) (value - head * 10));
            return;
        }
        appendPadded(value, digits(value), out);
    }

    /** Appends the lowest {@code width} digits of a number of 0 to 2^63 - 1, zeros in front. */
    static void appendPadded(long value, int width, ByteBuilder out) {
        out.ensure(width);
        byte[] array = out.array();
        int start = out.length();
        for (int at = start + width - 1; at >= start; at--) {
            long head = value / 10;
            array[at] = (byte) ('0' + (int) (value - head * 10));
            value = head;
        }
        out.setLength(start + width);
    }

    /** How many decimal digits a number of 0 to 2^63 - 1 has; 1 for 0. */
    static int digits(long value) {
        int count = 1;
        while (count < POWERS_OF_TEN.length && value >= POWERS_OF_TEN[count]) {
            count++;
        }
        return count;
    }

    static void bool(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("bool", 1, bytes, offset, length);
        out.putByte(bytes[offset] != 0 ? 't' : 'f');
    }

    static void int2(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("int2", 2, bytes, offset, length);
        append(LittleEndian.getShort(bytes, offset), out);
    }

    static void int4(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("int4", 4, bytes, offset, length);
        append(LittleEndian.getInt(bytes, offset), out);
    }

    static void int8(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("int8", 8, bytes, offset, length);
        append(LittleEndian.getLong(bytes, offset), out);
    }

    /** oid, xid, cid. */
    static void unsignedInt4(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("unsigned 4-byte", 4, bytes, offset, length);
        append(LittleEndian.getUnsignedInt(bytes, offset), out);
    }

    /** xid8. */
    static void unsignedInt8(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("unsigned 8-byte", 8, bytes, offset, length);
        appendUnsigned(LittleEndian.getLong(bytes, offset), out);
    }
}
