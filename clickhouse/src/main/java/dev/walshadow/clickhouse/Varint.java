package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;

/** ClickHouse's VarUInt: LEB128, seven bits a byte, the lowest first. */
final class Varint {
    /** Bytes that any value fits into. */
    static final int MAX_LENGTH = 5;

    private Varint() {}

    static void put(ByteBuilder out, int value) {
        int rest = value;
        while ((rest & ~0x7F) != 0) {
            out.putByte((rest & 0x7F) | 0x80);
            rest >>>= 7;
        }
        out.putByte(rest);
    }

    /**
     * @throws IndexOutOfBoundsException if it is cut off, or is not what {@link #put} makes of any
     *     length
     */
    static int get(byte[] bytes, int offset) {
        long value = 0;
        for (int i = 0; i < MAX_LENGTH; i++) {
            byte b = bytes[offset + i];
            value |= (b & 0x7FL) << (7 * i);
            if (b >= 0) {
                return checked(value, i + 1);
            }
        }
        throw new IndexOutOfBoundsException("a length of more than 31 bits");
    }

    /**
     * @param length bytes that {@code value} was read from
     */
    static int checked(long value, int length) {
        if (value > Integer.MAX_VALUE || length((int) value) != length) {
            throw new IndexOutOfBoundsException(
                    "a length of " + value + " in " + length + " bytes");
        }
        return (int) value;
    }

    /** Bytes that {@code value} takes. */
    static int length(int value) {
        return value == 0 ? 1 : (38 - Integer.numberOfLeadingZeros(value)) / 7;
    }
}
