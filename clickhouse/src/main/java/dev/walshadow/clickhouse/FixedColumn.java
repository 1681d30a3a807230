package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
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

    /** Rows beside each other at once. */
    @Override
    void writeTo(OutputStream out, short[] places, int place) throws IOException {
        int rows = rows();
        int row = 0;
        while (row < rows) {
            if (places[row] != place) {
                row++;
                continue;
            }
            int first = row;
            while (row < rows && places[row] == place) {
                row++;
            }
            out.write(body.array(), first * width, (row - first) * width);
        }
    }

    @Override
    void hash(long[] hashes) {
        byte[] bytes = body.array();
        for (int row = 0; row < hashes.length; row++) {
            hashes[row] = SipHash.of(bytes, row * width, width);
        }
    }

    /**
     * As {@link #hash} of the column's floating point numbers, where -0 and 0 are one value, and so
     * are all that are none.
     */
    public void hashNumbers(long[] hashes, boolean more) {
        FixedColumn numbers = new FixedColumn(width);
        for (int at = 0; at < body.length(); at += width) {
            if (width == Double.BYTES) {
                double number = Double.longBitsToDouble(LittleEndian.getLong(body.array(), at));
                numbers.appendLong(Double.doubleToLongBits(number == 0 ? 0 : number));
            } else {
                float number = Float.intBitsToFloat(LittleEndian.getInt(body.array(), at));
                numbers.appendInt(Float.floatToIntBits(number == 0 ? 0 : number));
            }
        }
        numbers.hash(hashes, more);
    }
}
