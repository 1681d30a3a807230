package dev.walshadow.pipeline;

import dev.walshadow.base.Backoff;
import dev.walshadow.pipeline.AckLedger.Hold;
import dev.walshadow.pipeline.encode.TableBlock;
import java.util.BitSet;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Rows of one table on their way: open while a worker appends, then sealed and owned by the
 * inserters until ClickHouse has answered. Its holds name the lowest sequence in it, for changes
 * and for the initial load.
 */
final class Batch implements Delayed {
    private static final long PASSING_NANOS = 2_000_000;

    private static final long RETRY_CEILING_MILLIS = 5_000;

    final TargetTable table;
    final TableBlock block;

    /** Of the same transactions; they are sent before the rows. */
    @Nullable ChunkBlock chunks;

    final Hold streamHold = new Hold();
    final Hold baselineHold = new Hold();
    final long openedNanos;

    /** Commit position of the first change in it. */
    final long firstPosition;

    /** The shards that have their rows of it; null before the first, or if there is only one. */
    @Nullable BitSet sent;

    int tombstones;
    int baselineRows;
    long bytesReserved;

    /** The same for every attempt (I7); set when sealed. */
    @Nullable String token;

    /** Commit position and time of the newest change in it. */
    long lastPosition;

    long lastMicros;

    private final Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
    private long readyNanos;

    Batch(TargetTable table, TableBlock block, long firstPosition, long nowNanos) {
        this.table = table;
        this.block = block;
        this.firstPosition = firstPosition;
        this.openedNanos = nowNanos;
        this.readyNanos = nowNanos;
    }

    boolean isEmpty() {
        return block.rows() == 0 && chunks == null;
    }

    /** Of what is sent. */
    long bytes() {
        ChunkBlock beside = chunks;
        return block.bytes() + (beside == null ? 0 : beside.nativeBlock().bytes());
    }

    /** Memory that it takes. */
    long memoryBytes() {
        ChunkBlock beside = chunks;
        return block.memoryBytes() + (beside == null ? 0 : beside.nativeBlock().memoryBytes());
    }

    /** After a refusal for now: the next attempt waits. Returns the delay. */
    long postpone() {
        long delay = backoff.nextDelayMillis();
        readyNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(delay);
        return delay;
    }

    /** Behind the batch of the same table that is under way. */
    void letPass() {
        readyNanos = System.nanoTime() + PASSING_NANOS;
    }

    @Override
    public long getDelay(TimeUnit unit) {
        return unit.convert(readyNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    @Override
    public int compareTo(Delayed other) {
        return Long.compare(readyNanos - ((Batch) other).readyNanos, 0);
    }
}
