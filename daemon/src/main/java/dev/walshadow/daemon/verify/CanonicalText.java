package dev.walshadow.daemon.verify;

import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
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

    /** From PostgreSQL's output text (session: UTC, ISO dates, hex bytea). */
    static @Nullable String ofSource(@Nullable String text, ClickHouseType type) {
        ClickHouseType bare = type.bare();
        if (text == null) {
            return bare instanceof ClickHouseType.Array ? "[]" : null;
        }
        return switch (bare) {
            case Scalar scalar -> scalarOfSource(text, scalar);
            case ClickHouseType.Decimal _ -> decimal(text);
            case ClickHouseType.DateTime64 dateTime -> instant(text, dateTime.precision());
            case ClickHouseType.Time64 time -> fraction(text, time.precision());
            case ClickHouseType.Array array -> arrayOfSource(text, array.element());
            default -> text;
        };
    }

    /** From ClickHouse's text, tabs and backslashes unescaped. */
    static @Nullable String ofTarget(@Nullable String text, ClickHouseType type) {
        if (text == null) {
            return null;
        }
        return switch (type.bare()) {
            case Scalar scalar -> scalarOfTarget(text, scalar);
            case ClickHouseType.Decimal _ -> decimal(text);
            case ClickHouseType.Array array -> arrayOfTarget(text, array.element());
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
    private static @Nullable String decimal(String text) {
        if (text.equals("NaN") || text.endsWith("Infinity")) {
            return null;
        }
        BigDecimal value = new BigDecimal(text);
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

    private static String arrayOfSource(String text, ClickHouseType element) {
        List<String> elements = new ArrayList<>();
        String body = text.startsWith("[") ? text.substring(text.indexOf('=') + 1) : text;
        int i = 1;
        while (i < body.length() - 1) {
            StringBuilder value = new StringBuilder();
            boolean quoted = body.charAt(i) == '"';
            i = quoted ? quotedElement(body, i + 1, value) : bareElement(body, i, value);
            String plain = value.toString();
            boolean isNull = !quoted && plain.toUpperCase(Locale.ROOT).equals("NULL");
            elements.add(quote(ofSource(isNull ? null : plain, element)));
            i++;
        }
        return "[" + String.join(",", elements) + "]";
    }

    private static int quotedElement(String body, int start, StringBuilder into) {
        int i = start;
        while (body.charAt(i) != '"') {
            if (body.charAt(i) == '\\') {
                i++;
            }
            into.append(body.charAt(i++));
        }
        return i + 1;
    }

    private static int bareElement(String body, int start, StringBuilder into) {
        int i = start;
        while (i < body.length() - 1 && body.charAt(i) != ',') {
            if (body.charAt(i) == '\\') {
                i++;
            }
            into.append(body.charAt(i++));
        }
        return i;
    }

    /** ClickHouse: {@code [1,NULL,'a\'b']}. */
    private static String arrayOfTarget(String text, ClickHouseType element) {
        List<String> elements = new ArrayList<>();
        int i = 1;
        while (i < text.length() - 1) {
            StringBuilder value = new StringBuilder();
            boolean quoted = text.charAt(i) == '\'';
            if (quoted) {
                i = targetQuoted(text, i + 1, value);
            } else {
                while (i < text.length() - 1 && text.charAt(i) != ',') {
                    value.append(text.charAt(i++));
                }
            }
            String plain = value.toString();
            boolean isNull = !quoted && plain.equals("NULL");
            elements.add(quote(ofTarget(isNull ? null : plain, element)));
            i++;
        }
        return "[" + String.join(",", elements) + "]";
    }

    private static int targetQuoted(String text, int start, StringBuilder into) {
        int i = start;
        while (text.charAt(i) != '\'') {
            char c = text.charAt(i++);
            if (c == '\\') {
                c = unescape(text.charAt(i++));
            }
            into.append(c);
        }
        return i + 1;
    }

    private static char unescape(char c) {
        return switch (c) {
            case 'n' -> '\n';
            case 't' -> '\t';
            case 'r' -> '\r';
            case 'b' -> '\b';
            case 'f' -> '\f';
            case '0' -> '\0';
            default -> c;
        };
    }

    private static String quote(@Nullable String value) {
        return value == null ? "NULL" : "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
