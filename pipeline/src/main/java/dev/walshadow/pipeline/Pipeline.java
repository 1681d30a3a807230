package dev.walshadow.pipeline;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.Code;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.MemoryBudget;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.pipeline.encode.PolicyCounts;
import dev.walshadow.transaction.CommitSink;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.ToastRelations;
import dev.walshadow.transaction.ToastValues;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Committed transactions to ClickHouse rows.
 *
 * <pre>
 * commit() > planner > decode workers (tables pinned by hash) > batches > inserters > AckLedger
 * </pre>
 *
 * The watermark is the highest commit position below which everything is durable (I7). Every queue
 * is bounded; while ClickHouse does not take rows, {@link #commit} blocks and nothing grows (I10).
 */
public final class Pipeline implements CommitSink, AutoCloseable {
    /** In the state directory: changes that wait for old values; belongs to one process. */
    static final String WAITING = "waiting";

    private static final int LEDGER_ENTRIES = 1 << 16;
    private static final long CHECK_MILLIS = 200;
    private static final long LOAD_POLL_MILLIS = 10;

    /**
     * What the pipeline stands on.
     *
     * @param lookup null: a value that neither the WAL nor ClickHouse has quarantines its table
     * @param gate whether ClickHouse may be asked for anything
     */
    public record Surroundings(
            ClickHouseClient client,
            DescriptorLog descriptors,
            TargetTables tables,
            Quarantine quarantine,
            PipelineEvents events,
            @Nullable SourceLookup lookup,
            TargetGate gate) {}

    private final PipelineOptions options;
    private final TargetTables tables;
    private final PipelineEvents events;
    private final Services services;
    private final DecodeWorker.Shared shared;
    private final DecodeWorker[] workers;
    private final Inserters inserters;
    private final AsyncSteps steps;
    private final Housekeeping housekeeping;
    private final MirrorCleaning cleaning;
    private final TombstoneRemoval removal;
    private final TableLoading loading;

    private final PlanOrder toPlan;
    private final Planner streamPlanner;
    private final Planner baselinePlanner;
    private final Thread planning;
    private final ReentrantLock baselineLock = new ReentrantLock();
    private final ReentrantLock publishLock = new ReentrantLock();
    private long publishedLsn;

    /** The newest commit of which anything may have reached a worker. */
    private final AtomicLong handedOver;

    /** Handed over, and waiting for its commit's rows. Belongs to the caller of {@link #commit}. */
    private @Nullable ChangedTables changed;

    private record ChangedTables(CatalogChange change, long firstLsn) {}

    private Pipeline(PipelineOptions options, Surroundings given) {
        this.options = options;
        this.shared =
                new DecodeWorker.Shared(
                        new BatchLimits(
                                options.batchRows(), options.batchBytes(), options.batchAge()));
        this.tables = given.tables();
        this.events = given.events();
        FatalFailure fatal = new FatalFailure(events, this::interruptAll);
        PipelineMetrics metrics = new PipelineMetrics();
        TargetReachability reachability = new TargetReachability(events, metrics, given.gate());
        ChunkMirror mirror =
                options.toast() == ToastMode.CLICKHOUSE
                        ? new ChunkMirror(given.client(), tables.names())
                        : null;
        int count = options.decodeWorkers();
        services =
                new Services(
                        options,
                        given.client(),
                        new AckLedger(count, LEDGER_ENTRIES, options.durableLsn()),
                        new AckLedger(count, LEDGER_ENTRIES, 0),
                        new MemoryBudget(options.queueBytes()),
                        new MemoryBudget(options.memoryBytes()),
                        metrics,
                        events,
                        new TableFailures(given.quarantine(), events),
                        reachability,
                        fatal,
                        this::publish,
                        given.lookup(),
                        new BaselineToast(),
                        new RecentValues(options.recentValueBytes()),
                        mirror,
                        new TargetDdl(
                                given.client(),
                                tables,
                                given.quarantine(),
                                reachability,
                                events,
                                mirror),
                        given.gate());
        publishedLsn = options.durableLsn();
        handedOver = new AtomicLong(options.durableLsn());
        steps = new AsyncSteps(fatal);
        inserters = new Inserters(services, new Settlement(services, this::wake));
        workers = new DecodeWorker[count];
        for (int i = 0; i < count; i++) {
            workers[i] = new DecodeWorker(i, services, inserters, steps, shared);
        }
        TableChanges changes = new TableChanges(tables, given.descriptors());
        ReentrantLock generations = new ReentrantLock();
        streamPlanner = new Planner(router(given), changes, workers, services, generations);
        Planner passing = new Planner(router(given), changes, workers, services, generations);
        toPlan =
                new PlanOrder(
                        streamPlanner, passing, services.stream(), tables, given.descriptors());
        baselinePlanner = new Planner(router(given), changes, workers, services, generations);
        planning = Thread.ofPlatform().name("planner").unstarted(this::plan);
        housekeeping = new Housekeeping(services, tables, given.quarantine(), this::watermark);
        cleaning = new MirrorCleaning(services, tables.names(), options.durableLsn());
        loading = new TableLoading(this, services, tables);
        removal = new TombstoneRemoval(services, tables, steps);
    }

    private Router router(Surroundings given) {
        return new Router(
                given.descriptors(), tables, events, options.toast() == ToastMode.CLICKHOUSE);
    }

    /** Starts the threads. {@code tables} has been attached or resumed. */
    public static Pipeline start(PipelineOptions options, Surroundings surroundings) {
        prepareDirectory(options.stateDirectory().resolve(WAITING));
        for (Quarantine.Entry entry : surroundings.quarantine().entries()) {
            TargetTable table =
                    surroundings.tables().find(entry.databaseOid(), entry.relationOid());
            if (table != null && table.opening() == null) {
                table.setAside(entry.reason(), entry.positionLsn());
                table.discardedRows.add(entry.discardedRows());
            }
        }
        Pipeline pipeline = new Pipeline(options, surroundings);
        pipeline.inserters.start();
        for (DecodeWorker worker : pipeline.workers) {
            worker.start();
        }
        pipeline.resumeOpenings();
        pipeline.planning.start();
        pipeline.housekeeping.start();
        pipeline.cleaning.start();
        return pipeline;
    }

    /** What the last process left on its way comes before everything else. */
    private void resumeOpenings() {
        List<CatalogChange.Item> items = new ArrayList<>();
        for (TargetTable table : tables.all()) {
            if (table.opening() != null) {
                items.add(new CatalogChange.Resumed(table));
            }
        }
        if (!items.isEmpty()) {
            CatalogChange change = new CatalogChange(options.durableLsn() + 1, items);
            AckLedger ledger = services.stream();
            long sequence = ledger.assign(options.durableLsn(), 0, Long.MAX_VALUE);
            toPlan.begin(TransactionWork.catalog(change, ledger, sequence));
        }
    }

    /** What an earlier process deferred comes again. */
    private static void prepareDirectory(Path directory) {
        try {
            Files.createDirectories(directory);
            try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
                for (Path file : files) {
                    Files.delete(file);
                }
            }
        } catch (IOException e) {
            throw new HaltException(
                    PipelineCodes.SPOOL,
                    "cannot prepare " + directory + " (" + e + "); check rights, then restart",
                    e);
        }
    }

    /** For the transaction buffer: which storage is a TOAST relation's, by the descriptor log. */
    public static ToastRelations toastRelations(DescriptorLog descriptors) {
        return (locator, lsn) -> {
            RelationDescriptor found = descriptors.find(locator, lsn);
            if (found == null) {
                found = descriptors.find(locator, lsn - 1);
            }
            return found != null && found.kind() == 't' ? found.oid() : 0;
        };
    }

    /**
     * One committed transaction; blocks while ClickHouse does not keep up. One caller at a time.
     */
    @Override
    public void commit(CommittedChanges changes) throws InterruptedException {
        services.fatal().check();
        services.metrics().transactions.increment();
        if (changes.commitPosition() <= options.durableLsn()) {
            services.metrics().skippedTransactions.increment();
            if (tables.loadsOnly() && !changes.ignored()) {
                recallTruncates(changes);
            }
            changes.close();
            return;
        }
        ChangedTables own = changed;
        if (own != null && own.change().position() == changes.commitPosition()) {
            changed = null;
        } else {
            handOverChanged();
            own = null;
        }
        handedOver.accumulateAndGet(changes.commitPosition(), Math::max);
        AckLedger ledger = services.stream();
        long sequence =
                ledger.assign(changes.commitPosition(), changes.commitMicros(), changes.firstLsn());
        plan(
                TransactionWork.committed(
                        changes, own == null ? null : own.change(), ledger, sequence));
    }

    /** Rows that waited for an older transaction come late, and must not survive them. */
    private void recallTruncates(CommittedChanges durable) {
        TruncatedTables.in(
                durable,
                (database, relation) -> {
                    TargetTable table = tables.find(database, relation);
                    if (table != null && tables.empties(table)) {
                        table.emptied(durable.commitPosition());
                    }
                });
    }

    private void plan(TransactionWork work) throws InterruptedException {
        while (!toPlan.offer(work, CHECK_MILLIS)) {
            services.fatal().check();
        }
    }

    /**
     * What a commit made of selected tables; before its rows, and before anything that commits
     * later. What its rows are is looked at together with it, so it waits for them: for the next
     * {@link #commit}, {@link #advance} or whatever else is handed over. By the caller of {@link
     * #commit}.
     *
     * @param position the commit's position
     * @param firstLsn where a restart must begin so that this comes again
     */
    public void changeRelations(long position, long firstLsn, List<RelationChange> changes)
            throws InterruptedException {
        if (position <= options.durableLsn()) {
            return;
        }
        List<CatalogChange.Item> items = new ArrayList<>();
        ChangedTables waiting = changed;
        if (waiting != null && waiting.change().position() == position) {
            items.addAll(waiting.change().items());
        } else {
            handOverChanged();
        }
        changes.forEach(change -> items.add(new CatalogChange.Changed(change)));
        changed = new ChangedTables(new CatalogChange(position, items), firstLsn);
    }

    /** The commit that changed them has no rows. */
    private void handOverChanged() throws InterruptedException {
        ChangedTables waiting = changed;
        if (waiting != null) {
            changed = null;
            change(waiting.change().position(), waiting.firstLsn(), waiting.change().items());
        }
    }

    /**
     * Loads a table anew from the source, whatever its state. By the caller of {@link #commit}.
     *
     * @param position everything up to here has been handed over
     */
    public void reload(int databaseOid, int relationOid, long position, String reason)
            throws InterruptedException {
        handOverChanged();
        change(
                position + 1,
                Long.MAX_VALUE,
                List.of(new CatalogChange.Reload(databaseOid, relationOid, reason)));
    }

    /**
     * Follows tables from now on that have not been followed. By the caller of {@link #commit}.
     *
     * @param position everything up to here has been handed over
     * @param wanted partitions too, of those that are partitioned
     */
    public void take(long position, Collection<RelationDescriptor> wanted)
            throws InterruptedException {
        List<CatalogChange.Item> items = new ArrayList<>();
        wanted.forEach(relation -> items.add(new CatalogChange.Taken(relation)));
        change(position + 1, Long.MAX_VALUE, items);
    }

    /**
     * Follows tables no longer. By the caller of {@link #commit}.
     *
     * @param position everything up to here has been handed over
     * @param drop their rows go too
     */
    public void leaveOut(long position, Collection<RelationDescriptor> unwanted, boolean drop)
            throws InterruptedException {
        List<CatalogChange.Item> items = new ArrayList<>();
        unwanted.forEach(relation -> items.add(new CatalogChange.LeftOut(relation, drop)));
        change(position + 1, Long.MAX_VALUE, items);
    }

    private void change(long position, long firstLsn, List<CatalogChange.Item> items)
            throws InterruptedException {
        services.fatal().check();
        AckLedger ledger = services.stream();
        long sequence = ledger.assign(position - 1, 0, firstLsn);
        plan(TransactionWork.catalog(new CatalogChange(position, items), ledger, sequence));
    }

    private void plan() {
        try {
            while (true) {
                if (toPlan.planNext()) {
                    publish();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closing
        } catch (Throwable e) {
            services.fatal().raise(e);
        }
    }

    /**
     * Everything that committed up to {@code lsn} has been handed over: the watermark may reach it.
     * Called by the caller of {@link #commit}.
     */
    public void advance(long lsn) throws InterruptedException {
        handOverChanged();
        if (services.stream().advance(lsn)) {
            publish();
        }
    }

    /**
     * Rows of the initial load (commit position B). Any thread; blocks while ClickHouse does not
     * keep up; does not hold the watermark.
     *
     * @return a sequence for {@link #awaitBaseline}
     */
    public long submitBaseline(CommittedChanges changes) throws InterruptedException {
        return submitBaseline(changes, null);
    }

    /**
     * The same, of a load of one table.
     *
     * @param target null: the table that the changes' relation has
     */
    long submitBaseline(CommittedChanges changes, @Nullable TargetTable target)
            throws InterruptedException {
        services.fatal().check();
        baselineLock.lockInterruptibly();
        try {
            if (changes.xid() != 0) {
                handedOver.accumulateAndGet(changes.commitPosition(), Math::max);
            }
            AckLedger ledger = services.baseline();
            long sequence = ledger.assign(changes.commitPosition(), 0, changes.firstLsn());
            baselinePlanner.plan(TransactionWork.baseline(changes, ledger, sequence, target));
            ledger.planned(sequence);
            return sequence;
        } finally {
            baselineLock.unlock();
        }
    }

    /** Loads of single tables from the source. */
    public TableLoading loading() {
        return loading;
    }

    /** The newest commit of which anything may have reached a worker. */
    long handedOver() {
        return handedOver.get();
    }

    /** Who encodes the table's changes. */
    DecodeWorker worker(TargetTable table) {
        return streamPlanner.worker(table);
    }

    /** How many stored bytes of a value out of line are ever needed. */
    public int storedValueBytes() {
        return options.storedValueBytes();
    }

    /**
     * Waits until no table is being loaded anew, of those either that were asked for by now; false
     * on timeout.
     */
    public boolean awaitLoads(long deadlineNanos) throws InterruptedException {
        long asked = services.stream().assigned();
        while (!services.stream().isPlanned(asked) || isLoading()) {
            services.fatal().check();
            if (System.nanoTime() - deadlineNanos >= 0) {
                return false;
            }
            Thread.sleep(LOAD_POLL_MILLIS);
        }
        return true;
    }

    /** Whether any table is being loaded, or about to be what the stream has it. */
    public boolean isLoading() {
        return tables.all().stream().anyMatch(Pipeline::isBeingLoaded);
    }

    private static boolean isBeingLoaded(TargetTable table) {
        return table.isFollowed()
                && (!table.isOpen() || table.isStaged() || table.state() == TableState.LOADING);
    }

    /**
     * While true no table is altered in place: rows from before the attach are still on their way,
     * in the shapes of then.
     */
    public void onlyLoad(boolean now) {
        tables.setLoadsOnly(now);
    }

    /** Sends what is open and waits until all baseline rows up to {@code sequence} are durable. */
    public void awaitBaseline(long sequence) throws InterruptedException {
        await(services.baseline(), sequence);
    }

    private void await(AckLedger ledger, long sequence) throws InterruptedException {
        shared.urgent.incrementAndGet();
        try {
            wake();
            if (!ledger.awaitSequence(sequence)) {
                services.fatal().check();
                throw new HaltException(PipelineCodes.STOPPED, "the pipeline was closed");
            }
        } finally {
            shared.urgent.decrementAndGet();
        }
    }

    /**
     * The table's whole baseline was submitted and is durable ({@link #awaitBaseline}): it is live;
     * changes that waited for old values go on. The ledger says so after {@link #settleLedger}.
     */
    public void baselineComplete(int databaseOid, int relationOid) {
        TargetTable table = tables.find(databaseOid, relationOid);
        if (table != null && TargetTables.isInitiallyLoading(table)) {
            table.loaded();
            wake();
        }
    }

    /** Brings the tables' states in the ledger up to date, unless the gate is shut. */
    public void settleLedger() throws InterruptedException {
        Backoff backoff = new Backoff(5_000);
        while (true) {
            services.fatal().check();
            if (!services.gate().tryEnter()) {
                return;
            }
            long started = System.nanoTime();
            try {
                tables.writeChanges();
                tables.sequences().write();
                services.reachability().answered(Housekeeping.LEDGER);
                return;
            } catch (WalshadowException e) {
                services.reachability().failed(Housekeeping.LEDGER, e, started);
            } finally {
                services.gate().leave();
            }
            backoff.pause();
        }
    }

    /**
     * Sends what is open and waits until everything handed over before is durable. By the caller of
     * {@link #commit}.
     */
    public void flush() throws InterruptedException {
        handOverChanged();
        await(services.baseline(), services.baseline().assigned());
        await(services.stream(), services.stream().assigned());
    }

    /** Sends what is open, without waiting for it. By the caller of {@link #commit}. */
    public void hasten() throws InterruptedException {
        handOverChanged();
        long sequence = services.stream().assigned();
        steps.run("flush", () -> await(services.stream(), sequence));
    }

    /**
     * Names a position: the name is in the metadata database when everything that committed at or
     * before it is visible. By the caller of {@link #commit}.
     *
     * @param micros the commit's time, since 2000-01-01 UTC; 0: none
     * @param fromLsn where a restart must begin so that this comes again
     * @return false if too many wait
     */
    public boolean mark(String name, long position, long micros, long fromLsn) {
        return tables.markers().add(name, position, micros, fromLsn);
    }

    /** The sequences' last values in ClickHouse. */
    public SequenceTable sequences() {
        return tables.sequences();
    }

    /** Where a restart must begin to read so that no marker is lost. */
    public long markerFloor() {
        return tables.markers().floor();
    }

    /**
     * Sets a table aside, e.g. because its shape changed where that cannot be followed; durable on
     * return.
     *
     * @param positionLsn changes with this commit position and later ones are discarded
     */
    public void quarantine(
            int databaseOid, int relationOid, Code code, String reason, long positionLsn) {
        TargetTable table = tables.find(databaseOid, relationOid);
        if (table != null) {
            services.failures().setAside(table, code, reason, positionLsn);
            wake();
        }
    }

    /**
     * Where changes find values of the base backup that neither their transaction nor ClickHouse
     * has, until {@link #forgetBaselineToast}.
     *
     * @param values of one database; thread safe
     */
    public void useBaselineToast(int databaseOid, ToastValues values) {
        services.baselineToast().use(databaseOid, values);
    }

    /** All rows of the initial load are there: the backup's values are not needed any more. */
    public void forgetBaselineToast() {
        services.baselineToast().forget();
    }

    /** How far everything is durable; never goes back. */
    public Watermark watermark() {
        return services.stream().watermark();
    }

    private void publish() {
        publishLock.lock();
        try {
            Watermark now = services.stream().watermark();
            if (now.durableLsn() <= publishedLsn) {
                return;
            }
            publishedLsn = now.durableLsn();
            services.metrics().durable(now);
            events.watermark(now);
        } finally {
            publishLock.unlock();
        }
    }

    /**
     * The manifest says now that everything up to here is durable: no commit up to it comes again.
     */
    public void progressKept(long durablePosition) {
        cleaning.mayClean(durablePosition);
    }

    /** Whether copies of the TOAST relations' chunks are kept in ClickHouse. */
    public boolean keepsChunks() {
        return services.mirror() != null;
    }

    /** The newest watermark that this process has written into ClickHouse; 0 before the first. */
    public long writtenWatermark() {
        return housekeeping.writtenLsn();
    }

    /** From now on batches are sent at these limits. Any thread. */
    public void limitBatches(BatchLimits limits) {
        shared.limits = limits;
    }

    /**
     * Begins to remove tombstones from ClickHouse, with the rows that they hide, of tables that are
     * live. Any thread; an earlier call's work goes on.
     *
     * @param below commit position; no commit before it comes again, here or after a restart
     * @param percent of a table's rows that must be such tombstones, or it is left as it is
     */
    public void removeTombstones(long below, int percent) {
        removal.start(below, percent);
    }

    /** Waits until the watermark has reached {@code lsn}; false on timeout. */
    public boolean awaitDurable(long lsn, Duration timeout) throws InterruptedException {
        boolean reached = services.stream().awaitPosition(lsn, timeout.toNanos());
        if (!reached) {
            services.fatal().check();
        }
        return reached;
    }

    public PipelineMetrics metrics() {
        PipelineMetrics metrics = services.metrics();
        metrics.heldBytes.set(services.batchMemory().bytesHeld());
        metrics.undurableTransactions.set(services.stream().undurable());
        return metrics;
    }

    /** Bytes of large values that are kept for later versions of their rows. */
    public long recentValueBytes() {
        return services.recentValues().bytes();
    }

    public Collection<TableStatus> tables() {
        return tables.status();
    }

    /** Whether no table is held back or quarantined: cheaper than {@link #tables}. */
    public boolean isWhole() {
        for (TargetTable table : tables.all()) {
            TableState state = table.state();
            if (state == TableState.HELD || state == TableState.QUARANTINED) {
                return false;
            }
        }
        return true;
    }

    /** By column how many of a table's values a policy changed since its last change of shape. */
    public Map<String, Map<PolicyCounts.Policy, Long>> changedValues(
            int databaseOid, int relationOid) {
        TargetTable table = tables.find(databaseOid, relationOid);
        return table == null ? Map.of() : table.changedValues();
    }

    /** Why the pipeline stopped for good; null while it works. */
    public @Nullable Throwable failure() {
        return services.fatal().cause();
    }

    void wake() {
        for (DecodeWorker worker : workers) {
            worker.mailbox().wake();
        }
    }

    private void interruptAll() {
        planning.interrupt();
        for (DecodeWorker worker : workers) {
            worker.thread().interrupt();
        }
        inserters.close();
        steps.close();
        housekeeping.close();
        cleaning.close();
        Throwable cause = services.fatal().cause();
        Throwable reason = cause == null ? new IllegalStateException("closed") : cause;
        services.stream().fail(reason);
        services.baseline().fail(reason);
    }

    /** Stops at once; what is not durable is sent again after a restart. */
    @Override
    public void close() {
        services.fatal().closing();
        interruptAll();
        boolean interrupted = false;
        while (true) {
            try {
                planning.join();
                for (DecodeWorker worker : workers) {
                    worker.thread().join();
                }
                inserters.awaitStopped();
                housekeeping.awaitStopped();
                cleaning.awaitStopped();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        toPlan.release();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
