package dev.walshadow.transaction;

import java.util.Arrays;

/** A growing set of longs, added in rising order but for rare exceptions. */
final class LongArray {
    private static final long[] EMPTY = {};

    private long[] values = EMPTY;
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    void add(long value) {
        if (size == values.length) {
            values = Arrays.copyOf(values, Math.max(4, size * 2));
        }
        int at = size;
        while (at > 0 && values[at - 1] > value) {
            values[at] = values[at - 1];
            at--;
        }
        values[at] = value;
        size++;
    }

    boolean contains(long value) {
        return size > 0 && Arrays.binarySearch(values, 0, size, value) >= 0;
    }

    /** Removes every value from {@code value} up. */
    void removeFrom(long value) {
        while (size > 0 && values[size - 1] >= value) {
            size--;
        }
    }
}
