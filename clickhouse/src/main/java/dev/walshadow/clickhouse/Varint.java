package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;

/** ClickHouse's VarUInt: LEB128, seven bits a byte, the lowest first. */
final class Varint {
    private Varint() {}

    static void put(ByteBuilder out, int value) {
        int rest = value;
        while ((rest & ~0x7F) != 0) {
            out.putByte((rest & 0x7F) | 0x80);
            rest >>>= 7;
        }
        out.putByte(rest);
    }

    static int get(byte[] bytes, int offset) {
        int value = 0;
        int shift = 0;
        int at = offset;
        while (true) {
            byte b = bytes[at++];
            value |= (b & 0x7F) << shift;
            if (b >= 0) {
                return value;
            }
            shift += 7;
        }
    }

    /** Bytes that {@code value} takes. */
    static int length(int value) {
        return value == 0 ? 1 : (38 - Integer.numberOfLeadingZeros(value)) / 7;
    }
}
