package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;

/**
 * Turns on-disk numerics into scaled integers, two's complement, little-endian. Compiled per
 * column; no state, so any thread may use it.
 */
@SuppressWarnings("DoNotCallSuggester")
public final class NumericScaler {
    public static final int OK = 0;
    public static final int NAN = 1;
    public static final int POSITIVE_INFINITY = 2;
    public static final int NEGATIVE_INFINITY = 3;

    /** The rounded value needs more than {@code precision} digits. */
    public static final int OVERFLOW = 4;

    /** Like {@link #OK}, but digits behind {@code scale} were rounded away, half away from zero. */
    public static final int ROUNDED = 5;

    private final int precision;
    private final int scale;
    private final int width;

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
    }

    public int width() {
        return width;
    }

    /**
     * Appends {@code width} bytes if the answer is {@link #OK} or {@link #ROUNDED}, else nothing.
     */
    public int append(byte[] bytes, int offset, int length, ByteBuilder out) {
        throw new UnsupportedOperationException("precision " + precision + ", scale " + scale);
    }
}
