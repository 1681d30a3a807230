package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/**
 * What {@code tsvectorout} prints. A tsvector's payload:
 *
 * <pre>
 * 0 i32 size
 * 4 u32 entries[size]: has positions 0x1 | length << 1 (11 bits) | offset in the strings << 12
 *   strings: each lexeme, and for those with positions, at the next even offset of the strings:
 *   u16 count, u16 positions[count]: position 0x3FFF | weight << 14 (D is 0, A is 3)
 * </pre>
 *
 * Source: {@code src/include/tsearch/ts_type.h}, {@code src/backend/utils/adt/tsvector.c},
 * PostgreSQL 15-18.
 */
final class TextSearchText {
    private static final int ENTRIES = 4;
    private static final int ENTRY_LENGTH_MASK = 0x7FF;
    private static final int POSITION_MASK = 0x3FFF;

    private TextSearchText() {}

    static void tsvector(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("tsvector", bytes, offset, length);
        int size = length < ENTRIES ? -1 : LittleEndian.getInt(bytes, offset);
        if (size < 0 || size > (length - ENTRIES) / Integer.BYTES) {
            throw Malformed.value("tsvector", "entries inside the value", "" + size, offset);
        }
        int strings = offset + ENTRIES + Integer.BYTES * size;
        int start = out.length();
        for (int i = 0; i < size; i++) {
            if (i > 0) {
                out.putByte(' ');
            }
            int entry = LittleEndian.getInt(bytes, offset + ENTRIES + Integer.BYTES * i);
            appendEntry(bytes, entry, strings, offset + length, out);
            if (out.length() - start > Malformed.TEXT_LIMIT) {
                throw Malformed.value("tsvector", "a text below 1 GB", "more", offset);
            }
        }
    }

    private static void appendEntry(
            byte[] bytes, int entry, int strings, int end, ByteBuilder out) {
        int length = entry >>> 1 & ENTRY_LENGTH_MASK;
        int position = entry >>> 12;
        if (length > end - strings - position) {
            throw Malformed.value("tsvector", "a lexeme inside the value", "" + position, strings);
        }
        appendLexeme(bytes, strings + position, length, out);
        if ((entry & 1) == 0) {
            return;
        }
        int at = strings + (position + length + 1 & ~1);
        int count = end - at < Short.BYTES ? -1 : LittleEndian.getUnsignedShort(bytes, at);
        if (count < 0 || Short.BYTES * count > end - at - Short.BYTES) {
            throw Malformed.value("tsvector", "positions inside the value", "" + count, strings);
        }
        for (int i = 0; i < count; i++) {
            out.putByte(i == 0 ? ':' : ',');
            int one = LittleEndian.getUnsignedShort(bytes, at + Short.BYTES * (i + 1));
            IntegerText.append(one & POSITION_MASK, out);
            int weight = one >>> 14;
            if (weight > 0) {
                out.putByte('D' - weight);
            }
        }
    }

    /** In quotes; quotes and backslashes inside are doubled. */
    static void appendLexeme(byte[] bytes, int offset, int length, ByteBuilder out) {
        out.putByte('\'');
        for (int i = offset; i < offset + length; i++) {
            byte c = bytes[i];
            if (c == '\'' || c == '\\') {
                out.putByte(c);
            }
            out.putByte(c);
        }
        out.putByte('\'');
    }
}
