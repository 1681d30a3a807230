package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import java.io.IOException;
import java.io.OutputStream;

/** Values of one width. The appends trust their caller to match the width given at creation. */
public final class FixedColumn extends ColumnBuffer {
    private final int width;
    private final ByteBuilder body;

    public FixedColumn(int width) {
        Invariant.check(width > 0, "a fixed column has a width");
        this.width = width;
        this.body = new ByteBuilder(64 * width);
    }

    public int width() {
        return width;
    }

    /** For writers that append a whole value of this width themselves. */
    public ByteBuilder body() {
        return body;
    }

    public void appendByte(int value) {
        body.putByte(value);
    }

    public void appendShort(int value) {
        body.putShort(value);
    }

    public void appendInt(int value) {
        body.putInt(value);
    }

    public void appendLong(long value) {
        body.putLong(value);
    }

    public void appendInt128(long low, long high) {
        body.putLong(low);
        body.putLong(high);
    }

    /** Four 64-bit words, the lowest first. */
    public void appendInt256(long word0, long word1, long word2, long word3) {
        body.putLong(word0);
        body.putLong(word1);
        body.putLong(word2);
        body.putLong(word3);
    }

    /** A value of the column's whole width. */
    public void appendBytes(byte[] bytes, int offset) {
        body.putBytes(bytes, offset, width);
    }

    /** A FixedString shorter than the width: padded with zero bytes. */
    public void appendPadded(byte[] bytes, int offset, int length) {
        Invariant.check(length <= width, "a fixed string fits its width");
        body.putBytes(bytes, offset, length);
        body.putZeros(width - length);
    }

    @Override
    public int rows() {
        return body.length() / width;
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
    }

    @Override
    public void truncate(int rows) {
        body.setLength(Math.min(body.length(), Math.multiplyExact(rows, width)));
    }

    @Override
    public void appendDefault() {
        body.putZeros(width);
    }

    @Override
    public void appendAll(ColumnBuffer other) {
        ByteBuilder theirs = ((FixedColumn) other).body;
        body.putBytes(theirs.array(), 0, theirs.length());
    }

    @Override
    public int appendRowBinary(byte[] bytes, int offset) {
        appendBytes(bytes, offset);
        return offset + width;
    }

    @Override
    public void copyRowBinary(RowBinaryInput in, ByteBuilder out) throws IOException {
        in.copy(width, out);
    }

    @Override
    public void rowBinary(int row, ByteBuilder out) {
        out.putBytes(body.array(), row * width, width);
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        out.write(body.array(), 0, body.length());
    }
}
