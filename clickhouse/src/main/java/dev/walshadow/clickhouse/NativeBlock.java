package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A block of columns that writes itself in ClickHouse's Native format, as {@code INSERT ... FORMAT
 * Native} over HTTP reads it: revision 0, so no block info and no per-column serialization kind.
 *
 * <pre>
 * varint columns, varint rows
 * per column: varint length + name, varint length + type text, body ({@link ColumnBuffer})
 * </pre>
 */
public final class NativeBlock {
    private final List<String> names;
    private final List<ClickHouseType> types;
    private final ColumnBuffer[] columns;
    private final byte[][] headers;

    public NativeBlock(List<String> names, List<ClickHouseType> types) {
        Invariant.check(names.size() == types.size() && !names.isEmpty(), "each column has a type");
        this.names = List.copyOf(names);
        this.types = List.copyOf(types);
        this.columns = new ColumnBuffer[names.size()];
        this.headers = new byte[names.size()][];
        ByteBuilder header = new ByteBuilder(64);
        for (int i = 0; i < columns.length; i++) {
            columns[i] = ColumnBuffer.of(types.get(i));
            header.clear();
            putText(header, names.get(i));
            putText(header, ColumnBuffer.wireType(types.get(i)).print());
            headers[i] = header.toByteArray();
        }
    }

    private static void putText(ByteBuilder out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        Varint.put(out, bytes.length);
        out.putBytes(bytes);
    }

    public List<String> names() {
        return names;
    }

    public List<ClickHouseType> types() {
        return types;
    }

    public int columnCount() {
        return columns.length;
    }

    public ColumnBuffer column(int index) {
        return columns[index];
    }

    /** The column, which is of a fixed width. */
    public FixedColumn fixed(int index) {
        return (FixedColumn) columns[index];
    }

    /** Appends a text, in UTF-8, to a column of strings. */
    public void appendText(int index, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ((StringColumn) columns[index]).append(bytes, 0, bytes.length);
    }

    public int rows() {
        return columns[columns.length - 1].rows();
    }

    /** Bytes of all bodies. */
    public long bytes() {
        long sum = 0;
        for (ColumnBuffer column : columns) {
            sum += column.bytes();
        }
        return sum;
    }

    /** Bytes of memory that the columns take, the room for more included. */
    public long memoryBytes() {
        long sum = 0;
        for (ColumnBuffer column : columns) {
            sum += column.memoryBytes();
        }
        return sum;
    }

    public void clear() {
        for (ColumnBuffer column : columns) {
            column.clear();
        }
    }

    /** Drops what was appended from row {@code rows} on, in every column. */
    public void truncate(int rows) {
        for (ColumnBuffer column : columns) {
            column.truncate(rows);
        }
    }

    /** Appends every row of a block with the same columns. */
    public void appendAll(NativeBlock other) {
        Invariant.check(types.equals(other.types), "blocks have the same columns");
        for (int i = 0; i < columns.length; i++) {
            columns[i].appendAll(other.columns[i]);
        }
    }

    public void writeTo(OutputStream out) throws IOException {
        writeCounts(out, rows());
        for (int i = 0; i < columns.length; i++) {
            writeHeader(out, i);
            columns[i].writeTo(out);
        }
    }

    /** The block of those rows that go to one place. */
    public void writeTo(OutputStream out, RowSplit split, int place) throws IOException {
        Invariant.check(split.places().length == rows(), "every row has a place");
        writeCounts(out, split.count(place));
        for (int i = 0; i < columns.length; i++) {
            writeHeader(out, i);
            columns[i].writeTo(out, split.places(), place);
        }
    }

    private void writeCounts(OutputStream out, int rows) throws IOException {
        ByteBuilder counts = new ByteBuilder(16);
        Varint.put(counts, columns.length);
        Varint.put(counts, rows);
        out.write(counts.array(), 0, counts.length());
    }

    private void writeHeader(OutputStream out, int column) throws IOException {
        Invariant.check(columns[column].rows() == rows(), "every column has a value for each row");
        out.write(headers[column]);
    }
}
