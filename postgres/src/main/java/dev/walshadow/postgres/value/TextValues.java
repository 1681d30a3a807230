package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/** The types whose text is what is stored, or nearly so: the text family, bytea, uuid, bits. */
final class TextValues {
    private static final byte[] HEX = {
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'
    };
    private static final int UUID_LENGTH = 16;

    private TextValues() {}

    /** text, varchar, bpchar (its padding included), json, citext. */
    static void text(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("text", bytes, offset, length);
        out.putBytes(bytes, offset, length);
    }

    /** A name or C string: up to its terminator. */
    static void name(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("name", bytes, offset, length);
        int end = offset;
        while (end < offset + length && bytes[end] != 0) {
            end++;
        }
        out.putBytes(bytes, offset, end - offset);
    }

    /** "char": nothing for a zero byte, a byte above 127 in octal. */
    static void singleByte(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("\"char\"", 1, bytes, offset, length);
        int value = bytes[offset] & 0xFF;
        if (value > 127) {
            out.putByte('\\');
            out.putByte('0' + (value >>> 6));
            out.putByte('0' + (value >>> 3 & 7));
            out.putByte('0' + (value & 7));
        } else if (value != 0) {
            out.putByte(value);
        }
    }

    static void bytea(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("bytea", bytes, offset, length);
        if (length > (Integer.MAX_VALUE - 64) / 2) {
            throw Malformed.value("bytea", "less than 1 GB", length + " bytes", offset);
        }
        out.putByte('\\');
        out.putByte('x');
        appendHex(bytes, offset, length, out);
    }

    static void uuid(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("uuid", UUID_LENGTH, bytes, offset, length);
        appendHex(bytes, offset, 4, out);
        for (int at = 4; at < 10; at += 2) {
            out.putByte('-');
            appendHex(bytes, offset + at, 2, out);
        }
        out.putByte('-');
        appendHex(bytes, offset + 10, 6, out);
    }

    /** macaddr and macaddr8: hexadecimal bytes with colons. */
    static void macaddr(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("macaddr", bytes, offset, length);
        if (length != 6 && length != 8) {
            throw Malformed.value("macaddr", "6 or 8 bytes", length + " bytes", offset);
        }
        for (int i = 0; i < length; i++) {
            if (i > 0) {
                out.putByte(':');
            }
            appendHex(bytes, offset + i, 1, out);
        }
    }

    static void appendHex(byte[] bytes, int offset, int count, ByteBuilder out) {
        out.ensure(2 * count);
        byte[] array = out.array();
        int at = out.length();
        for (int i = offset; i < offset + count; i++) {
            array[at++] = HEX[bytes[i] >>> 4 & 15];
            array[at++] = HEX[bytes[i] & 15];
        }
        out.setLength(at);
    }

    /** bit and varbit: u32 number of bits, then the bits, the highest of each byte first. */
    static void bits(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("bit", bytes, offset, length);
        int count = length < 4 ? -1 : LittleEndian.getInt(bytes, offset);
        if (count < 0 || (count + 7L) / 8 > length - 4) {
            throw Malformed.value("bit", "its bits", count + " in " + length + " bytes", offset);
        }
        out.ensure(count);
        byte[] array = out.array();
        int at = out.length();
        for (int i = 0; i < count; i++) {
            int bit = bytes[offset + 4 + (i >>> 3)] >>> (7 - (i & 7)) & 1;
            array[at++] = (byte) ('0' + bit);
        }
        out.setLength(at);
    }
}
