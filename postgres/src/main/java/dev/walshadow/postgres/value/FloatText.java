package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import org.jspecify.annotations.Nullable;

/**
 * What {@code float4out} and {@code float8out} print with {@code extra_float_digits = 1}: the
 * shortest decimal that lies strictly nearer to the value than to any other.
 *
 * <p>The JDK's {@code toString} finds the shortest decimal too, with two differences that are put
 * right here: it may answer the exact midpoint between two floating-point numbers (PostgreSQL never
 * does), and it prefers two digits where one suffices.
 */
public final class FloatText {
    /** Below this a decimal of at most 17 digits cannot be a midpoint of doubles. */
    private static final double FIRST_DOUBLE_MIDPOINT = 0x1p53;

    /** From here on no midpoint of doubles has as few as 17 digits. */
    private static final double LAST_DOUBLE_MIDPOINT = 0x1p140;

    /**
     * From here on a double has 12 bits or more, and decimals of two digits lie farther apart than
     * doubles: if one digit suffices, the nearest decimal of two digits is that one.
     */
    private static final double FIRST_FINE_DOUBLE = 0x1p-1062;

    private static final float FIRST_FINE_FLOAT = 0x1p-137f;

    private static final float FIRST_FLOAT_MIDPOINT = 0x1p24f;
    private static final float LAST_FLOAT_MIDPOINT = 0x1p70f;

    /** From this decimal exponent on scientific notation is used. */
    private static final int DOUBLE_FIXED_LIMIT = 15;

    private static final int FLOAT_FIXED_LIMIT = 6;
    private static final int FIXED_LOWEST = -4;

    private FloatText() {}

    static void float4(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("float4", 4, bytes, offset, length);
        append(Float.intBitsToFloat(LittleEndian.getInt(bytes, offset)), out);
    }

    static void float8(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("float8", 8, bytes, offset, length);
        append(Double.longBitsToDouble(LittleEndian.getLong(bytes, offset)), out);
    }

    public static void append(float value, ByteBuilder out) {
        if (appendSpecial(value, Float.floatToRawIntBits(value) < 0, out)) {
            return;
        }
        float size = Math.abs(value);
        String text = Float.toString(size);
        if ((size >= FIRST_FLOAT_MIDPOINT && size < LAST_FLOAT_MIDPOINT)
                || (size < FIRST_FINE_FLOAT && isTwoDigits(text))) {
            BigDecimal exact = new BigDecimal(size);
            text =
                    shortest(
                            exact,
                            middle(exact, new BigDecimal(Math.nextDown(size))),
                            Float.isInfinite(Math.nextUp(size))
                                    ? null
                                    : middle(exact, new BigDecimal(Math.nextUp(size))),
                            text);
        }
        appendDecimal(text, FLOAT_FIXED_LIMIT, out);
    }

    public static void append(double value, ByteBuilder out) {
        if (appendSpecial(value, Double.doubleToRawLongBits(value) < 0, out)) {
            return;
        }
        double size = Math.abs(value);
        String text = Double.toString(size);
        if ((size >= FIRST_DOUBLE_MIDPOINT && size < LAST_DOUBLE_MIDPOINT)
                || (size < FIRST_FINE_DOUBLE && isTwoDigits(text))) {
            BigDecimal exact = new BigDecimal(size);
            text =
                    shortest(
                            exact,
                            middle(exact, new BigDecimal(Math.nextDown(size))),
                            Double.isInfinite(Math.nextUp(size))
                                    ? null
                                    : middle(exact, new BigDecimal(Math.nextUp(size))),
                            text);
        }
        appendDecimal(text, DOUBLE_FIXED_LIMIT, out);
    }

    /** Deals with NaN, the infinities and zero; writes the sign of everything else. */
    private static boolean appendSpecial(double value, boolean negative, ByteBuilder out) {
        if (Double.isNaN(value)) {
            out.putAscii("NaN");
            return true;
        }
        if (negative) {
            out.putByte('-');
        }
        if (Double.isInfinite(value)) {
            out.putAscii("Infinity");
            return true;
        }
        if (value == 0) {
            out.putByte('0');
            return true;
        }
        return false;
    }

    /** Whether the JDK's answer has two digits of which it may have been forced to the second. */
    private static boolean isTwoDigits(String text) {
        int exponent = text.indexOf('E');
        return (exponent < 0 ? text.length() : exponent) == 3 && text.charAt(2) != '0';
    }

    private static BigDecimal middle(BigDecimal a, BigDecimal b) {
        return a.add(b).divide(BigDecimal.valueOf(2), MathContext.UNLIMITED);
    }

    /** The shortest decimal strictly between {@code low} and {@code high}, nearest to exact. */
    private static String shortest(
            BigDecimal exact, BigDecimal low, @Nullable BigDecimal high, String unless) {
        for (int digits = 1; digits <= 17; digits++) {
            BigDecimal nearest = exact.round(new MathContext(digits, RoundingMode.HALF_EVEN));
            if (isBetween(nearest, low, high)) {
                return nearest.toString();
            }
            // at a power of two the gap below is half as wide: the farther neighbour may fit
            BigDecimal above = exact.round(new MathContext(digits, RoundingMode.UP));
            if (isBetween(above, low, high)) {
                return above.toString();
            }
        }
        return unless;
    }

    private static boolean isBetween(BigDecimal value, BigDecimal low, @Nullable BigDecimal high) {
        return value.compareTo(low) > 0 && (high == null || value.compareTo(high) < 0);
    }

    /** Prints the digits and exponent of {@code text} (any decimal notation) as PostgreSQL does. */
    private static void appendDecimal(String text, int fixedLimit, ByteBuilder out) {
        byte[] digits = new byte[40];
        int count = 0;
        int pointAfter = -1;
        int exponent = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '.') {
                pointAfter = count;
            } else if (c == 'E') {
                exponent = Integer.parseInt(text.substring(i + 1));
                break;
            } else if (count > 0 || c != '0') {
                digits[count++] = (byte) c;
            } else if (pointAfter >= 0) {
                exponent--; // a leading zero behind the point
            }
        }
        int whole = (pointAfter < 0 ? count : pointAfter) + exponent;
        while (count > 1 && digits[count - 1] == '0') {
            count--;
        }
        int display = whole - 1;
        if (display >= FIXED_LOWEST && display < fixedLimit) {
            appendFixed(digits, count, whole, out);
        } else {
            appendScientific(digits, count, display, out);
        }
    }

    /**
     * @param whole how many digits stand in front of the point; zero or below: zeros follow it
     */
    private static void appendFixed(byte[] digits, int count, int whole, ByteBuilder out) {
        if (whole <= 0) {
            out.putAscii("0.");
            for (int i = whole; i < 0; i++) {
                out.putByte('0');
            }
            out.putBytes(digits, 0, count);
        } else if (whole >= count) {
            out.putBytes(digits, 0, count);
            for (int i = count; i < whole; i++) {
                out.putByte('0');
            }
        } else {
            out.putBytes(digits, 0, whole);
            out.putByte('.');
            out.putBytes(digits, whole, count - whole);
        }
    }

    private static void appendScientific(byte[] digits, int count, int display, ByteBuilder out) {
        out.putByte(digits[0]);
        if (count > 1) {
            out.putByte('.');
            out.putBytes(digits, 1, count - 1);
        }
        out.putByte('e');
        out.putByte(display < 0 ? '-' : '+');
        int size = Math.abs(display);
        IntegerText.appendPadded(size, size < 10 ? 2 : IntegerText.digits(size), out);
    }
}
