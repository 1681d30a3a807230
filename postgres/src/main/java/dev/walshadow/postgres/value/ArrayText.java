package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;

/**
 * What {@code array_out} prints. Compiled per array type; holds a view, so single-threaded. Source:
 * {@code src/backend/utils/adt/arrayfuncs.c}, PostgreSQL 15-18.
 */
public final class ArrayText implements ValueCodec {
    private final int elementAttlen;
    private final char elementAlignment;
    private final char delimiter;
    private final ValueCodec element;
    private final ArrayView view = new ArrayView();
    private final int[] indexes = new int[ArrayView.MAX_DIMENSIONS];

    /**
     * @param elementAttlen the element type's typlen
     * @param elementAlignment the element type's typalign
     * @param delimiter the element type's typdelim: ',' but for box, which has ';'
     */
    public ArrayText(int elementAttlen, char elementAlignment, char delimiter, ValueCodec element) {
        this.elementAttlen = elementAttlen;
        this.elementAlignment = elementAlignment;
        this.delimiter = delimiter;
        this.element = element;
    }

    @Override
    public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
        view.wrap(bytes, offset, length);
        int dimensions = view.dimensions();
        int start = out.length();
        if (view.elementCount() == 0) {
            out.putByte('{');
            out.putByte('}');
            return;
        }
        appendBounds(dimensions, out);
        out.putByte('{');
        for (int i = 0; i < dimensions; i++) {
            indexes[i] = 0;
        }
        view.start(elementAttlen, elementAlignment);
        int level = 0;
        while (view.next()) {
            for (int i = level; i < dimensions - 1; i++) {
                out.putByte('{');
            }
            appendElement(out);
            if (out.length() - start > Malformed.TEXT_LIMIT) {
                throw Malformed.value("array", "a text below 1 GB", "more", offset);
            }
            level = dimensions - 1;
            while (level >= 0 && ++indexes[level] >= view.dimension(level)) {
                indexes[level] = 0;
                out.putByte('}');
                level--;
            }
            if (level >= 0) {
                out.putByte(delimiter);
            }
        }
    }

    /** Bounds are printed only if one of them does not start at 1. */
    private void appendBounds(int dimensions, ByteBuilder out) {
        boolean needed = false;
        for (int i = 0; i < dimensions; i++) {
            needed |= view.lowerBound(i) != 1;
        }
        if (!needed) {
            return;
        }
        for (int i = 0; i < dimensions; i++) {
            int lower = view.lowerBound(i);
            out.putByte('[');
            IntegerText.append(lower, out);
            out.putByte(':');
            // C's int arithmetic, which wraps
            IntegerText.append(lower + view.dimension(i) - 1, out);
            out.putByte(']');
        }
        out.putByte('=');
    }

    private void appendElement(ByteBuilder out) {
        if (view.elementIsNull()) {
            out.putAscii("NULL");
            return;
        }
        int start = out.length();
        element.appendText(view.elementBuffer(), view.elementOffset(), view.elementLength(), out);
        quoteIfNeeded(out, start, delimiter);
    }

    /** Puts what stands from {@code start} on into quotes if array_out would. */
    static void quoteIfNeeded(ByteBuilder out, int start, char delimiter) {
        int length = out.length() - start;
        boolean needed = length == 0 || (length == 4 && isNullWord(out.array(), start));
        int escapes = 0;
        byte[] text = out.array();
        for (int i = start; i < start + length; i++) {
            int c = text[i];
            if (c == '"' || c == '\\') {
                escapes++;
            } else {
                needed |= c == '{' || c == '}' || c == delimiter || isSpace(c);
            }
        }
        if (!needed && escapes == 0) {
            return;
        }
        int grown = length + escapes + 2;
        out.ensure(grown - length);
        text = out.array();
        int to = start + grown;
        text[--to] = '"';
        for (int from = start + length - 1; from >= start; from--) {
            byte c = text[from];
            text[--to] = c;
            if (c == '"' || c == '\\') {
                text[--to] = '\\';
            }
        }
        text[--to] = '"';
        out.setLength(start + grown);
    }

    private static boolean isNullWord(byte[] text, int at) {
        return (text[at] | 0x20) == 'n'
                && (text[at + 1] | 0x20) == 'u'
                && (text[at + 2] | 0x20) == 'l'
                && (text[at + 3] | 0x20) == 'l';
    }

    /** array_isspace: the six ASCII space characters. */
    private static boolean isSpace(int c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
    }
}
