package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;

/** Values of any length, each a varint length and its bytes. */
public final class StringColumn extends ColumnBuffer {
    private static final int UNKNOWN = -1;

    private final ByteBuilder body = new ByteBuilder(1024);
    private int rows;

    /** Where the last row begins; {@link #UNKNOWN} after some were dropped. */
    private int lastAt = UNKNOWN;

    public void append(byte[] bytes, int offset, int length) {
        int at = body.length();
        Varint.put(body, length);
        body.putBytes(bytes, offset, length);
        lastAt = at;
        rows++;
    }

    /**
     * Begins a value of so many bytes, which the caller then appends to what is returned.
     *
     * @throws ByteBuilder.FullException if the column has no room for them; it is unchanged
     */
    public ByteBuilder begin(long length) {
        body.ensure((int) Math.min(Integer.MAX_VALUE, length + Varint.MAX_LENGTH));
        lastAt = body.length();
        Varint.put(body, (int) length);
        rows++;
        return body;
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
    public long memoryBytes() {
        return body.capacity();
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
            lastAt = UNKNOWN;
        }
    }

    private int offsetOf(int row) {
        if (row == rows - 1 && lastAt != UNKNOWN) {
            return lastAt;
        }
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
        lastAt = body.length();
        body.putByte(0);
        rows++;
    }

    @Override
    public void appendAll(ColumnBuffer other) {
        StringColumn theirs = (StringColumn) other;
        lastAt = UNKNOWN;
        body.putBytes(theirs.body.array(), 0, theirs.body.length());
        rows += theirs.rows;
    }

    @Override
    public int appendRowBinary(byte[] bytes, int offset) {
        int length = Varint.get(bytes, offset);
        int whole = Varint.length(length) + length;
        // before any room is made for a length that is not true
        Objects.checkFromIndexSize(offset, whole, bytes.length);
        int at = body.length();
        body.putBytes(bytes, offset, whole);
        lastAt = at;
        rows++;
        return offset + whole;
    }

    @Override
    public void copyRowBinary(RowBinaryInput in, ByteBuilder out) throws IOException {
        in.copy(in.copyVarint(out), out);
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

    @Override
    void writeTo(OutputStream out, short[] places, int place) throws IOException {
        byte[] array = body.array();
        int first = 0;
        int at = 0;
        for (int row = 0; row < rows; row++) {
            int length = Varint.get(array, at);
            int next = at + Varint.length(length) + length;
            if (places[row] != place) {
                out.write(array, first, at - first);
                first = next;
            }
            at = next;
        }
        out.write(array, first, at - first);
    }

    /** Of the bytes, without their length. */
    @Override
    void hash(long[] hashes) {
        byte[] array = body.array();
        int at = 0;
        for (int row = 0; row < hashes.length; row++) {
            int length = Varint.get(array, at);
            at += Varint.length(length);
            hashes[row] = SipHash.of(array, at, length);
            at += length;
        }
    }
}
