package dev.walshadow.pipeline;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.Code;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.MemoryBudget;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.transaction.CommitSink;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.ToastRelations;
import dev.walshadow.transaction.ToastValues;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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

    private static final Logger LOG = LoggerFactory.getLogger(Pipeline.class);
    private static final long ADD_CEILING_MILLIS = 5_000;

    private static final int PLAN_QUEUE = 1024;
    private static final int LEDGER_ENTRIES = 1 << 16;
    private static final long CHECK_MILLIS = 200;

    /**
     * What the pipeline stands on.
     *
     * @param lookup null: a value that neither the WAL nor ClickHouse has quarantines its table
     */
    public record Surroundings(
            ClickHouseClient client,
            DescriptorLog descriptors,
            TargetTables tables,
            Quarantine quarantine,
            PipelineEvents events,
            @Nullable SourceLookup lookup) {}

    private final PipelineOptions options;
    private final TargetTables tables;
    private final PipelineEvents events;
    private final Services services;
    private final DecodeWorker.Shared shared = new DecodeWorker.Shared();
    private final DecodeWorker[] workers;
    private final Inserters inserters;
    private final AsyncSteps steps;
    private final Housekeeping housekeeping;

    private final ArrayBlockingQueue<TransactionWork> toPlan = new ArrayBlockingQueue<>(PLAN_QUEUE);
    private final Planner streamPlanner;
    private final Planner baselinePlanner;
    private final Thread planning;
    private final ReentrantLock baselineLock = new ReentrantLock();
    private final ReentrantLock publishLock = new ReentrantLock();
    private long publishedLsn;

    private Pipeline(PipelineOptions options, Surroundings given) {
        this.options = options;
        this.tables = given.tables();
        this.events = given.events();
        FatalFailure fatal = new FatalFailure(events, this::interruptAll);
        int count = options.decodeWorkers();
        services =
                new Services(
                        options,
                        given.client(),
                        new AckLedger(count, LEDGER_ENTRIES, options.durableLsn()),
                        new AckLedger(count, LEDGER_ENTRIES, 0),
                        new MemoryBudget(options.queueBytes()),
                        new MemoryBudget(options.memoryBytes()),
                        new PipelineMetrics(),
                        events,
                        new TableFailures(given.quarantine(), events),
                        new TargetReachability(events),
                        fatal,
                        this::publish,
                        given.lookup(),
                        new BaselineToast());
        publishedLsn = options.durableLsn();
        steps = new AsyncSteps(fatal);
        inserters = new Inserters(services, new Settlement(services, this::wake));
        workers = new DecodeWorker[count];
        for (int i = 0; i < count; i++) {
            workers[i] = new DecodeWorker(i, services, inserters, steps, shared);
        }
        streamPlanner = new Planner(router(given), workers, services);
        baselinePlanner = new Planner(router(given), workers, services);
        planning = Thread.ofPlatform().name("planner").unstarted(this::plan);
        housekeeping = new Housekeeping(services, tables, given.quarantine(), this::watermark);
    }

    private Router router(Surroundings given) {
        return new Router(given.descriptors(), tables, services.failures(), events);
    }

    /** Starts the threads. {@code tables} has been attached or resumed. */
    public static Pipeline start(PipelineOptions options, Surroundings surroundings) {
        prepareDirectory(options.stateDirectory().resolve(WAITING));
        for (Quarantine.Entry entry : surroundings.quarantine().entries()) {
            TargetTable table =
                    surroundings.tables().find(entry.databaseOid(), entry.relationOid());
            if (table != null) {
                table.setAside(entry.reason(), entry.positionLsn());
                table.discardedRows.add(entry.discardedRows());
            }
        }
        Pipeline pipeline = new Pipeline(options, surroundings);
        pipeline.inserters.start();
        for (DecodeWorker worker : pipeline.workers) {
            worker.start();
        }
        pipeline.planning.start();
        pipeline.housekeeping.start();
        return pipeline;
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
            changes.close();
            return;
        }
        AckLedger ledger = services.stream();
        long sequence =
                ledger.assign(changes.commitPosition(), changes.commitMicros(), changes.firstLsn());
        TransactionWork work = new TransactionWork(changes, ledger, sequence, false);
        while (!toPlan.offer(work, CHECK_MILLIS, TimeUnit.MILLISECONDS)) {
            services.fatal().check();
        }
    }

    private void plan() {
        try {
            while (true) {
                TransactionWork work = toPlan.take();
                long sequence = work.sequence;
                streamPlanner.plan(work);
                if (services.stream().planned(sequence)) {
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
    public void advance(long lsn) {
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
        services.fatal().check();
        baselineLock.lockInterruptibly();
        try {
            AckLedger ledger = services.baseline();
            long sequence = ledger.assign(changes.commitPosition(), 0, changes.firstLsn());
            baselinePlanner.plan(new TransactionWork(changes, ledger, sequence, true));
            ledger.planned(sequence);
            return sequence;
        } finally {
            baselineLock.unlock();
        }
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
     * The table's whole baseline was submitted and is durable ({@link #awaitBaseline}): marks it
     * live in the ledger; changes that waited for old values go on.
     */
    public void baselineComplete(int databaseOid, int relationOid) throws InterruptedException {
        TargetTable table = tables.find(databaseOid, relationOid);
        if (table == null || table.state() != TableState.LOADING) {
            return;
        }
        table.loaded();
        Backoff backoff = new Backoff(5_000);
        while (true) {
            services.fatal().check();
            long started = System.nanoTime();
            try {
                tables.writeChanges();
                services.reachability().answered(Housekeeping.LEDGER);
                break;
            } catch (WalshadowException e) {
                services.reachability().failed(Housekeeping.LEDGER, e, started);
                backoff.pause();
            }
        }
        wake();
    }

    /** Sends what is open and waits until everything handed over before is durable. */
    public void flush() throws InterruptedException {
        await(services.baseline(), services.baseline().assigned());
        await(services.stream(), services.stream().assigned());
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
     * Names a table that appeared after the attach and is not replicated, so that status and verify
     * know of it; nothing happens if it is known.
     */
    public void holdBack(RelationDescriptor relation, String reason) {
        tables.appeared(relation, reason);
    }

    /**
     * Takes in a table that was created at this commit position, before anything of that commit is
     * handed over: creates it in ClickHouse, which is waited for, or holds it back with a reason.
     */
    public void addTable(RelationDescriptor relation, long position) throws InterruptedException {
        Backoff backoff = new Backoff(ADD_CEILING_MILLIS);
        while (true) {
            try {
                tables.create(relation, position);
                return;
            } catch (RetryException e) {
                LOG.warn(
                        "{} cannot be created in ClickHouse yet: {}; trying again",
                        relation.label(),
                        e.getMessage());
                backoff.pause();
            } catch (ConfigurationException | QuarantineException e) {
                tables.appeared(relation, "it cannot be created: " + e.getMessage());
                return;
            }
        }
    }

    /**
     * Where changes find values of the base backup that neither their transaction nor ClickHouse
     * has; null from when the watermark has passed the initial load.
     *
     * @param values thread safe
     */
    public void useBaselineToast(@Nullable ToastValues values) {
        services.baselineToast().use(values);
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

    public Collection<TableStatus> tables() {
        return tables.status();
    }

    /** Why the pipeline stopped for good; null while it works. */
    public @Nullable Throwable failure() {
        return services.fatal().cause();
    }

    private void wake() {
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
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        for (TransactionWork work = toPlan.poll(); work != null; work = toPlan.poll()) {
            work.release();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
