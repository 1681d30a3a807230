package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import org.jspecify.annotations.Nullable;

/**
 * The value of rows older than their column ({@link MissingValue}) as a constant expression, so
 * that ClickHouse shows in them bit by bit what a decoded row of that age would bring.
 */
public final class MissingLiteral {
    private MissingLiteral() {}

    /**
     * The expression, or null where it is ClickHouse's own default (NULL, an empty array).
     *
     * @throws dev.walshadow.base.QuarantineException if the value cannot be read as the column's
     *     type
     */
    public static @Nullable String of(ColumnMapping column, AttributeDescriptor attribute) {
        String text = attribute.missingValue();
        if (text == null && column.transform() == null) {
            return null;
        }
        byte[] bytes = MissingValue.of(column, MissingValue.delimiter(column), text);
        ByteBuilder out = new ByteBuilder(64);
        append(column.type(), bytes, 0, out);
        String value = new String(out.toByteArray(), StandardCharsets.UTF_8);
        if (value.equals("NULL") || value.equals("[]") || value.equals("map()")) {
            return null;
        }
        return column.type() instanceof ClickHouseType.Array
                        || column.type() instanceof ClickHouseType.Map
                ? "CAST(" + value + ", " + Ddl.literal(column.type().print()) + ")"
                : value;
    }

    /** Returns the offset behind the value. */
    private static int append(ClickHouseType type, byte[] bytes, int at, ByteBuilder out) {
        return switch (type) {
            case ClickHouseType.Nullable nullable -> {
                if (bytes[at] != 0) {
                    out.putAscii("NULL");
                    yield at + 1;
                }
                yield append(nullable.inner(), bytes, at + 1, out);
            }
            case ClickHouseType.LowCardinality low -> append(low.inner(), bytes, at, out);
            case ClickHouseType.Array array -> array(array.element(), bytes, at, out);
            case ClickHouseType.Map map -> map(map, bytes, at, out);
            case ClickHouseType.DateTime64 _ -> {
                ticks(LittleEndian.getLong(bytes, at), type, out);
                yield at + Long.BYTES;
            }
            case ClickHouseType.Enumeration enumeration -> {
                boolean small = enumeration.bits() == Byte.SIZE;
                int number = small ? bytes[at] : LittleEndian.getShort(bytes, at);
                out.putAscii("CAST(toInt16(" + number + "), ");
                out.putBytes(Ddl.literal(type.print()).getBytes(StandardCharsets.UTF_8));
                out.putAscii(")");
                yield at + enumeration.bits() / Byte.SIZE;
            }
            default -> {
                if (type == ClickHouseType.Scalar.DATE32) {
                    LocalDate day = LocalDate.ofEpochDay(LittleEndian.getInt(bytes, at));
                    out.putAscii("toDate32('" + day + "')");
                    yield at + Integer.BYTES;
                }
                yield KeyLiteral.append(type, bytes, at, out);
            }
        };
    }

    private static void ticks(long ticks, ClickHouseType type, ByteBuilder out) {
        out.putAscii("reinterpret(toInt64(" + ticks + "), " + Ddl.literal(type.print()) + ")");
    }

    private static int array(ClickHouseType element, byte[] bytes, int at, ByteBuilder out) {
        int count = count(bytes, at);
        int next = behindCount(bytes, at);
        out.putByte('[');
        for (int i = 0; i < count; i++) {
            if (i > 0) {
                out.putByte(',');
            }
            next = append(element, bytes, next, out);
        }
        out.putByte(']');
        return next;
    }

    private static int map(ClickHouseType.Map type, byte[] bytes, int at, ByteBuilder out) {
        int count = count(bytes, at);
        int next = behindCount(bytes, at);
        out.putAscii("map(");
        for (int i = 0; i < count; i++) {
            if (i > 0) {
                out.putByte(',');
            }
            next = append(type.key(), bytes, next, out);
            out.putByte(',');
            next = append(type.value(), bytes, next, out);
        }
        out.putByte(')');
        return next;
    }

    /** RowBinary's LEB128. */
    private static int count(byte[] bytes, int at) {
        int count = 0;
        int shift = 0;
        int next = at;
        byte b;
        do {
            b = bytes[next++];
            count |= (b & 0x7F) << shift;
            shift += 7;
        } while (b < 0);
        return count;
    }

    private static int behindCount(byte[] bytes, int at) {
        int next = at;
        while (bytes[next] < 0) {
            next++;
        }
        return next + 1;
    }
}
