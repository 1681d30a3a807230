package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;

/** The quoting that {@code record_out} and {@code range_out} share. */
final class QuotedText {
    private QuotedText() {}

    /**
     * Puts what stands from {@code start} on into double quotes if it is empty or holds one of the
     * special characters; quotes and backslashes are doubled.
     *
     * @param brackets whether [ and ] are special too, as in a range
     */
    static void quoteIfNeeded(ByteBuilder out, int start, boolean brackets) {
        int length = out.length() - start;
        boolean needed = length == 0;
        int doubled = 0;
        byte[] text = out.array();
        for (int i = start; i < start + length; i++) {
            int c = text[i];
            if (c == '"' || c == '\\') {
                doubled++;
            } else {
                needed |= isSpecial(c, brackets);
            }
        }
        if (!needed && doubled == 0) {
            return;
        }
        int grown = length + doubled + 2;
        out.ensure(grown - length);
        text = out.array();
        int to = start + grown;
        text[--to] = '"';
        for (int from = start + length - 1; from >= start; from--) {
            byte c = text[from];
            text[--to] = c;
            if (c == '"' || c == '\\') {
                text[--to] = c;
            }
        }
        text[--to] = '"';
        out.setLength(start + grown);
    }

    private static boolean isSpecial(int c, boolean brackets) {
        return c == '('
                || c == ')'
                || c == ','
                || c == ' '
                || (c >= '\t' && c <= '\r')
                || (brackets && (c == '[' || c == ']'));
    }
}
