package dev.walshadow.daemon.verify;

import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Brings PostgreSQL's text and ClickHouse's text of one value to the same form. Where a ClickHouse
 * type cannot hold a value, the documented policy (docs/types.md) is applied to the source's side.
 */
final class CanonicalText {
    private static final Pattern DATE =
            Pattern.compile("(\\d{4,7})-(\\d\\d)-(\\d\\d)(?:[ T]([0-9:.]+))?(?:\\+00)?( BC)?");
    private static final String FIRST_DAY = "1900-01-01";
    private static final String LAST_DAY = "2299-12-31";

    private CanonicalText() {}

    /**
     * From PostgreSQL's output text (session: UTC, ISO dates, hex bytea).
     *
     * @param delimiter between the elements of an array (typdelim)
     * @param nulls dates and timestamps out of range are NULL, not clamped
     */
    static @Nullable String ofSource(
            @Nullable String text, ClickHouseType type, char delimiter, boolean nulls) {
        ClickHouseType bare = type.bare();
        if (text == null) {
            return switch (bare) {
                case ClickHouseType.Array _ -> "[]";
                case ClickHouseType.Map _ -> "{}";
                default -> null;
            };
        }
        if (nulls && isTime(bare) && !bound(text).isEmpty()) {
            return null;
        }
        return switch (bare) {
            case Scalar scalar -> scalarOfSource(text, scalar);
            case ClickHouseType.Decimal(int _, int scale) -> decimal(text, scale);
            case ClickHouseType.DateTime64 dateTime -> instant(text, dateTime.precision());
            case ClickHouseType.Time64 time -> fraction(text, time.precision());
            case ClickHouseType.Array array ->
                    NestedText.arrayOfSource(text, array.element(), delimiter, nulls);
            case ClickHouseType.Map _ -> NestedText.mapOfSource(text);
            default -> text;
        };
    }

    private static boolean isTime(ClickHouseType type) {
        return type == Scalar.DATE32 || type instanceof ClickHouseType.DateTime64;
    }

    /** From ClickHouse's text, tabs and backslashes unescaped. */
    static @Nullable String ofTarget(@Nullable String text, ClickHouseType type) {
        if (text == null) {
            return null;
        }
        return switch (type.bare()) {
            case Scalar scalar -> scalarOfTarget(text, scalar);
            case ClickHouseType.Decimal(int _, int scale) -> decimal(text, scale);
            case ClickHouseType.Array array -> NestedText.arrayOfTarget(text, array.element());
            case ClickHouseType.Map _ -> NestedText.mapOfTarget(text);
            default -> text;
        };
    }

    private static String scalarOfSource(String text, Scalar type) {
        return switch (type) {
            case BOOL -> text.equals("t") ? "true" : "false";
            case FLOAT32 -> Float.toString(Float.parseFloat(text));
            case FLOAT64 -> Double.toString(Double.parseDouble(text));
            case DATE32 -> day(text);
            default -> text;
        };
    }

    private static String scalarOfTarget(String text, Scalar type) {
        return switch (type) {
            case FLOAT32 -> Float.toString(Float.parseFloat(floating(text)));
            case FLOAT64 -> Double.toString(Double.parseDouble(floating(text)));
            default -> text;
        };
    }

    private static String floating(String text) {
        return switch (text) {
            case "nan", "-nan" -> "NaN";
            case "inf", "+inf" -> "Infinity";
            case "-inf" -> "-Infinity";
            default -> text;
        };
    }

    /** NaN and the infinities have no place in a Decimal: NULL. */
    private static @Nullable String decimal(String text, int scale) {
        if (text.equals("NaN") || text.endsWith("Infinity")) {
            return null;
        }
        BigDecimal exact = new BigDecimal(text);
        BigDecimal value =
                exact.scale() > scale ? exact.setScale(scale, RoundingMode.HALF_UP) : exact;
        return value.signum() == 0 ? "0" : value.stripTrailingZeros().toPlainString();
    }

    private static String day(String text) {
        String bound = bound(text);
        return bound.isEmpty() ? text : bound;
    }

    private static String instant(String text, int precision) {
        String bound = bound(text);
        if (bound.equals(FIRST_DAY)) {
            return fraction(FIRST_DAY + " 00:00:00", precision);
        }
        if (bound.equals(LAST_DAY)) {
            String nines = precision == 0 ? "" : "." + "9".repeat(precision);
            return LAST_DAY + " 23:59:59" + nines;
        }
        String local = text.endsWith("+00") ? text.substring(0, text.length() - 3) : text;
        return fraction(local, precision);
    }

    /** The day that a value outside of what ClickHouse's dates hold is clamped to; else empty. */
    private static String bound(String text) {
        if (text.equals("infinity")) {
            return LAST_DAY;
        }
        if (text.equals("-infinity")) {
            return FIRST_DAY;
        }
        Matcher matcher = DATE.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("not a date of PostgreSQL's ISO style: " + text);
        }
        int year = Integer.parseInt(matcher.group(1));
        if (matcher.group(5) != null || year < 1900) {
            return FIRST_DAY;
        }
        return year > 2299 ? LAST_DAY : "";
    }

    private static String fraction(String text, int precision) {
        int point = text.indexOf('.');
        String whole = point < 0 ? text : text.substring(0, point);
        String digits = point < 0 ? "" : text.substring(point + 1);
        if (precision == 0) {
            return whole;
        }
        String padded = digits + "0".repeat(Math.max(0, precision - digits.length()));
        return whole + "." + padded.substring(0, precision);
    }
}
