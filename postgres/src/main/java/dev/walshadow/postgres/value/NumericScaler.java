package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import java.math.BigInteger;

/**
 * Turns on-disk numerics into scaled integers, two's complement, little-endian. Compiled per
 * column; no mutable state, so any thread may use it.
 */
public final class NumericScaler {
    public static final int OK = 0;
    public static final int NAN = 1;
    public static final int POSITIVE_INFINITY = 2;
    public static final int NEGATIVE_INFINITY = 3;

    /** The rounded value needs more than {@code precision} digits. */
    public static final int OVERFLOW = 4;

    /** Like {@link #OK}, but digits behind {@code scale} were rounded away, half away from zero. */
    public static final int ROUNDED = 5;

    /** The most decimal digits of which every number fits a long with room for one step more. */
    private static final int LONG_DIGITS = 18;

    private static final int TAIL_NONE = 0;
    private static final int TAIL_BELOW_HALF = 1;
    private static final int TAIL_HALF = 2;

    private final int precision;
    private final int scale;
    private final int width;
    private final long[] limit;

    /**
     * @param precision digits in all, 1 to 76
     * @param scale digits behind the point, 0 to precision
     * @param width bytes: 4, 8, 16 or 32, enough for the precision
     */
    public NumericScaler(int precision, int scale, int width) {
        Invariant.check(
                precision >= 1 && precision <= 76 && scale >= 0 && scale <= precision,
                "a decimal has 1 to 76 digits and at most as many behind the point");
        int digits =
                switch (width) {
                    case 4 -> 9;
                    case 8 -> 18;
                    case 16 -> 38;
                    case 32 -> 76;
                    default -> 0;
                };
        Invariant.check(precision <= digits, "the precision fits the width");
        this.precision = precision;
        this.scale = scale;
        this.width = width;
        this.limit = words(BigInteger.TEN.pow(precision), (width + 7) / 8);
    }

    private static long[] words(BigInteger value, int count) {
        long[] words = new long[count];
        for (int i = 0; i < count; i++) {
            words[i] = value.shiftRight(64 * i).longValue();
        }
        return words;
    }

    public int width() {
        return width;
    }

    /**
     * Appends {@code width} bytes if the answer is {@link #OK} or {@link #ROUNDED}, else nothing.
     *
     * @throws dev.walshadow.base.QuarantineException if the bytes are no numeric
     */
    public int append(byte[] bytes, int offset, int length, ByteBuilder out) {
        int header = NumericLayout.header(bytes, offset, length);
        if (NumericLayout.isSpecial(header)) {
            return NumericLayout.isPositiveInfinity(header)
                    ? POSITIVE_INFINITY
                    : NumericLayout.isNegativeInfinity(header) ? NEGATIVE_INFINITY : NAN;
        }
        int first = offset + NumericLayout.headerLength(header);
        int end = offset + length;
        int weight = NumericLayout.weight(header, bytes, offset);
        while (first < end && NumericLayout.digit(bytes, first) == 0) {
            first += 2;
            weight--;
        }
        if (first >= end) {
            out.putZeros(width);
            return OK;
        }
        boolean negative = NumericLayout.isNegative(header);
        int digits =
                IntegerText.digits(NumericLayout.digit(bytes, first))
                        + weight * NumericLayout.BASE_DIGITS
                        + scale;
        if (digits > precision) {
            return OVERFLOW;
        }
        return digits <= LONG_DIGITS
                ? appendLong(bytes, first, end, weight, negative, out)
                : appendWide(bytes, first, end, weight, negative, out);
    }

    private int appendLong(
            byte[] bytes, int first, int end, int weight, boolean negative, ByteBuilder out) {
        int groups = wholeGroups(weight);
        int rest = scale % NumericLayout.BASE_DIGITS;
        long value = 0;
        for (int i = 0; i < groups; i++) {
            value = value * NumericLayout.BASE + digitOrZero(bytes, first, end, i);
        }
        if (rest > 0) {
            int part = (int) IntegerText.POWERS_OF_TEN[NumericLayout.BASE_DIGITS - rest];
            int digit = digitOrZero(bytes, first, end, groups);
            value = value * IntegerText.POWERS_OF_TEN[rest] + digit / part;
        }
        int tail = tail(bytes, first, end, groups, rest);
        if (tail == TAIL_HALF) {
            value++;
            if (precision <= LONG_DIGITS && value == limit[0]) {
                return OVERFLOW;
            }
        }
        long signed = negative ? -value : value;
        if (width == 4) {
            out.putInt((int) signed);
        } else {
            out.putLong(signed);
            for (int i = 8; i < width; i += 8) {
                out.putLong(signed >> 63);
            }
        }
        return tail == TAIL_NONE ? OK : ROUNDED;
    }

    private int appendWide(
            byte[] bytes, int first, int end, int weight, boolean negative, ByteBuilder out) {
        int start = out.length();
        out.putZeros(width);
        int answer = OVERFLOW;
        try {
            answer = fillWide(bytes, first, end, weight, out.array(), start);
        } finally {
            if (answer == OVERFLOW) {
                out.setLength(start);
            }
        }
        if (negative && answer != OVERFLOW) {
            negate(out.array(), start);
        }
        return answer;
    }

    private int fillWide(byte[] bytes, int first, int end, int weight, byte[] target, int start) {
        int groups = wholeGroups(weight);
        int rest = scale % NumericLayout.BASE_DIGITS;
        for (int i = 0; i < groups; i++) {
            multiplyAdd(target, start, NumericLayout.BASE, digitOrZero(bytes, first, end, i));
        }
        if (rest > 0) {
            int part = (int) IntegerText.POWERS_OF_TEN[NumericLayout.BASE_DIGITS - rest];
            int digit = digitOrZero(bytes, first, end, groups);
            multiplyAdd(target, start, IntegerText.POWERS_OF_TEN[rest], digit / part);
        }
        int tail = tail(bytes, first, end, groups, rest);
        if (tail == TAIL_HALF) {
            multiplyAdd(target, start, 1, 1);
            if (isLimit(target, start)) {
                return OVERFLOW;
            }
        }
        return tail == TAIL_NONE ? OK : ROUNDED;
    }

    /** How many base-10000 digits, from the first nonzero one on, are kept whole; may be < 0. */
    private int wholeGroups(int weight) {
        return weight + 1 + scale / NumericLayout.BASE_DIGITS;
    }

    /**
     * The digit at {@code index} from the first nonzero one: zero in front of it and at the end.
     */
    private static int digitOrZero(byte[] bytes, int first, int end, int index) {
        return index >= 0 && index < (end - first) >>> 1
                ? NumericLayout.digit(bytes, first + 2 * index)
                : 0;
    }

    /** What stands behind the last kept decimal digit, compared with half of its unit. */
    private static int tail(byte[] bytes, int first, int end, int groups, int rest) {
        int unit = (int) IntegerText.POWERS_OF_TEN[NumericLayout.BASE_DIGITS - rest];
        int remainder = digitOrZero(bytes, first, end, groups) % unit;
        if (2 * remainder >= unit) {
            return TAIL_HALF;
        }
        if (remainder > 0) {
            return TAIL_BELOW_HALF;
        }
        for (int i = Math.max(0, groups + 1); i < (end - first) >>> 1; i++) {
            if (NumericLayout.digit(bytes, first + 2 * i) != 0) {
                return TAIL_BELOW_HALF;
            }
        }
        return TAIL_NONE;
    }

    private void multiplyAdd(byte[] target, int start, long factor, long addend) {
        long carry = addend;
        for (int at = start; at < start + width; at += 8) {
            long word = LittleEndian.getLong(target, at);
            long low = word * factor;
            long sum = low + carry;
            carry = Math.unsignedMultiplyHigh(word, factor);
            if (Long.compareUnsigned(sum, low) < 0) {
                carry++;
            }
            LittleEndian.putLong(target, at, sum);
        }
        Invariant.check(carry == 0, "a checked number of digits fits its width");
    }

    private boolean isLimit(byte[] target, int start) {
        for (int i = 0; i < limit.length; i++) {
            if (LittleEndian.getLong(target, start + 8 * i) != limit[i]) {
                return false;
            }
        }
        return true;
    }

    private void negate(byte[] target, int start) {
        long carry = 1;
        for (int at = start; at < start + width; at += 8) {
            long word = ~LittleEndian.getLong(target, at) + carry;
            carry = carry == 1 && word == 0 ? 1 : 0;
            LittleEndian.putLong(target, at, word);
        }
    }
}
