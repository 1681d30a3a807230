package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import java.io.IOException;
import java.io.OutputStream;

/**
 * One column of a block, kept as the body that the Native format sends, so that nothing is copied
 * or made per value. Not thread safe; one thread fills it, another may send it after a hand-over.
 *
 * <p>Bodies by type (ClickHouse's {@code SerializationXxx::serializeBinaryBulk}):
 *
 * <pre>
 * fixed width    the values, little-endian, one after the other
 * String         per value: length as LEB128 varint, bytes
 * Nullable(T)    one byte per row (1 = NULL), then T's body with a default where NULL
 * Array(T)       per row: u64 count of elements so far (cumulative), then T's body
 * Tuple(T, ...)  the bodies of the elements, one after the other
 * Map(K, V)      as Array(Tuple(K, V))
 * </pre>
 */
public abstract sealed class ColumnBuffer
        permits FixedColumn, StringColumn, NullableColumn, ArrayColumn, TupleColumn {

    /**
     * The buffer for a type. LowCardinality is sent as its inner type and JSON as String: the
     * server converts ({@link #wireType}).
     */
    public static ColumnBuffer of(ClickHouseType type) {
        return switch (type) {
            case ClickHouseType.Scalar scalar ->
                    scalar.width() > 0 ? new FixedColumn(scalar.width()) : new StringColumn();
            case ClickHouseType.FixedString fixed -> new FixedColumn(fixed.length());
            case ClickHouseType.Decimal decimal -> new FixedColumn(decimal.width());
            case ClickHouseType.DateTime _ -> new FixedColumn(4);
            case ClickHouseType.DateTime64 _, ClickHouseType.Time64 _ -> new FixedColumn(8);
            case ClickHouseType.Enumeration enumeration -> new FixedColumn(enumeration.bits() / 8);
            case ClickHouseType.Nullable nullable -> new NullableColumn(of(nullable.inner()));
            case ClickHouseType.LowCardinality low -> of(low.inner());
            case ClickHouseType.Array array -> new ArrayColumn(of(array.element()));
            case ClickHouseType.Tuple tuple ->
                    new TupleColumn(
                            tuple.elements().stream()
                                    .map(e -> of(e.type()))
                                    .toArray(ColumnBuffer[]::new));
            case ClickHouseType.Map map ->
                    new ArrayColumn(new TupleColumn(of(map.key()), of(map.value())));
            case ClickHouseType.Other other ->
                    throw new IllegalArgumentException(
                            "walshadow cannot write values of the ClickHouse type " + other.text());
        };
    }

    /** The type that a block declares for a column of {@code type}; see {@link #of}. */
    public static ClickHouseType wireType(ClickHouseType type) {
        return switch (type) {
            case ClickHouseType.LowCardinality low -> wireType(low.inner());
            case ClickHouseType.Nullable n -> new ClickHouseType.Nullable(wireType(n.inner()));
            case ClickHouseType.Array array -> new ClickHouseType.Array(wireType(array.element()));
            case ClickHouseType.Scalar scalar ->
                    scalar == ClickHouseType.Scalar.JSON ? ClickHouseType.Scalar.STRING : scalar;
            default -> type;
        };
    }

    /** Values appended so far. */
    public abstract int rows();

    /** Bytes of the body as it stands. */
    public abstract long bytes();

    /** Bytes of memory that the body takes, the room for more included. */
    public abstract long memoryBytes();

    /** Empties the column, keeps its memory. */
    public abstract void clear();

    /** Drops the values from index {@code rows} on. */
    public abstract void truncate(int rows);

    /** Appends ClickHouse's default: 0, empty, NULL for Nullable. */
    public abstract void appendDefault();

    /** Appends every value of {@code other}, which was made for the same type. */
    public abstract void appendAll(ColumnBuffer other);

    /**
     * Appends one value in RowBinary form.
     *
     * @return the offset behind it
     */
    public abstract int appendRowBinary(byte[] bytes, int offset);

    /**
     * Appends the next value of {@code in}, one of the column's type, in RowBinary form to {@code
     * out}; the column's own values do not matter.
     *
     * @throws java.io.StreamCorruptedException if the answer is cut off or is none
     */
    public abstract void copyRowBinary(RowBinaryInput in, ByteBuilder out) throws IOException;

    /** Appends the value at {@code row} to {@code out} in RowBinary form. */
    public abstract void rowBinary(int row, ByteBuilder out);

    /** Writes the body. */
    public abstract void writeTo(OutputStream out) throws IOException;

    /**
     * Writes the body that the rows of one place have, without a copy of them.
     *
     * @param places by row, as {@link RowSplit} has them; may be longer than there are rows
     */
    abstract void writeTo(OutputStream out, short[] places, int place) throws IOException;

    /**
     * Hashes every value as ClickHouse's {@code sipHash64} does. Of values of fixed width and of
     * String only: no key has others.
     *
     * @param hashes by row; replaced
     * @param more whether they are the hashes of other columns' values, which these come after
     */
    public final void hash(long[] hashes, boolean more) {
        if (more) {
            long[] next = new long[hashes.length];
            hash(next);
            for (int row = 0; row < hashes.length; row++) {
                hashes[row] = SipHash.combine(hashes[row], next[row]);
            }
        } else {
            hash(hashes);
        }
    }

    /** One hash for each row. */
    void hash(long[] hashes) {
        throw new UnsupportedOperationException("a key of " + getClass().getSimpleName());
    }
}
