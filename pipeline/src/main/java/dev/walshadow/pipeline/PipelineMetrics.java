package dev.walshadow.pipeline;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Plain counters since the start of the process; any thread may read them at any time. */
public final class PipelineMetrics {
    final LongAdder transactions = new LongAdder();
    final LongAdder skippedTransactions = new LongAdder();
    final LongAdder records = new LongAdder();
    final LongAdder droppedRecords = new LongAdder();
    final LongAdder containedRecords = new LongAdder();
    final LongAdder discardedRows = new LongAdder();
    final LongAdder rows = new LongAdder();
    final LongAdder tombstones = new LongAdder();
    final LongAdder tombstonesRemoved = new LongAdder();
    final LongAdder baselineRows = new LongAdder();
    final LongAdder batches = new LongAdder();
    final LongAdder batchBytes = new LongAdder();
    final LongAdder retries = new LongAdder();
    final LongAdder defaultedRows = new LongAdder();
    final LongAdder oldValueLookups = new LongAdder();
    final LongAdder oldValueRows = new LongAdder();
    final LongAdder supersededRows = new LongAdder();
    final LongAdder sourceLookups = new LongAdder();
    final LongAdder sweeps = new LongAdder();
    final AtomicLong queuedBytes = new AtomicLong();
    final AtomicLong heldBytes = new AtomicLong();
    final AtomicLong deferredBytes = new AtomicLong();
    final AtomicLong undurableTransactions = new AtomicLong();
    final AtomicLong lastCommitToDurableMicros = new AtomicLong();
    final AtomicLong lastInsertMicros = new AtomicLong();

    /** Commit time of the newest durable transaction. */
    private long lastDurableCommitMicros;

    PipelineMetrics() {}

    /** Called when the watermark has moved, by one thread at a time. */
    void durable(Watermark watermark) {
        if (watermark.commitMicros() != lastDurableCommitMicros) {
            lastDurableCommitMicros = watermark.commitMicros();
            long nowMicros = System.currentTimeMillis() * 1_000 - Sweep.POSTGRES_EPOCH_MICROS;
            lastCommitToDurableMicros.set(Math.max(0, nowMicros - watermark.commitMicros()));
        }
    }

    /** Transactions handed over. */
    public long transactions() {
        return transactions.sum();
    }

    /** Of these, skipped because they were durable since an earlier run. */
    public long skippedTransactions() {
        return skippedTransactions.sum();
    }

    /** Tombstones that are gone from ClickHouse. */
    public long tombstonesRemoved() {
        return tombstonesRemoved.sum();
    }

    /** Heap records planned for a table. */
    public long records() {
        return records.sum();
    }

    /** Heap records of relations that are not followed. */
    public long droppedRecords() {
        return droppedRecords.sum();
    }

    /** Records that were left out, since the rows of a load contain them. */
    public long containedRecords() {
        return containedRecords.sum();
    }

    /** Changes of quarantined or held tables. */
    public long discardedRows() {
        return discardedRows.sum();
    }

    /** Rows that ClickHouse has acknowledged, tombstones and baseline rows included. */
    public long rows() {
        return rows.sum();
    }

    public long tombstones() {
        return tombstones.sum();
    }

    public long baselineRows() {
        return baselineRows.sum();
    }

    public long batches() {
        return batches.sum();
    }

    /** Uncompressed bytes of acknowledged batches. */
    public long batchBytes() {
        return batchBytes.sum();
    }

    /** Inserts repeated because ClickHouse could not take them then. */
    public long retries() {
        return retries.sum();
    }

    /**
     * Rows with a toasted value that nobody has: NULL (mode disabled, superseded baseline rows).
     */
    public long defaultedRows() {
        return defaultedRows.sum();
    }

    /** SELECTs for unchanged toasted values. */
    public long oldValueLookups() {
        return oldValueLookups.sum();
    }

    /** Rows completed from their previous version. */
    public long oldValueRows() {
        return oldValueRows.sum();
    }

    /** Row versions that were left out, since a newer one was sent with them. */
    public long supersededRows() {
        return supersededRows.sum();
    }

    /** Of these, completed by a SELECT on the source. */
    public long sourceLookups() {
        return sourceLookups.sum();
    }

    /** Tables emptied or replaced (TRUNCATE). */
    public long sweeps() {
        return sweeps.sum();
    }

    /** Bytes of records planned and not yet decoded. */
    public long queuedBytes() {
        return queuedBytes.get();
    }

    /** Bytes of open and sealed batches. */
    public long heldBytes() {
        return heldBytes.get();
    }

    /** Bytes of records that wait for an old value, in memory and on disk. */
    public long deferredBytes() {
        return deferredBytes.get();
    }

    /** Transactions handed over and not yet durable. */
    public long undurableTransactions() {
        return undurableTransactions.get();
    }

    /** Commit on the source to durable in ClickHouse, for the newest durable transaction. */
    public long lastCommitToDurableMicros() {
        return lastCommitToDurableMicros.get();
    }

    /** Duration of the newest successful insert. */
    public long lastInsertMicros() {
        return lastInsertMicros.get();
    }
}
