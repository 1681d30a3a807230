package dev.walshadow.transaction;

import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What the buffer has done; written by the WAL pump, readable by every thread at any time. */
public final class TransactionCounters {
    final AtomicLong records = new AtomicLong();
    final AtomicLong recordBytes = new AtomicLong();
    final AtomicLong live = new AtomicLong();
    final AtomicLong prepared = new AtomicLong();
    final AtomicLong committed = new AtomicLong();
    final AtomicLong aborted = new AtomicLong();
    final AtomicLong rolledBackSubtransactions = new AtomicLong();
    final AtomicLong vanished = new AtomicLong();
    final AtomicLong spilledTransactions = new AtomicLong();
    final AtomicLong spilledBytes = new AtomicLong();
    volatile @Nullable String waitsForDisk;

    private final ChunkPool pool;

    TransactionCounters(ChunkPool pool) {
        this.pool = pool;
    }

    /** Single writer: a plain add, published in order. */
    static void add(AtomicLong counter, long amount) {
        counter.lazySet(counter.getPlain() + amount);
    }

    /** Records kept since the start. */
    public long records() {
        return records.get();
    }

    /** Bytes of records kept since the start. */
    public long recordBytes() {
        return recordBytes.get();
    }

    /** Bytes of chunks held now, by open transactions and by committed ones not yet closed. */
    public long memoryBytes() {
        return pool.bytesHeld();
    }

    /** Open transactions now, prepared ones included. */
    public long live() {
        return live.get();
    }

    /** Prepared transactions now. */
    public long prepared() {
        return prepared.get();
    }

    /** Committed transactions handed on since the start; those without records do not count. */
    public long committed() {
        return committed.get();
    }

    /** Top-level transactions rolled back since the start. */
    public long aborted() {
        return aborted.get();
    }

    public long rolledBackSubtransactions() {
        return rolledBackSubtransactions.get();
    }

    /** Transactions of a crashed or stopped source that never got an end record. */
    public long vanished() {
        return vanished.get();
    }

    /** Transactions that went to disk since the start. */
    public long spilledTransactions() {
        return spilledTransactions.get();
    }

    /** Bytes written to spill files since the start. */
    public long spilledBytes() {
        return spilledBytes.get();
    }

    /** Why the WAL pump waits for room on the spill disk; null if it does not. */
    public @Nullable String waitsForDisk() {
        return waitsForDisk;
    }
}
