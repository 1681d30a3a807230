package dev.walshadow.pipeline.encode;

import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Rows of one table on their way to ClickHouse. Filled by one thread; handed over whole. Every
 * encoder of the same mapping may fill it.
 */
public final class TableBlock {
    private final TableMapping mapping;
    private final NativeBlock block;

    /** Per column its null map, or null; and where its values go. */
    final @Nullable NullableColumn[] nulls;

    final ColumnBuffer[] values;

    /** The meta columns; {@code xid} is appended last, so its rows are the finished ones. */
    final FixedColumn version;

    final FixedColumn isDeleted;
    final FixedColumn commitTimestamp;
    final FixedColumn xid;

    /** Of a partition. */
    final @Nullable FixedColumn leaf;

    /** Of a table without a key. */
    final @Nullable FixedColumn tid;

    public TableBlock(TableMapping mapping) {
        this.mapping = mapping;
        this.block = new NativeBlock(mapping.blockNames(), mapping.blockTypes());
        this.nulls = new @Nullable NullableColumn[block.columnCount()];
        this.values = new ColumnBuffer[block.columnCount()];
        for (int i = 0; i < values.length; i++) {
            ColumnBuffer column = block.column(i);
            nulls[i] = column instanceof NullableColumn nullable ? nullable : null;
            values[i] = column instanceof NullableColumn nullable ? nullable.inner() : column;
        }
        int meta = mapping.columns().size();
        this.version = (FixedColumn) values[meta];
        this.isDeleted = (FixedColumn) values[meta + 1];
        this.commitTimestamp = (FixedColumn) values[meta + 2];
        this.xid = (FixedColumn) values[meta + 3];
        this.leaf = mapping.meta().leaf() != null ? (FixedColumn) values[meta + 4] : null;
        this.tid = mapping.isKeyless() ? (FixedColumn) values[values.length - 1] : null;
    }

    public TableMapping mapping() {
        return mapping;
    }

    /** What is sent. */
    public NativeBlock nativeBlock() {
        return block;
    }

    public int rows() {
        return xid.rows();
    }

    public long bytes() {
        return block.bytes();
    }

    /** Memory that it takes, the room for more rows included. */
    public long memoryBytes() {
        return block.memoryBytes();
    }

    public void clear() {
        block.clear();
    }

    /** Drops the rows from index {@code rows} on. */
    public void truncate(int rows) {
        block.truncate(rows);
    }

    /** After a failure in the middle of a row. */
    void dropUnfinishedRow() {
        block.truncate(xid.rows());
    }

    /** Appends all rows of another block of the same mapping. */
    public void appendAll(TableBlock other) {
        block.appendAll(other.block);
    }

    @Override
    public String toString() {
        return mapping.target() + Arrays.asList(rows(), bytes());
    }
}
