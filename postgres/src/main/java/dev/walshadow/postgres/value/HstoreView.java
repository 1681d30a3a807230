package dev.walshadow.postgres.value;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;

/**
 * Flyweight over an hstore's payload; iterates over its pairs. Valid until the next wrap;
 * single-threaded.
 *
 * <pre>
 * 0 u32 count 0x0FFFFFFF | 0x80000000 = the format of 9.0 and later
 * 4 u32 entries[2 * count]: key, value, key, value ...
 *       end in the strings 0x3FFFFFFF | value is NULL 0x40000000 | first entry 0x80000000
 *   strings, one after the other
 * </pre>
 *
 * Source: {@code contrib/hstore/hstore.h}, PostgreSQL 15-18.
 */
public final class HstoreView {
    private static final int COUNT_MASK = 0x0FFF_FFFF;
    static final int NEW_VERSION = 0x8000_0000;
    static final int ENTRY_FIRST = 0x8000_0000;
    static final int ENTRY_NULL = 0x4000_0000;
    private static final int END_MASK = 0x3FFF_FFFF;
    private static final int ENTRIES = 4;

    private byte[] buffer = new byte[ENTRIES];
    private int entries;
    private int strings;
    private int limit;
    private int count;
    private int nextPair;
    private int position;

    private int keyOffset;
    private int keyLength;
    private boolean valueNull;
    private int valueOffset;
    private int valueLength;

    /**
     * @throws QuarantineException if it promises more than it holds
     */
    public void wrap(byte[] bytes, int offset, int length) {
        Malformed.requireInside("hstore", bytes, offset, length);
        int header = length < ENTRIES ? 0 : LittleEndian.getInt(bytes, offset);
        int pairs = header & COUNT_MASK;
        if (length < ENTRIES
                || (header & NEW_VERSION) == 0
                || pairs > (length - ENTRIES) / (2 * Integer.BYTES)) {
            throw Malformed.value(
                    "hstore",
                    "the format of 9.0 with its entries inside (a value from an older server is"
                            + " rewritten by any update)",
                    "header 0x" + Integer.toHexString(header) + " of " + length + " bytes",
                    offset);
        }
        buffer = bytes;
        count = pairs;
        entries = offset + ENTRIES;
        strings = entries + 2 * Integer.BYTES * pairs;
        limit = offset + length - strings;
        nextPair = 0;
        position = 0;
    }

    public int count() {
        return count;
    }

    /**
     * Moves to the next pair; false behind the last one.
     *
     * @throws QuarantineException if it does not lie inside the value
     */
    public boolean next() {
        if (nextPair >= count) {
            return false;
        }
        int entry = entries + 2 * Integer.BYTES * nextPair++;
        keyOffset = strings + position;
        keyLength = advance(entry);
        valueOffset = strings + position;
        valueNull = (LittleEndian.getInt(buffer, entry + Integer.BYTES) & ENTRY_NULL) != 0;
        valueLength = advance(entry + Integer.BYTES);
        return true;
    }

    private int advance(int entryAt) {
        int entry = LittleEndian.getInt(buffer, entryAt);
        int end = entry & END_MASK;
        boolean first = (entry & ENTRY_FIRST) != 0;
        if (end < position || end > limit || first != (entryAt == entries)) {
            throw Malformed.value(
                    "hstore", "strings one after the other, inside the value", "" + end, entryAt);
        }
        int length = end - position;
        position = end;
        return length;
    }

    public int keyOffset() {
        return keyOffset;
    }

    public int keyLength() {
        return keyLength;
    }

    public boolean valueIsNull() {
        return valueNull;
    }

    public int valueOffset() {
        return valueOffset;
    }

    public int valueLength() {
        return valueLength;
    }
}
