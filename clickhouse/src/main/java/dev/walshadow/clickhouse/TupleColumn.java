package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import java.io.IOException;
import java.io.OutputStream;

/** Several columns side by side; a value is one append to each element. */
public final class TupleColumn extends ColumnBuffer {
    private final ColumnBuffer[] elements;

    public TupleColumn(ColumnBuffer... elements) {
        Invariant.check(elements.length > 0, "a tuple has elements");
        this.elements = elements.clone();
    }

    public ColumnBuffer element(int index) {
        return elements[index];
    }

    @Override
    public int rows() {
        return elements[0].rows();
    }

    @Override
    public long bytes() {
        long sum = 0;
        for (ColumnBuffer element : elements) {
            sum += element.bytes();
        }
        return sum;
    }

    @Override
    public long memoryBytes() {
        long sum = 0;
        for (ColumnBuffer element : elements) {
            sum += element.memoryBytes();
        }
        return sum;
    }

    @Override
    public void clear() {
        for (ColumnBuffer element : elements) {
            element.clear();
        }
    }

    @Override
    public void truncate(int rows) {
        for (ColumnBuffer element : elements) {
            element.truncate(rows);
        }
    }

    @Override
    public void appendDefault() {
        for (ColumnBuffer element : elements) {
            element.appendDefault();
        }
    }

    @Override
    public void appendAll(ColumnBuffer other) {
        TupleColumn theirs = (TupleColumn) other;
        for (int i = 0; i < elements.length; i++) {
            elements[i].appendAll(theirs.elements[i]);
        }
    }

    @Override
    public int appendRowBinary(byte[] bytes, int offset) {
        int at = offset;
        for (ColumnBuffer element : elements) {
            at = element.appendRowBinary(bytes, at);
        }
        return at;
    }

    @Override
    public void copyRowBinary(RowBinaryInput in, ByteBuilder out) throws IOException {
        for (ColumnBuffer element : elements) {
            element.copyRowBinary(in, out);
        }
    }

    @Override
    public void rowBinary(int row, ByteBuilder out) {
        for (ColumnBuffer element : elements) {
            element.rowBinary(row, out);
        }
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        for (ColumnBuffer element : elements) {
            element.writeTo(out);
        }
    }

    @Override
    void writeTo(OutputStream out, short[] places, int place) throws IOException {
        for (ColumnBuffer element : elements) {
            element.writeTo(out, places, place);
        }
    }
}
