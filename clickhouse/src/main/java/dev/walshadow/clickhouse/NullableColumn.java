package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import java.io.IOException;
import java.io.OutputStream;

/** A null map before the values. A value is appended by {@link #present()} and to the inner. */
public final class NullableColumn extends ColumnBuffer {
    private final ByteBuilder nulls = new ByteBuilder(256);
    private final ColumnBuffer inner;

    public NullableColumn(ColumnBuffer inner) {
        this.inner = inner;
    }

    public ColumnBuffer inner() {
        return inner;
    }

    /** Says that the row is not NULL; the caller then appends exactly one value to the inner. */
    public void present() {
        nulls.putByte(0);
    }

    public void appendNull() {
        nulls.putByte(1);
        inner.appendDefault();
    }

    @Override
    public int rows() {
        return nulls.length();
    }

    @Override
    public long bytes() {
        return nulls.length() + inner.bytes();
    }

    @Override
    public long memoryBytes() {
        return nulls.capacity() + inner.memoryBytes();
    }

    @Override
    public void clear() {
        nulls.clear();
        inner.clear();
    }

    @Override
    public void truncate(int rows) {
        nulls.setLength(Math.min(rows, nulls.length()));
        inner.truncate(rows);
    }

    @Override
    public void appendDefault() {
        appendNull();
    }

    @Override
    public void appendAll(ColumnBuffer other) {
        NullableColumn theirs = (NullableColumn) other;
        nulls.putBytes(theirs.nulls.array(), 0, theirs.nulls.length());
        inner.appendAll(theirs.inner);
    }

    @Override
    public int appendRowBinary(byte[] bytes, int offset) {
        if (bytes[offset] != 0) {
            appendNull();
            return offset + 1;
        }
        present();
        return inner.appendRowBinary(bytes, offset + 1);
    }

    @Override
    public void copyRowBinary(RowBinaryInput in, ByteBuilder out) throws IOException {
        in.copy(1, out);
        if (out.array()[out.length() - 1] == 0) {
            inner.copyRowBinary(in, out);
        }
    }

    @Override
    public void rowBinary(int row, ByteBuilder out) {
        byte isNull = nulls.array()[row];
        out.putByte(isNull);
        if (isNull == 0) {
            inner.rowBinary(row, out);
        }
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        out.write(nulls.array(), 0, nulls.length());
        inner.writeTo(out);
    }

    @Override
    void writeTo(OutputStream out, short[] places, int place) throws IOException {
        byte[] array = nulls.array();
        ByteBuilder chosen = new ByteBuilder(Math.max(1, nulls.length()));
        for (int row = 0; row < nulls.length(); row++) {
            if (places[row] == place) {
                chosen.putByte(array[row]);
            }
        }
        out.write(chosen.array(), 0, chosen.length());
        inner.writeTo(out, places, place);
    }
}
