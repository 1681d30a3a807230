package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ArrayColumn;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.clickhouse.StringColumn;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.MappingCodes;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.util.HexFormat;
import java.util.List;
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

    /** Appends the value to the column's buffer. */
    static void append(ColumnMapping column, String text, ColumnBuffer out) {
        try {
            if (!(out instanceof ArrayColumn array)) {
                appendNullable(column, text, out);
                return;
            }
            List<@Nullable String> elements = ArrayLiteral.parse(text);
            for (String element : elements) {
                if (element == null) {
                    array.elements().appendDefault();
                } else {
                    appendNullable(column, element, array.elements());
                }
            }
            array.endRow();
        } catch (IllegalArgumentException | DateTimeException e) {
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
            case CHARACTERS, NAME, TEXT, ARRAY_TEXT ->
                    appendText(text.getBytes(StandardCharsets.UTF_8), out);
            case DECIMAL -> {
                return appendDecimal(column, text, (FixedColumn) out);
            }
            default -> appendFixed(column, text, (FixedColumn) out);
        }
        return true;
    }

    private static void appendText(byte[] bytes, ColumnBuffer out) {
        ((StringColumn) out).append(bytes, 0, bytes.length);
    }

    private static void appendFixed(ColumnMapping column, String text, FixedColumn out) {
        switch (column.conversion()) {
            case BOOL -> out.appendByte(text.startsWith("t") ? 1 : 0);
            case INT16 -> out.appendShort(Short.parseShort(text));
            case INT32 -> out.appendInt(Integer.parseInt(text));
            case INT64 -> out.appendLong(Long.parseLong(text));
            case UINT32 -> out.appendInt(Integer.parseUnsignedInt(text));
            case UINT64 -> out.appendLong(Long.parseUnsignedLong(text));
            case FLOAT32 -> out.appendInt(Float.floatToRawIntBits(Float.parseFloat(text)));
            case FLOAT64 -> out.appendLong(Double.doubleToRawLongBits(Double.parseDouble(text)));
            case MONEY -> {
                long value = money(text);
                out.appendInt128(value, value >> 63);
            }
            case UUID -> {
                UUID uuid = UUID.fromString(text);
                out.appendInt128(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits());
            }
            case DATE32 -> out.appendInt(IsoText.date(text));
            case TIME64 -> out.appendLong(IsoText.time(text));
            case DATETIME64 -> {
                int precision =
                        ((ClickHouseType.DateTime64) ColumnPlan.scalarType(column)).precision();
                long unit = 1;
                for (int i = precision; i < MICRO_DIGITS; i++) {
                    unit *= 10;
                }
                out.appendLong(Math.floorDiv(IsoText.timestamp(text), unit));
            }
            default -> throw new IllegalArgumentException("no fixed value");
        }
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
