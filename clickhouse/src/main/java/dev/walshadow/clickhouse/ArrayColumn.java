package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

/** Cumulative element counts before the elements. */
public final class ArrayColumn extends ColumnBuffer {
    private final ByteBuilder ends = new ByteBuilder(512);
    private final ColumnBuffer elements;

    public ArrayColumn(ColumnBuffer elements) {
        this.elements = elements;
    }

    /** Where the elements of the row being made are appended; {@link #endRow()} closes it. */
    public ColumnBuffer elements() {
        return elements;
    }

    /** Ends a row: what was appended to the elements since the previous end belongs to it. */
    public void endRow() {
        ends.putLong(elements.rows());
    }

    @Override
    public int rows() {
        return ends.length() / Long.BYTES;
    }

    @Override
    public long bytes() {
        return ends.length() + elements.bytes();
    }

    @Override
    public long memoryBytes() {
        return ends.capacity() + elements.memoryBytes();
    }

    @Override
    public void clear() {
        ends.clear();
        elements.clear();
    }

    /** Also drops elements of a row that was not ended. */
    @Override
    public void truncate(int rows) {
        ends.setLength(Math.min(rows * Long.BYTES, ends.length()));
        elements.truncate(startOf(rows()));
    }

    private int startOf(int row) {
        return row == 0 ? 0 : (int) LittleEndian.getLong(ends.array(), (row - 1) * Long.BYTES);
    }

    @Override
    public void appendDefault() {
        endRow();
    }

    @Override
    public void appendAll(ColumnBuffer other) {
        ArrayColumn theirs = (ArrayColumn) other;
        int before = elements.rows();
        for (int i = 0; i < theirs.ends.length(); i += Long.BYTES) {
            ends.putLong(before + LittleEndian.getLong(theirs.ends.array(), i));
        }
        elements.appendAll(theirs.elements);
    }

    @Override
    public int appendRowBinary(byte[] bytes, int offset) {
        int count = Varint.get(bytes, offset);
        int at = offset + Varint.length(count);
        for (int i = 0; i < count; i++) {
            at = elements.appendRowBinary(bytes, at);
        }
        endRow();
        return at;
    }

    @Override
    public void copyRowBinary(RowBinaryInput in, ByteBuilder out) throws IOException {
        int count = in.copyVarint(out);
        for (int i = 0; i < count; i++) {
            elements.copyRowBinary(in, out);
        }
    }

    @Override
    public void rowBinary(int row, ByteBuilder out) {
        int start = startOf(row);
        int end = startOf(row + 1);
        Varint.put(out, end - start);
        for (int i = start; i < end; i++) {
            elements.rowBinary(i, out);
        }
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        out.write(ends.array(), 0, ends.length());
        elements.writeTo(out);
    }

    @Override
    void writeTo(OutputStream out, short[] places, int place) throws IOException {
        int rows = rows();
        ByteBuilder chosen = new ByteBuilder(Math.max(1, ends.length()));
        short[] ofElements = new short[elements.rows()];
        long count = 0;
        int start = 0;
        for (int row = 0; row < rows; row++) {
            int end = startOf(row + 1);
            Arrays.fill(ofElements, start, end, places[row]);
            if (places[row] == place) {
                count += end - start;
                chosen.putLong(count);
            }
            start = end;
        }
        out.write(chosen.array(), 0, chosen.length());
        elements.writeTo(out, ofElements, place);
    }
}
