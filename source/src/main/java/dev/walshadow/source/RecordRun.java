package dev.walshadow.source;

import dev.walshadow.base.Invariant;
import dev.walshadow.postgres.wal.WalRecord;
import org.jspecify.annotations.Nullable;

/**
 * Records that are decided but neither published nor handed on. They are published together and
 * then handed on one by one, so that the shadow gets frames of about a page and every record still
 * reaches it before the decoder (I1). Single-threaded; reuses its flyweights.
 */
final class RecordRun {
    private static final int CAPACITY = 64;

    private final WalRecord[] records = new WalRecord[CAPACITY];
    private final Decision[] decisions = new Decision[CAPACITY];
    private @Nullable CatalogBoundary boundary;
    private int size;

    RecordRun() {
        for (int i = 0; i < CAPACITY; i++) {
            records[i] = new WalRecord();
            decisions[i] = Decision.KEEP;
        }
    }

    /** The flyweight for the next record; {@link #add} makes it count. */
    WalRecord next() {
        Invariant.check(size < CAPACITY, "a full run is delivered before it goes on");
        return records[size];
    }

    /** A boundary ends the run. */
    void add(Decision decision, @Nullable CatalogBoundary boundary) {
        decisions[size++] = decision;
        this.boundary = boundary;
    }

    boolean isFull() {
        return size == CAPACITY || boundary != null;
    }

    boolean endsAtBoundary() {
        return boundary != null;
    }

    /** Copies everything to {@code deferred} instead, and forgets it. */
    void moveTo(DeferredRecords deferred) {
        for (int i = 0; i < size; i++) {
            deferred.add(records[i], decisions[i], i == size - 1 ? boundary : null);
        }
        size = 0;
        boundary = null;
    }

    /** Hands on what starts at or behind {@code decodeFrom}, and forgets everything. */
    void handTo(RecordSink sink, long decodeFrom) throws InterruptedException {
        int count = size;
        CatalogBoundary last = boundary;
        size = 0;
        boundary = null;
        for (int i = 0; i < count; i++) {
            if (records[i].lsn() >= decodeFrom) {
                sink.onRecord(records[i], decisions[i], i == count - 1 ? last : null);
            }
        }
    }
}
