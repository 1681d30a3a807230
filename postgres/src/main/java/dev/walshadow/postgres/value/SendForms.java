package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import org.jspecify.annotations.Nullable;

/**
 * Send forms of the built-in types; all numbers in them are big-endian.
 *
 * <pre>
 * bool, "char", uuid, macaddr, macaddr8,
 *   bytea, text and its family, json        the stored bytes
 * int2/4/8, oid, xid, xid8, money, pg_lsn,
 *   date, time, timestamp, floats,
 *   regclass and its family                 one number
 * timetz                                    i64 microseconds, i32 seconds west of UTC
 * interval                                  i64 microseconds, i32 days, i32 months
 * name                                      up to 63 bytes; stored in 64
 * bit, varbit                               i32 number of bits, then the bits
 * inet, cidr                                u8 family, u8 bits, u8 is cidr, u8 n, then n bytes
 * jsonb                                     u8 1, then its text
 * numeric                                   {@link NumericLayout}
 * hstore                                    i32 count, then i32 length and bytes of key and value,
 *                                           length -1 for NULL
 * vector, halfvec                           i16 count, i16 0, then the numbers
 * </pre>
 *
 * Source: the {@code *send} functions in {@code src/backend/utils/adt}, PostgreSQL 15-18.
 */
public final class SendForms {
    private static final int NAME_LENGTH = 64;
    private static final int INET_HEADER = 4;
    private static final int JSONB_VERSION = 1;

    private SendForms() {}

    /** Of a built-in scalar type, or null if its stored form cannot be had from its send form. */
    public static @Nullable SendForm builtin(int typeOid) {
        return switch (typeOid) {
            case TypeOid.BOOL, TypeOid.CHAR -> fixed("bool or \"char\"", 1);
            case TypeOid.INT2 -> SendForms::number2;
            case TypeOid.INT4,
                    TypeOid.OID,
                    TypeOid.XID,
                    TypeOid.CID,
                    TypeOid.FLOAT4,
                    TypeOid.DATE,
                    TypeOid.REGPROC,
                    TypeOid.REGPROCEDURE,
                    TypeOid.REGOPER,
                    TypeOid.REGOPERATOR,
                    TypeOid.REGCLASS,
                    TypeOid.REGTYPE,
                    TypeOid.REGCONFIG,
                    TypeOid.REGDICTIONARY,
                    TypeOid.REGNAMESPACE,
                    TypeOid.REGROLE,
                    TypeOid.REGCOLLATION ->
                    SendForms::number4;
            case TypeOid.INT8,
                    TypeOid.XID8,
                    TypeOid.FLOAT8,
                    TypeOid.MONEY,
                    TypeOid.PG_LSN,
                    TypeOid.TIME,
                    TypeOid.TIMESTAMP,
                    TypeOid.TIMESTAMPTZ ->
                    SendForms::number8;
            case TypeOid.TIMETZ -> SendForms::timetz;
            case TypeOid.INTERVAL -> SendForms::interval;
            case TypeOid.UUID -> fixed("uuid", 16);
            case TypeOid.MACADDR -> fixed("macaddr", 6);
            case TypeOid.MACADDR8 -> fixed("macaddr8", 8);
            case TypeOid.BYTEA, TypeOid.TEXT, TypeOid.VARCHAR, TypeOid.BPCHAR, TypeOid.JSON ->
                    SendForms::asItIs;
            case TypeOid.NAME -> SendForms::name;
            case TypeOid.BIT, TypeOid.VARBIT -> SendForms::bits;
            case TypeOid.INET, TypeOid.CIDR -> SendForms::inet;
            case TypeOid.NUMERIC -> NumericLayout::appendSent;
            default -> null;
        };
    }

    /** Of an extension's type by its name, or null. */
    public static @Nullable SendForm byName(String typeName) {
        return switch (typeName) {
            case "citext" -> SendForms::asItIs;
            case "hstore" -> SendForms::hstore;
            case "vector" -> vector(Float.BYTES);
            case "halfvec" -> vector(Short.BYTES);
            default -> null;
        };
    }

    /** Sent as text already: what is appended is a text's stored form. */
    public static SendForm text() {
        return SendForms::asItIs;
    }

    /** Of jsonb, whose stored form cannot be had: what is appended is a text's stored form. */
    public static SendForm jsonbAsText() {
        return (bytes, offset, length, out) -> {
            Malformed.requireInside("jsonb", bytes, offset, length);
            if (length < 1 || bytes[offset] != JSONB_VERSION) {
                throw Malformed.value("sent jsonb", "version 1", length + " bytes", offset);
            }
            out.putBytes(bytes, offset + 1, length - 1);
        };
    }

    /** Of an array whose elements have that form, typlen and typalign. */
    public static SendForm array(SendForm element, int elementLength, char elementAlignment) {
        return new ArraySendForm(element, elementLength, elementAlignment);
    }

    private static SendForm fixed(String type, int expected) {
        return (bytes, offset, length, out) -> {
            Malformed.requireLength(type, expected, bytes, offset, length);
            out.putBytes(bytes, offset, length);
        };
    }

    private static void asItIs(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("text", bytes, offset, length);
        out.putBytes(bytes, offset, length);
    }

    private static void number2(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("2-byte number", 2, bytes, offset, length);
        out.putShort(short2(bytes, offset));
    }

    private static void number4(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("4-byte number", 4, bytes, offset, length);
        out.putInt(int4(bytes, offset));
    }

    private static void number8(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("8-byte number", 8, bytes, offset, length);
        out.putLong(int8(bytes, offset));
    }

    private static void timetz(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("timetz", 12, bytes, offset, length);
        out.putLong(int8(bytes, offset));
        out.putInt(int4(bytes, offset + 8));
    }

    private static void interval(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("interval", 16, bytes, offset, length);
        out.putLong(int8(bytes, offset));
        out.putInt(int4(bytes, offset + 8));
        out.putInt(int4(bytes, offset + 12));
    }

    private static void name(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("name", bytes, offset, length);
        if (length >= NAME_LENGTH) {
            throw Malformed.value("name", "at most 63 bytes", length + " bytes", offset);
        }
        out.putBytes(bytes, offset, length);
        out.putZeros(NAME_LENGTH - length);
    }

    private static void bits(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("bit", bytes, offset, length);
        int count = length < 4 ? -1 : int4(bytes, offset);
        if (count < 0 || (count + 7L) / 8 != length - 4) {
            throw Malformed.value("bit", "its bits", count + " in " + length + " bytes", offset);
        }
        out.putInt(count);
        out.putBytes(bytes, offset + 4, length - 4);
    }

    private static void inet(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("inet", bytes, offset, length);
        if (length < INET_HEADER || (bytes[offset + 3] & 0xFF) != length - INET_HEADER) {
            throw Malformed.value("inet", "its address", length + " bytes", offset);
        }
        out.putBytes(bytes, offset, 2);
        out.putBytes(bytes, offset + INET_HEADER, length - INET_HEADER);
    }

    private static void hstore(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("hstore", bytes, offset, length);
        int count = length < Integer.BYTES ? -1 : int4(bytes, offset);
        if (count < 0 || count > (length - Integer.BYTES) / (2 * Integer.BYTES)) {
            throw Malformed.value("sent hstore", "its pairs", "" + count, offset);
        }
        int end = offset + length;
        int start = out.length();
        out.putInt(count | HstoreView.NEW_VERSION);
        out.putZeros(2 * Integer.BYTES * count);
        int strings = out.length();
        int at = offset + Integer.BYTES;
        for (int i = 0; i < 2 * count; i++) {
            int size = end - at < Integer.BYTES ? Integer.MAX_VALUE : int4(bytes, at);
            boolean isNull = size == -1 && (i & 1) == 1;
            if (!isNull && (size < 0 || size > end - at - Integer.BYTES)) {
                throw Malformed.value("sent hstore", "texts inside the value", "" + size, at);
            }
            at += Integer.BYTES;
            int entry = i == 0 ? HstoreView.ENTRY_FIRST : 0;
            if (isNull) {
                entry |= HstoreView.ENTRY_NULL;
            } else {
                out.putBytes(bytes, at, size);
                at += size;
            }
            LittleEndian.putInt(
                    out.array(), start + Integer.BYTES * (i + 1), entry | (out.length() - strings));
        }
        if (at != end) {
            throw Malformed.value("sent hstore", "the end", (end - at) + " more bytes", at);
        }
    }

    private static SendForm vector(int width) {
        return (bytes, offset, length, out) -> {
            Malformed.requireInside("vector", bytes, offset, length);
            int count = length < VectorText.ELEMENTS ? -1 : short2(bytes, offset);
            if (count < 0 || length != VectorText.ELEMENTS + count * width) {
                throw Malformed.value("sent vector", "its numbers", length + " bytes", offset);
            }
            out.putShort(count);
            out.putShort(0);
            for (int at = offset + VectorText.ELEMENTS; at < offset + length; at += width) {
                if (width == Float.BYTES) {
                    out.putInt(int4(bytes, at));
                } else {
                    out.putShort(short2(bytes, at));
                }
            }
        };
    }

    static short short2(byte[] bytes, int offset) {
        return Short.reverseBytes(LittleEndian.getShort(bytes, offset));
    }

    static int int4(byte[] bytes, int offset) {
        return Integer.reverseBytes(LittleEndian.getInt(bytes, offset));
    }

    static long int8(byte[] bytes, int offset) {
        return Long.reverseBytes(LittleEndian.getLong(bytes, offset));
    }
}
