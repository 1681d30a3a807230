package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.pipeline.encode.OldValues;
import java.math.BigInteger;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The newest version of a key that is known: from ClickHouse or from a row encoded just now. */
final class PreviousVersion implements OldValues {
    private final long high;
    private final long low;
    private final boolean deleted;
    private final int[] columns;
    private final byte[][] values;

    /**
     * @param high commit position
     * @param low record LSN with the lowest bit 0 for a tombstone
     * @param columns block columns whose values are here, ascending
     * @param values each in RowBinary form
     */
    PreviousVersion(long high, long low, boolean deleted, int[] columns, byte[][] values) {
        this.high = high;
        this.low = low;
        this.deleted = deleted;
        this.columns = columns;
        this.values = values;
    }

    boolean isDeleted() {
        return deleted;
    }

    BigInteger version() {
        return Versions.of(high, low);
    }

    /** Compares versions as ClickHouse does (UInt128). */
    boolean isBelow(long otherHigh, long otherLow) {
        int order = Long.compareUnsigned(high, otherHigh);
        return order < 0 || (order == 0 && Long.compareUnsigned(low, otherLow) < 0);
    }

    boolean isBelow(PreviousVersion other) {
        return isBelow(other.high, other.low);
    }

    /**
     * The same version with these of its values.
     *
     * @param some block columns that are here, ascending
     */
    PreviousVersion only(int[] some) {
        byte[][] theirs = new byte[some.length][];
        for (int i = 0; i < some.length; i++) {
            theirs[i] = values[Arrays.binarySearch(columns, some[i])];
        }
        return new PreviousVersion(high, low, deleted, some, theirs);
    }

    /** In RowBinary form; null if it is not here. */
    byte @Nullable [] value(int column) {
        int i = Arrays.binarySearch(columns, column);
        return i < 0 ? null : values[i];
    }

    @Override
    public boolean append(int column, ByteBuilder out) {
        byte[] value = value(column);
        if (value != null) {
            out.putBytes(value);
        }
        return value != null;
    }
}
