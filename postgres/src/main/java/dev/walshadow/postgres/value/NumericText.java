package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;

/** What {@code numeric_out} prints: every digit that is stored, zeros up to the display scale. */
public final class NumericText {
    private NumericText() {}

    public static void append(byte[] bytes, int offset, int length, ByteBuilder out) {
        int header = NumericLayout.header(bytes, offset, length);
        if (NumericLayout.isSpecial(header)) {
            appendSpecial(header, out);
            return;
        }
        int first = offset + NumericLayout.headerLength(header);
        int count = (offset + length - first) >>> 1;
        int weight = NumericLayout.weight(header, bytes, offset);
        int scale = NumericLayout.displayScale(header);
        if (NumericLayout.isNegative(header)) {
            out.putByte('-');
        }
        if (weight < 0) {
            out.putByte('0');
        } else {
            appendWhole(bytes, first, count, weight, out);
        }
        if (scale > 0) {
            out.putByte('.');
            appendFraction(bytes, first, count, weight + 1, scale, out);
        }
    }

    private static void appendSpecial(int header, ByteBuilder out) {
        if (NumericLayout.isPositiveInfinity(header)) {
            out.putAscii("Infinity");
        } else if (NumericLayout.isNegativeInfinity(header)) {
            out.putAscii("-Infinity");
        } else {
            out.putAscii("NaN");
        }
    }

    private static void appendWhole(
            byte[] bytes, int first, int count, int weight, ByteBuilder out) {
        int leading = count > 0 ? NumericLayout.digit(bytes, first) : 0;
        IntegerText.append(leading, out);
        out.ensure(weight * NumericLayout.BASE_DIGITS);
        for (int i = 1; i <= weight; i++) {
            int digit = i < count ? NumericLayout.digit(bytes, first + 2 * i) : 0;
            IntegerText.appendPadded(digit, NumericLayout.BASE_DIGITS, out);
        }
    }

    /**
     * @param index of the first digit behind the point; negative where leading zeros are implied
     */
    private static void appendFraction(
            byte[] bytes, int first, int count, int index, int scale, ByteBuilder out) {
        int end = out.length() + scale;
        out.ensure(scale + NumericLayout.BASE_DIGITS);
        for (int i = index; out.length() < end; i++) {
            int digit = i >= 0 && i < count ? NumericLayout.digit(bytes, first + 2 * i) : 0;
            IntegerText.appendPadded(digit, NumericLayout.BASE_DIGITS, out);
        }
        out.setLength(end);
    }
}
