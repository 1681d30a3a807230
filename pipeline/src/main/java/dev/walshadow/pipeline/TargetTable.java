package dev.walshadow.pipeline;

import dev.walshadow.base.Invariant;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.encode.PolicyCounts;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.encode.ValueLimits;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One generation of a followed table: its shape and mapping from a commit position on. A change of
 * shape makes the next generation, which begins with an {@link Opening}. State changes go through
 * {@link TargetTables} and {@link TableFailures}; counters may be bumped by any thread.
 */
final class TargetTable {
    private final RelationDescriptor shape;
    private final @Nullable TableMapping mapping;
    private final SourceEncoding encoding;
    private final long fromPosition;
    private final @Nullable Opening opening;

    /** Where its rows go now. */
    private volatile @Nullable TargetName place;

    /** What the ledger says about the mapping. */
    private volatile Pin pin;

    /** Its rows go to a staging table that takes the target's place when it is complete. */
    private volatile boolean staged;

    private boolean newStorageOnly;

    /** The same, but its rows come in the WAL, and come again after a restart. */
    private volatile boolean refilled;

    /** What becomes of changes while its rows are read from the source; kept when they are. */
    private volatile @Nullable LoadFilter loadFilter;

    private volatile boolean open;

    /** Of a partition: the partitioned table that its rows go to. Set before it is published. */
    private @Nullable TargetTable root;

    /**
     * Of a partitioned table: its partitions' generations of before, which send to the table that
     * the opening changes. Set before it is published.
     */
    private final List<TargetTable> members = new ArrayList<>();

    private final CountDownLatch retired = new CountDownLatch(1);

    /** A later generation has taken over that needs nothing of this one. */
    private volatile boolean abandoned;

    private volatile TableState state;
    private volatile String reason;
    private volatile long positionLsn;
    private volatile long baselineLsn;

    final LongAdder rows = new LongAdder();
    final LongAdder tombstones = new LongAdder();
    final LongAdder discardedRows = new LongAdder();

    /** Set once by the worker that the table is pinned to; others only recycle blocks. */
    volatile @Nullable TableWriter writer;

    /**
     * For the rows of a load, which come in another form than those of the WAL. Set before the
     * first of them is submitted.
     */
    volatile @Nullable RowEncoder loadEncoder;

    /** Written by the worker that the table is pinned to. */
    volatile long lastCommitLsn;

    volatile long lastCommitMicros;

    /** Commit position of the newest TRUNCATE that is known. */
    private final AtomicLong emptiedAt = new AtomicLong();

    /** Who changes its table in ClickHouse. */
    private enum Use {
        FREE,
        OCCUPIED,
        WANTED,
        SUCCEEDED
    }

    private final AtomicReference<Use> use = new AtomicReference<>(Use.FREE);

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition acknowledged = lock.newCondition();
    private int batchesInFlight;

    /**
     * A mapping as the ledger has it.
     *
     * @param applied the mapping of the table that is in ClickHouse; null: none
     * @param since commits below have arrived, or are contained in what was loaded
     * @param pending the mapping that is being applied; null: none
     */
    record Pin(@Nullable TableMapping applied, long since, @Nullable TableMapping pending) {
        static final Pin NONE = new Pin(null, 0, null);
    }

    /**
     * @param fromPosition first commit position whose changes belong to this generation
     * @param opening what comes before its first row; null: nothing
     */
    TargetTable(
            RelationDescriptor shape,
            @Nullable TableMapping mapping,
            SourceEncoding encoding,
            TableState state,
            long fromPosition,
            @Nullable Opening opening) {
        Invariant.check(mapping != null || state != TableState.LIVE, "live tables are mapped");
        this.shape = shape;
        this.mapping = mapping;
        this.encoding = encoding;
        this.state = state;
        this.reason = "";
        this.fromPosition = fromPosition;
        this.opening = opening;
        this.open = opening == null;
        this.place = mapping == null ? null : TargetName.of(mapping);
        this.pin = new Pin(opening == null ? mapping : null, fromPosition, null);
    }

    /** A table that nothing is sent to. */
    static TargetTable held(
            RelationDescriptor shape,
            SourceEncoding encoding,
            String reason,
            long fromPosition,
            @Nullable Opening opening) {
        TargetTable table =
                new TargetTable(shape, null, encoding, TableState.HELD, fromPosition, opening);
        table.reason = reason;
        return table;
    }

    /** Why it is as it is, for people. Before it is published. */
    TargetTable because(String why) {
        reason = why;
        return this;
    }

    /** What was found on the way: nothing is sent to it from now on. */
    void hold(String why) {
        lock.lock();
        try {
            reason = why;
            state = TableState.HELD;
        } finally {
            lock.unlock();
        }
    }

    /** Its rows come from the source after all. */
    void load() {
        lock.lock();
        try {
            Invariant.check(state == TableState.LIVE, "it was to be altered");
            state = TableState.LOADING;
        } finally {
            lock.unlock();
        }
    }

    @Nullable TargetTable root() {
        return root;
    }

    TargetTable join(TargetTable partitioned) {
        root = partitioned;
        return this;
    }

    List<TargetTable> members() {
        return members;
    }

    /** A partitioned table has no rows of its own. */
    boolean isPartitioned() {
        return shape.kind() == 'p';
    }

    /** Its last row is durable, or of no interest; the next generation goes on. */
    void retire() {
        retired.countDown();
    }

    void awaitRetired() throws InterruptedException {
        retired.await();
    }

    /** Waits until its opening is through. */
    void awaitOpen() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!open) {
                acknowledged.await();
            }
        } finally {
            lock.unlock();
        }
    }

    long fromPosition() {
        return fromPosition;
    }

    @Nullable Opening opening() {
        return opening;
    }

    Pin pin() {
        return pin;
    }

    void pin(Pin now) {
        pin = now;
    }

    /** Where its rows go; for tables that are sent. */
    TargetName place() {
        TargetTable partitioned = root;
        if (partitioned != null) {
            return partitioned.place();
        }
        TargetName now = place;
        Invariant.check(now != null, "a table that is sent has a place");
        return Objects.requireNonNull(now);
    }

    void place(TargetName now) {
        place = now;
    }

    // for changes of the table in ClickHouse that are no opening's

    /** False if it is taken, or a later generation has taken over. {@link #free} follows. */
    boolean occupy() {
        return use.compareAndSet(Use.FREE, Use.OCCUPIED);
    }

    /** A later generation waits for {@link #free}. */
    boolean isWanted() {
        return use.get() == Use.WANTED;
    }

    void free() {
        use.set(Use.FREE);
    }

    /** Lets nobody occupy it any more; false while somebody does. */
    boolean succeed() {
        return use.updateAndGet(now ->
                switch (now) {
                    case FREE, SUCCEEDED -> Use.SUCCEEDED;
                    case OCCUPIED, WANTED -> Use.WANTED;
                })
                == Use.SUCCEEDED;
    }

    boolean isStaged() {
        return staged;
    }

    /** Its rows are collected in a staging table. */
    void stage(TargetName staging) {
        loadFilter = new LoadFilter(false);
        staged = true;
        place = staging;
    }

    /** Its rows are loaded into the partitioned table's table, which others use meanwhile. */
    void stageInPlace() {
        loadFilter = new LoadFilter(true);
        staged = true;
    }

    /** Null unless its rows come, or came, from the source. */
    @Nullable LoadFilter loadFilter() {
        return loadFilter;
    }

    /** The same where they do. */
    LoadFilter requireLoadFilter() {
        LoadFilter present = loadFilter;
        Invariant.check(present != null, "a table that is loaded has a filter");
        return Objects.requireNonNull(present);
    }

    /** What becomes of a change of this commit. */
    LoadFilter.Verdict verdict(int xid, long commitPosition) {
        LoadFilter filter = loadFilter;
        return filter == null ? LoadFilter.Verdict.SEND : filter.verdict(xid, commitPosition);
    }

    /**
     * What the commit that it begins with wrote to earlier storage is in its new storage, too, or
     * gone.
     */
    boolean hasNewStorageOnly() {
        return newStorageOnly || opening instanceof Opening.Refill;
    }

    void keepNewStorageOnly() {
        newStorageOnly = true;
    }

    boolean isRefilled() {
        return refilled;
    }

    /** Its rows are collected in a staging table, from one commit's records. */
    void refill(TargetName staging) {
        refilled = true;
        place = staging;
    }

    /** The staging table has become the target. */
    void unstage(TargetName target) {
        place = target;
        staged = false;
        refilled = false;
    }

    /** Its rows are not wanted any more: a later generation brings everything itself. */
    void abandon() {
        abandoned = true;
    }

    boolean isAbandoned() {
        return abandoned;
    }

    /** False while its {@link Opening}, or the exchange with its staging table, is under way. */
    boolean isOpen() {
        return open;
    }

    void setOpen(boolean now) {
        lock.lock();
        try {
            open = now;
            acknowledged.signalAll();
        } finally {
            lock.unlock();
        }
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

    RowEncoder compile(ValueLimits limits) {
        return RowEncoder.compile(shape, mapped(), encoding, limits.of(shape.name()));
    }

    /** An encoder that looks ahead for another. */
    RowEncoder ahead(RowEncoder encoder) {
        return encoder.ahead(shape, encoding);
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
        if (abandoned || (root != null && !root.follows(commitPosition))) {
            return false;
        }
        return switch (state) {
            case LIVE, LOADING -> true;
            case QUARANTINED -> mapping != null && commitPosition < positionLsn;
            case HELD, DROPPED -> false;
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

    /** The counters of the generation before go on. */
    void continueCounts(TargetTable before) {
        rows.add(before.rows.sum());
        tombstones.add(before.tombstones.sum());
        lastCommitLsn = before.lastCommitLsn;
        lastCommitMicros = before.lastCommitMicros;
        baselineLsn = before.baselineLsn;
    }

    /** A TRUNCATE of this commit position. Any thread. */
    void emptied(long commitPosition) {
        emptiedAt.accumulateAndGet(commitPosition, Math::max);
    }

    /** Whether what committed here is gone, by a TRUNCATE that is known. */
    boolean isEmptiedSince(long commitPosition) {
        return commitPosition <= emptiedAt.get();
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

    /** By column the values that policies changed, of the WAL and of a load, in this generation. */
    Map<String, Map<PolicyCounts.Policy, Long>> changedValues() {
        Map<String, Map<PolicyCounts.Policy, Long>> changed = new TreeMap<>();
        TableWriter writing = writer;
        RowEncoder loading = loadEncoder;
        if (writing != null) {
            addChanged(writing.encoder(), changed);
        }
        if (loading != null) {
            addChanged(loading, changed);
        }
        return changed;
    }

    private static void addChanged(
            RowEncoder encoder, Map<String, Map<PolicyCounts.Policy, Long>> changed) {
        encoder.counts()
                .byColumn()
                .forEach((column, counts) -> {
                    Map<PolicyCounts.Policy, Long> of =
                            changed.computeIfAbsent(
                                    encoder.mapping().blockNames().get(column),
                                    _ -> new EnumMap<>(PolicyCounts.Policy.class));
                    counts.forEach((policy, count) -> of.merge(policy, count, Long::sum));
                });
    }

    TableStatus status() {
        RelationName name = shape.name();
        TableMapping target = mapping;
        TableState shown = staged && state == TableState.LIVE ? TableState.LOADING : state;
        return new TableStatus(
                databaseOid(),
                relationOid(),
                name,
                target == null ? "" : target.database(),
                target == null ? "" : target.table(),
                shown,
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
