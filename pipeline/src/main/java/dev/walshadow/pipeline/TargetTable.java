package dev.walshadow.pipeline;

import dev.walshadow.base.Invariant;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One followed table while the process runs. State changes go through {@link TargetTables} and
 * {@link TableFailures}; counters may be bumped by any thread.
 */
final class TargetTable {
    private final RelationDescriptor shape;
    private final @Nullable TableMapping mapping;
    private final SourceEncoding encoding;

    private volatile TableState state;
    private volatile String reason;
    private volatile long positionLsn;
    private volatile long baselineLsn;

    final LongAdder rows = new LongAdder();
    final LongAdder tombstones = new LongAdder();
    final LongAdder discardedRows = new LongAdder();

    /** Set once by the worker that the table is pinned to; others only recycle blocks. */
    volatile @Nullable TableWriter writer;

    /** Written by the worker that the table is pinned to. */
    volatile long lastCommitLsn;

    volatile long lastCommitMicros;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition acknowledged = lock.newCondition();
    private int batchesInFlight;

    TargetTable(
            RelationDescriptor shape,
            @Nullable TableMapping mapping,
            SourceEncoding encoding,
            TableState state) {
        Invariant.check(mapping != null || state != TableState.LIVE, "live tables are mapped");
        this.shape = shape;
        this.mapping = mapping;
        this.encoding = encoding;
        this.state = state;
        this.reason = "";
    }

    /** A table that nothing is sent to. */
    static TargetTable held(RelationDescriptor shape, SourceEncoding encoding, String reason) {
        TargetTable table = new TargetTable(shape, null, encoding, TableState.HELD);
        table.reason = reason;
        return table;
    }

    RelationDescriptor shape() {
        return shape;
    }

    int databaseOid() {
        return shape.databaseOid();
    }

    int relationOid() {
        return shape.oid();
    }

    long key() {
        return Quarantine.key(shape.databaseOid(), shape.oid());
    }

    String label() {
        return shape.label();
    }

    @Nullable TableMapping mapping() {
        return mapping;
    }

    /** For tables that are sent: they have one. */
    TableMapping mapped() {
        TableMapping present = mapping;
        Invariant.check(present != null, "a table that is sent is mapped");
        return Objects.requireNonNull(present);
    }

    RowEncoder compile() {
        return RowEncoder.compile(shape, mapped(), encoding);
    }

    TableState state() {
        return state;
    }

    /** True while the table is being replicated without an end in sight. */
    boolean isFollowed() {
        TableState now = state;
        return now == TableState.LIVE || now == TableState.LOADING;
    }

    /** True while changes of this commit position are sent, false if they are discarded. */
    boolean follows(long commitPosition) {
        return switch (state) {
            case LIVE, LOADING -> true;
            case QUARANTINED -> mapping != null && commitPosition < positionLsn;
            case HELD -> false;
        };
    }

    String reason() {
        return reason;
    }

    long positionLsn() {
        return positionLsn;
    }

    long baselineLsn() {
        return baselineLsn;
    }

    void setBaselineLsn(long lsn) {
        baselineLsn = lsn;
    }

    /** The initial load is complete. */
    void loaded() {
        lock.lock();
        try {
            if (state == TableState.LOADING) {
                state = TableState.LIVE;
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Sets the table aside from a position on; an earlier position replaces a later one. Final
     * while the process runs.
     *
     * @return false if it was set aside at or before that position
     */
    boolean setAside(String why, long position) {
        lock.lock();
        try {
            if (state == TableState.QUARANTINED && positionLsn <= position) {
                return false;
            }
            reason = why;
            positionLsn = position;
            state = TableState.QUARANTINED;
            return true;
        } finally {
            lock.unlock();
        }
    }

    void batchSealed() {
        lock.lock();
        try {
            batchesInFlight++;
        } finally {
            lock.unlock();
        }
    }

    void batchSettled() {
        lock.lock();
        try {
            Invariant.check(--batchesInFlight >= 0, "a batch is settled once");
            if (batchesInFlight == 0) {
                acknowledged.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    int batchesInFlight() {
        lock.lock();
        try {
            return batchesInFlight;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until every sealed batch is durable or discarded. */
    void awaitSettled() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (batchesInFlight > 0) {
                acknowledged.await();
            }
        } finally {
            lock.unlock();
        }
    }

    TableStatus status() {
        RelationName name = shape.name();
        TableMapping target = mapping;
        return new TableStatus(
                databaseOid(),
                relationOid(),
                name,
                target == null ? "" : target.database(),
                target == null ? "" : target.table(),
                state,
                reason,
                positionLsn,
                baselineLsn,
                rows.sum(),
                tombstones.sum(),
                discardedRows.sum(),
                lastCommitLsn,
                lastCommitMicros);
    }
}
