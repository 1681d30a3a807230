package dev.walshadow.clickhouse;

import dev.walshadow.base.ByteBuilder;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StreamCorruptedException;

/**
 * An answer in RowBinary, read value by value ({@link ColumnBuffer#copyRowBinary}), so that no more
 * of it is held than what is kept of it. Not thread safe.
 */
public final class RowBinaryInput {
    private static final int BUFFER_BYTES = 64 << 10;

    /** A longer value gets no more room at a time than as many bytes as have come. */
    private static final int STEP_BYTES = 1 << 20;

    private final InputStream in;

    public RowBinaryInput(InputStream in) {
        this.in = new BufferedInputStream(in, BUFFER_BYTES);
    }

    /** Whether the answer ends here. */
    public boolean isAtEnd() throws IOException {
        in.mark(1);
        boolean end = in.read() < 0;
        in.reset();
        return end;
    }

    /**
     * Appends the next {@code count} bytes.
     *
     * @throws StreamCorruptedException if the answer is cut off
     */
    public void copy(int count, ByteBuilder out) throws IOException {
        int left = count;
        while (left > 0) {
            int room = Math.min(left, Math.max(STEP_BYTES, out.length()));
            if (count > STEP_BYTES) {
                out.ensureExactly(room);
            } else {
                out.ensure(room);
            }
            int got = in.readNBytes(out.array(), out.length(), room);
            out.setLength(out.length() + got);
            if (got < room) {
                throw new StreamCorruptedException("a value of " + count + " bytes is cut off");
            }
            left -= got;
        }
    }

    /**
     * Appends a varint as it is.
     *
     * @throws StreamCorruptedException if it is not what {@link Varint#put} makes of any length
     */
    int copyVarint(ByteBuilder out) throws IOException {
        int at = out.length();
        long value = 0;
        for (int i = 0; i < Varint.MAX_LENGTH; i++) {
            copy(1, out);
            byte last = out.array()[at + i];
            value |= (last & 0x7FL) << (7 * i);
            if (last >= 0) {
                return checked(value, i + 1);
            }
        }
        throw new StreamCorruptedException("a length of more than 31 bits");
    }

    private static int checked(long value, int length) throws IOException {
        try {
            return Varint.checked(value, length);
        } catch (IndexOutOfBoundsException e) {
            StreamCorruptedException corrupted = new StreamCorruptedException(e.getMessage());
            corrupted.initCause(e);
            throw corrupted;
        }
    }
}
