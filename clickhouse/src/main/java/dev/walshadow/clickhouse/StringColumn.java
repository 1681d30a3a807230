package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import java.io.IOException;
import java.io.OutputStream;

/** Values of any length, each a varint length and its bytes. */
public final class StringColumn extends ColumnBuffer {
    private final ByteBuilder body = new ByteBuilder(1024);
    private int rows;

    public void append(byte[] bytes, int offset, int length) {
        Varint.put(body, length);
        body.putBytes(bytes, offset, length);
        rows++;
    }

    public void append(ByteBuilder value) {
        append(value.array(), 0, value.length());
    }

    @Override
    public int rows() {
        return rows;
    }

    @Override
    public long bytes() {
        return body.length();
    }

    @Override
    public void clear() {
        body.clear();
        rows = 0;
    }

    /** Walks from the start: for the rare failed row, so that good rows pay nothing. */
    @Override
    public void truncate(int rowsKept) {
        if (rowsKept < rows) {
            body.setLength(offsetOf(rowsKept));
            rows = rowsKept;
        }
    }

    private int offsetOf(int row) {
        byte[] array = body.array();
        int offset = 0;
        for (int i = 0; i < row; i++) {
            int length = Varint.get(array, offset);
            offset += Varint.length(length) + length;
        }
        return offset;
    }

    @Override
    public void appendDefault() {
        body.putByte(0);
        rows++;
    }

    @Override
    public void appendAll(ColumnBuffer other) {
        StringColumn theirs = (StringColumn) other;
        body.putBytes(theirs.body.array(), 0, theirs.body.length());
        rows += theirs.rows;
    }

    @Override
    public int appendRowBinary(byte[] bytes, int offset) {
        int length = Varint.get(bytes, offset);
        int whole = Varint.length(length) + length;
        body.putBytes(bytes, offset, whole);
        rows++;
        return offset + whole;
    }

    @Override
    public void rowBinary(int row, ByteBuilder out) {
        int offset = offsetOf(row);
        int length = Varint.get(body.array(), offset);
        out.putBytes(body.array(), offset, Varint.length(length) + length);
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        out.write(body.array(), 0, body.length());
    }
}
