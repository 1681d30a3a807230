package dev.walshadow.pipeline;

import dev.walshadow.transaction.RawRecord;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Records of one transaction for one worker, in LSN order: positions in chunks, no object per
 * record. Filled by the planner, then read by the worker. A record whose chunk does not stay is
 * copied.
 */
final class Piece {
    private static final int COPY_BYTES = 64 << 10;

    /** An offset where there is no chunk. */
    private static final int EXCHANGE = 1;

    final TransactionWork work;

    private @Nullable TargetTable[] tables = new @Nullable TargetTable[4];
    private byte[] @Nullable [] chunks = new byte[4] @Nullable [];
    private int[] offsets = new int[4];
    private int count;
    private byte[] copy = new byte[0];
    private int copied;

    /** Bytes of the records, what it is charged in the queue. */
    private long bytes;

    Piece(TransactionWork work) {
        this.work = work;
    }

    int count() {
        return count;
    }

    long bytes() {
        return bytes;
    }

    /** The place where a generation begins. */
    void addOpening(TargetTable table) {
        grow();
        tables[count++] = table;
    }

    /** The place behind the last row that a staging table needs. */
    void addExchange(TargetTable table) {
        grow();
        offsets[count] = EXCHANGE;
        tables[count++] = table;
    }

    /** True if there is no record here, but a generation begins. */
    boolean isOpening(int index) {
        return chunks[index] == null && offsets[index] == 0;
    }

    /** True if there is no record here, but a staging table is complete. */
    boolean isExchange(int index) {
        return chunks[index] == null && offsets[index] == EXCHANGE;
    }

    private void grow() {
        if (count == offsets.length) {
            int larger = count * 2;
            tables = Arrays.copyOf(tables, larger);
            chunks = Arrays.copyOf(chunks, larger);
            offsets = Arrays.copyOf(offsets, larger);
        }
    }

    void add(TargetTable table, RawRecord record, boolean stable) {
        grow();
        tables[count] = table;
        int length = record.length();
        if (stable) {
            chunks[count] = record.buffer();
            offsets[count] = record.offset();
        } else {
            copy(record, length);
        }
        count++;
        bytes += length;
    }

    private void copy(RawRecord record, int length) {
        if (copy.length - copied < length) {
            copy = new byte[Math.max(COPY_BYTES, length)];
            copied = 0;
        }
        System.arraycopy(record.buffer(), record.offset(), copy, copied, length);
        chunks[count] = copy;
        offsets[count] = copied;
        copied += length;
    }

    TargetTable table(int index) {
        return Objects.requireNonNull(tables[index]);
    }

    void wrap(int index, RawRecord record) {
        record.wrap(Objects.requireNonNull(chunks[index]), offsets[index]);
    }
}
