package dev.walshadow.clickhouse;

import dev.walshadow.base.Invariant;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** One row of a text result: a reused view, valid until the consumer returns. */
public final class ResultRow {
    private static final int NULL = -1;

    byte[] buffer = new byte[256];
    private int[] offsets = new int[16];
    private int[] lengths = new int[16];
    private int columns;

    void clear() {
        columns = 0;
    }

    void add(int offset, int length) {
        if (columns == offsets.length) {
            offsets = Arrays.copyOf(offsets, columns * 2);
            lengths = Arrays.copyOf(lengths, columns * 2);
        }
        offsets[columns] = offset;
        lengths[columns++] = length;
    }

    void addNull() {
        add(0, NULL);
    }

    public int columns() {
        return columns;
    }

    public boolean isNull(int column) {
        return length(column) == NULL;
    }

    public byte[] buffer() {
        return buffer;
    }

    public int offset(int column) {
        Invariant.check(column < columns, "the row has this column");
        return offsets[column];
    }

    /** Bytes of the value; -1 for NULL. */
    public int length(int column) {
        Invariant.check(column < columns, "the row has this column");
        return lengths[column];
    }

    /** The value as text; null for NULL. */
    public @Nullable String text(int column) {
        return isNull(column)
                ? null
                : new String(buffer, offset(column), length(column), StandardCharsets.UTF_8);
    }
}
