package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.ToastValues;

/** Turns tuples of one relation shape into rows of one mapping. Not thread safe. */
@SuppressWarnings("DoNotCallSuggester")
public final class RowEncoder {
    /** The row was appended. */
    public static final int OK = 0;

    /** Nothing was appended: {@link #missingCount()} columns are toasted elsewhere. */
    public static final int NEEDS_OLD_VALUE = 1;

    private final TableMapping mapping;

    private RowEncoder(TableMapping mapping) {
        this.mapping = mapping;
    }

    /**
     * @throws dev.walshadow.base.QuarantineException if the mapping was not made for this shape
     */
    public static RowEncoder compile(
            RelationDescriptor shape, TableMapping mapping, SourceEncoding encoding) {
        return new RowEncoder(mapping);
    }

    public TableMapping mapping() {
        return mapping;
    }

    public TableBlock newBlock() {
        return new TableBlock(mapping);
    }

    /** What the value policies changed so far. */
    public PolicyCounts counts() {
        throw new UnsupportedOperationException();
    }

    /**
     * Appends one row. A failure leaves the block as it was.
     *
     * @return {@link #OK} or {@link #NEEDS_OLD_VALUE}
     * @throws dev.walshadow.base.QuarantineException names table, column and position
     */
    public int appendRow(TableBlock block, TupleView tuple, RowMeta meta, ToastValues toast) {
        throw new UnsupportedOperationException();
    }

    /** As {@link #appendRow}, taking values that are toasted elsewhere from {@code old}. */
    public int appendRowWithOld(
            TableBlock block, TupleView tuple, RowMeta meta, ToastValues toast, OldValues old) {
        throw new UnsupportedOperationException();
    }

    /** Appends a deletion: the key, nothing else. */
    public void appendTombstone(
            TableBlock block, TupleView keyTuple, RowMeta meta, ToastValues toast) {
        throw new UnsupportedOperationException();
    }

    /** How many columns the last {@link #NEEDS_OLD_VALUE} lacked. */
    public int missingCount() {
        throw new UnsupportedOperationException();
    }

    /** Index in the mapping's columns of the {@code i}-th missing one. */
    public int missingColumn(int i) {
        throw new UnsupportedOperationException();
    }

    /**
     * Whether ClickHouse sees one key in both tuples. A key column that is toasted elsewhere in
     * {@code newTuple} is unchanged.
     */
    public boolean sameKey(TupleView newTuple, TupleView oldKey, ToastValues toast) {
        throw new UnsupportedOperationException();
    }

    /**
     * Appends the key's values in key order, each in RowBinary form: equal bytes are one key, and
     * {@code SELECT <keyNames> ... FORMAT RowBinary} gives the same bytes.
     */
    public void appendKey(TupleView tuple, RowMeta meta, ToastValues toast, ByteBuilder out) {
        throw new UnsupportedOperationException();
    }

    /** Appends the key as a SQL literal, e.g. {@code (1, 'a')}, for {@code (keys) IN (...)}. */
    public void appendKeyLiteral(
            TupleView tuple, RowMeta meta, ToastValues toast, ByteBuilder out) {
        throw new UnsupportedOperationException();
    }
}
