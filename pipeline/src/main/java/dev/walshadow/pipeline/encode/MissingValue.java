package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ArrayColumn;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.clickhouse.StringColumn;
import dev.walshadow.clickhouse.TupleColumn;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.EnumNumber;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.pipeline.mapping.OutOfRange;
import dev.walshadow.pipeline.mapping.Transform;
import dev.walshadow.pipeline.mapping.TransformedText;
import dev.walshadow.postgres.value.IsoText;
import dev.walshadow.postgres.value.TypeOid;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * attmissingval: the constant that a fast ADD COLUMN ... DEFAULT gave to older rows, known as
 * PostgreSQL's text (ISO dates, UTC). Read once per compiled encoder.
 */
final class MissingValue {
    private static final int MICRO_DIGITS = 6;

    private MissingValue() {}

    /**
     * The value in RowBinary form, transformed where the mapping says so.
     *
     * @param text null: NULL, or what ClickHouse has for it
     */
    static byte[] of(ColumnMapping column, char delimiter, @Nullable String text) {
        ColumnBuffer buffer = ColumnBuffer.of(column.type());
        Transform transform = column.transform();
        String shown = transform == null ? text : new TransformedText(transform).of(text);
        if (shown == null) {
            buffer.appendDefault();
        } else if (transform == null) {
            append(column, delimiter, shown, buffer);
        } else {
            appendText(shown, buffer);
        }
        ByteBuilder out = new ByteBuilder(64);
        buffer.rowBinary(0, out);
        return out.toByteArray();
    }

    private static void appendText(String text, ColumnBuffer out) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (out instanceof NullableColumn nullable) {
            appendText(bytes, nullable.inner());
            nullable.present();
        } else {
            appendText(bytes, out);
        }
    }

    /** typdelim of a built-in type: all but box have commas. */
    static char delimiter(ColumnMapping column) {
        return column.typeOid() == TypeOid.BOX ? ';' : ',';
    }

    /** The same for a built-in type: arrays of all but box have commas. */
    static void append(ColumnMapping column, String text, ColumnBuffer out) {
        append(column, delimiter(column), text, out);
    }

    /**
     * Appends the value to the column's buffer.
     *
     * @param delimiter between elements of an array (typdelim)
     */
    static void append(ColumnMapping column, char delimiter, String text, ColumnBuffer out) {
        try {
            appendNested(column, delimiter, text, nesting(column), out);
        } catch (IllegalArgumentException | StringIndexOutOfBoundsException | DateTimeException e) {
            throw new QuarantineException(
                    MappingCodes.VALUE,
                    "the default of column "
                            + column.sourceName()
                            + " for rows older than it ("
                            + text
                            + ") cannot be read as "
                            + column.type().print()
                            + "; rewrite the table in PostgreSQL (VACUUM FULL) and resync it",
                    e);
        }
    }

    private static int nesting(ColumnMapping column) {
        return column.conversion() == Conversion.ARRAY_TEXT ? 0 : column.dimensions();
    }

    private static void appendNested(
            ColumnMapping column, char delimiter, String text, int level, ColumnBuffer out) {
        if (level == 0) {
            appendNullable(column, text, out);
            return;
        }
        ArrayColumn array = (ArrayColumn) out;
        for (String element : ArrayLiteral.parse(text, delimiter)) {
            if (element == null) {
                array.elements().appendDefault();
            } else {
                appendNested(column, delimiter, element, level - 1, array.elements());
            }
        }
        array.endRow();
    }

    private static void appendNullable(ColumnMapping column, String text, ColumnBuffer out) {
        if (!(out instanceof NullableColumn nullable)) {
            appendScalar(column, text, out);
        } else if (appendScalar(column, text, nullable.inner())) {
            nullable.present();
        } else {
            nullable.appendNull();
        }
    }

    private static boolean appendScalar(ColumnMapping column, String text, ColumnBuffer out) {
        switch (column.conversion()) {
            case BYTES -> appendText(HexFormat.of().parseHex(text.substring(2)), out);
            case HEX -> throw new IllegalArgumentException("its stored bytes are not known");
            case CHARACTERS, NAME, TEXT, ARRAY_TEXT ->
                    appendText(text.getBytes(StandardCharsets.UTF_8), out);
            case DATE32, DATETIME64 -> {
                if (column.outOfRange() == OutOfRange.NULL && ClampedText.isOutOfRange(text)) {
                    return false;
                }
                appendFixed(column, text, (FixedColumn) out);
            }
            case DECIMAL -> {
                return appendDecimal(column, text, (FixedColumn) out);
            }
            case HSTORE -> appendMap(text, (ArrayColumn) out);
            case VECTOR, HALFVEC -> appendFloats(text, (ArrayColumn) out);
            default -> appendFixed(column, text, (FixedColumn) out);
        }
        return true;
    }

    private static void appendMap(String text, ArrayColumn out) {
        TupleColumn pair = (TupleColumn) out.elements();
        HstoreLiteral.parse(text)
                .forEach((key, value) -> {
                    appendText(key.getBytes(StandardCharsets.UTF_8), pair.element(0));
                    NullableColumn nullable = (NullableColumn) pair.element(1);
                    if (value == null) {
                        nullable.appendNull();
                    } else {
                        appendText(value.getBytes(StandardCharsets.UTF_8), nullable.inner());
                        nullable.present();
                    }
                });
        out.endRow();
    }

    private static void appendFloats(String text, ArrayColumn out) {
        String inside = text.substring(1, text.length() - 1);
        for (String number : inside.isEmpty() ? new String[0] : inside.split(",", -1)) {
            ((FixedColumn) out.elements())
                    .appendInt(Float.floatToRawIntBits(Float.parseFloat(number)));
        }
        out.endRow();
    }

    private static void appendText(byte[] bytes, ColumnBuffer out) {
        ((StringColumn) out).append(bytes, 0, bytes.length);
    }

    /** As wide as the column is. */
    private static void appendInteger(long value, FixedColumn out) {
        switch (out.width()) {
            case Short.BYTES -> out.appendShort((int) value);
            case Integer.BYTES -> out.appendInt((int) value);
            default -> out.appendLong(value);
        }
    }

    private static void appendFixed(ColumnMapping column, String text, FixedColumn out) {
        switch (column.conversion()) {
            case BOOL -> out.appendByte(text.startsWith("t") ? 1 : 0);
            case INT16, INT32, INT64, UINT32 -> appendInteger(Long.parseLong(text), out);
            case UINT64 -> out.appendLong(Long.parseUnsignedLong(text));
            case FLOAT32 -> out.appendInt(Float.floatToRawIntBits(Float.parseFloat(text)));
            case FLOAT64 -> out.appendLong(Double.doubleToRawLongBits(Double.parseDouble(text)));
            case ENUM -> out.appendShort(enumNumber(column, text));
            case MONEY -> {
                long value = money(text);
                out.appendInt128(value, value >> 63);
            }
            case UUID -> {
                UUID uuid = UUID.fromString(text);
                out.appendInt128(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits());
            }
            case DATE32 -> out.appendInt(ClampedText.date(text));
            case TIME64 -> out.appendLong(IsoText.time(text));
            case DATETIME64 -> {
                int precision =
                        ((ClickHouseType.DateTime64) ColumnPlan.scalarType(column)).precision();
                long unit = 1;
                for (int i = precision; i < MICRO_DIGITS; i++) {
                    unit *= 10;
                }
                out.appendLong(Math.floorDiv(ClampedText.timestamp(text), unit));
            }
            default -> throw new IllegalArgumentException("no fixed value");
        }
    }

    private static int enumNumber(ColumnMapping column, String label) {
        for (EnumNumber number : column.enumNumbers()) {
            if (number.label().equals(label)) {
                return number.number();
            }
        }
        throw new IllegalArgumentException("no label " + label);
    }

    /** The currency sign and grouping depend on lc_monetary; the digits are hundredths. */
    private static long money(String text) {
        String digits = text.replaceAll("[^0-9]", "");
        boolean negative = text.contains("-") || text.contains("(");
        return Long.parseLong((negative ? "-" : "") + digits);
    }

    private static boolean appendDecimal(ColumnMapping column, String text, FixedColumn out) {
        if (text.toLowerCase(Locale.ROOT).matches("nan|[+-]?inf.*")) {
            return false;
        }
        ClickHouseType.Decimal type = (ClickHouseType.Decimal) ColumnPlan.scalarType(column);
        BigInteger unscaled;
        try {
            unscaled = new BigDecimal(text).setScale(type.scale()).unscaledValue();
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("more digits than " + type.print(), e);
        }
        byte[] bigEndian = unscaled.toByteArray();
        ByteBuilder bytes = new ByteBuilder(type.width());
        for (int i = 0; i < type.width(); i++) {
            bytes.putByte(
                    i < bigEndian.length
                            ? bigEndian[bigEndian.length - 1 - i]
                            : unscaled.signum() < 0 ? -1 : 0);
        }
        if (bigEndian.length > type.width()) {
            throw new IllegalArgumentException("more digits than " + type.print());
        }
        out.appendBytes(bytes.array(), 0);
        return true;
    }
}
