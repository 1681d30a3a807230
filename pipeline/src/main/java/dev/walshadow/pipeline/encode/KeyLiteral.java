package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.Ddl;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.UUID;

/**
 * Key values from RowBinary to SQL: literals, or constant expressions where a literal is not exact.
 */
final class KeyLiteral {
    private static final byte[] HEX = "0123456789ABCDEF".getBytes(StandardCharsets.US_ASCII);

    private KeyLiteral() {}

    /** Appends the value at {@code at}; returns the offset behind it. */
    static int append(ClickHouseType type, byte[] bytes, int at, ByteBuilder out) {
        return switch (type) {
            case Scalar scalar -> scalar(scalar, bytes, at, out);
            case ClickHouseType.Decimal decimal -> decimal(decimal, bytes, at, out);
            case ClickHouseType.Time64 _ -> {
                out.putAscii("toTime64('" + time(LittleEndian.getLong(bytes, at)) + "',6)");
                yield at + Long.BYTES;
            }
            case ClickHouseType.Enumeration enumeration -> {
                out.putAscii("CAST(" + LittleEndian.getShort(bytes, at) + ",");
                out.putBytes(Ddl.literal(enumeration.print()).getBytes(StandardCharsets.UTF_8));
                out.putByte(')');
                yield at + Short.BYTES;
            }
            default -> throw new IllegalArgumentException("no key type: " + type.print());
        };
    }

    private static String time(long micros) {
        long seconds = micros / 1_000_000;
        return String.format(
                Locale.ROOT,
                "%02d:%02d:%02d.%06d",
                seconds / 3600,
                seconds / 60 % 60,
                seconds % 60,
                micros % 1_000_000);
    }

    private static int scalar(Scalar type, byte[] bytes, int at, ByteBuilder out) {
        switch (type) {
            case BOOL -> out.putAscii(bytes[at] == 0 ? "false" : "true");
            case INT16 -> out.putAscii(Short.toString(LittleEndian.getShort(bytes, at)));
            case INT32 -> out.putAscii(Integer.toString(LittleEndian.getInt(bytes, at)));
            case INT64 -> out.putAscii(Long.toString(LittleEndian.getLong(bytes, at)));
            case UINT32 -> out.putAscii(Long.toString(LittleEndian.getUnsignedInt(bytes, at)));
            case UINT64 -> out.putAscii(Long.toUnsignedString(LittleEndian.getLong(bytes, at)));
            case FLOAT32 ->
                    out.putAscii(
                            "reinterpretAsFloat32(toUInt32("
                                    + LittleEndian.getUnsignedInt(bytes, at)
                                    + "))");
            case FLOAT64 ->
                    out.putAscii(
                            "reinterpretAsFloat64(toUInt64("
                                    + Long.toUnsignedString(LittleEndian.getLong(bytes, at))
                                    + "))");
            case UUID ->
                    out.putAscii(
                            "toUUID('"
                                    + new UUID(
                                            LittleEndian.getLong(bytes, at),
                                            LittleEndian.getLong(bytes, at + Long.BYTES))
                                    + "')");
            case STRING -> {
                return string(bytes, at, out);
            }
            default -> throw new IllegalArgumentException("no key type: " + type.print());
        }
        return at + type.width();
    }

    private static int decimal(ClickHouseType.Decimal type, byte[] bytes, int at, ByteBuilder out) {
        byte[] bigEndian = new byte[type.width()];
        for (int i = 0; i < bigEndian.length; i++) {
            bigEndian[i] = bytes[at + bigEndian.length - 1 - i];
        }
        BigDecimal value = new BigDecimal(new BigInteger(bigEndian), type.scale());
        out.putAscii(
                "toDecimal"
                        + type.width() * Byte.SIZE
                        + "('"
                        + value.toPlainString()
                        + "',"
                        + type.scale()
                        + ")");
        return at + type.width();
    }

    /** Quoted; every byte that is not plain ASCII as {@code \xHH}. */
    private static int string(byte[] bytes, int at, ByteBuilder out) {
        int length = 0;
        int shift = 0;
        int start = at;
        byte b;
        do {
            b = bytes[start++];
            length |= (b & 0x7F) << shift;
            shift += 7;
        } while (b < 0);
        out.putByte('\'');
        for (int i = start; i < start + length; i++) {
            int c = bytes[i] & 0xFF;
            if (c < ' ' || c > '~' || c == '\'' || c == '\\') {
                out.putAscii("\\x");
                out.putByte(HEX[c >>> 4]);
                out.putByte(HEX[c & 0xF]);
            } else {
                out.putByte(c);
            }
        }
        out.putByte('\'');
        return start + length;
    }
}
