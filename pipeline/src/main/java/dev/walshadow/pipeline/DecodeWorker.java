package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A thread that turns the records of its tables into batches. Everything of a table happens here in
 * order; only waiting for ClickHouse happens elsewhere and comes back through the mailbox.
 */
final class DecodeWorker {
    private static final long TEND_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long RECOUNT_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long AGE_CEILING_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int TABLES_PER_AGE = 8;

    /** Windows of deferred changes at a time, over all tables. */
    static final int WINDOWS = 4;

    private final int index;
    private final Services services;
    private final Inserters inserters;
    private final AsyncSteps steps;
    private final Shared shared;
    private final Mailbox mailbox = new Mailbox();
    private final Thread thread;

    private final HeapChanges heap = new HeapChanges();
    private final RawRecord record = new RawRecord();
    private final RowMeta meta = new RowMeta();
    private final WorkToast toast = new WorkToast();
    private final List<TableWriter> writers = new ArrayList<>();
    private final List<TableWriter> active = new ArrayList<>();
    private final List<Pending> pending = new ArrayList<>();
    private long lastTendNanos = System.nanoTime();
    private long lastRecountNanos = lastTendNanos;
    private int recentTables = 1;

    /** Something between a table's rows that takes its time. */
    interface Pending {
        /** {@link #tend} has nothing more to do. */
        long DONE = -1;

        /** Moves on if it can; returns nanoseconds until it wants to be called again. */
        long tend() throws InterruptedException;
    }

    /** What the workers of one pipeline share. */
    static final class Shared {
        final AtomicInteger urgent = new AtomicInteger();
        final AtomicLong deferredMemory = new AtomicLong();
        final Semaphore windows = new Semaphore(WINDOWS);
        final AtomicLong spareBytes = new AtomicLong();
        final AtomicLong batchNumber = new AtomicLong();
        final String tokenPrefix = UUID.randomUUID().toString();
        volatile BatchLimits limits;

        Shared(BatchLimits limits) {
            this.limits = limits;
        }
    }

    DecodeWorker(
            int index, Services services, Inserters inserters, AsyncSteps steps, Shared shared) {
        this.index = index;
        this.services = services;
        this.inserters = inserters;
        this.steps = steps;
        this.shared = shared;
        this.thread = Thread.ofPlatform().name("decode-" + index).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    Thread thread() {
        return thread;
    }

    Mailbox mailbox() {
        return mailbox;
    }

    Services services() {
        return services;
    }

    Inserters inserters() {
        return inserters;
    }

    AsyncSteps steps() {
        return steps;
    }

    HeapChanges heap() {
        return heap;
    }

    AtomicLong deferredMemory() {
        return shared.deferredMemory;
    }

    /** Bounds how many windows of deferred changes are held in memory. */
    Semaphore windows() {
        return shared.windows;
    }

    private void run() {
        try {
            long wait = Long.MAX_VALUE;
            while (true) {
                Mailbox.Control control = mailbox.await(wait, true);
                if (control != null) {
                    control.run();
                }
                Piece piece = mailbox.pollPiece();
                if (piece != null) {
                    process(piece);
                }
                wait = tendAll();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closing
        } catch (Throwable e) {
            services.fatal().raise(e);
        }
    }

    /** Waits for one control and runs it, leaving pieces where they are. */
    void runControl() throws InterruptedException {
        Mailbox.Control control = mailbox.await(TEND_EVERY_NANOS, false);
        if (control != null) {
            control.run();
        }
        tendAll();
    }

    private void process(Piece piece) throws InterruptedException {
        TransactionWork work = piece.work;
        if (work.ledger.started(index, work.sequence)) {
            services.progress().run();
        }
        try {
            toast.begin(work);
            for (int i = 0; i < piece.count(); i++) {
                if (piece.isOpening(i)) {
                    begin(new OpeningRun(this, piece.table(i), work.sequence));
                    continue;
                }
                if (piece.isExchange(i)) {
                    begin(ExchangeRun.ofRefill(this, piece.table(i), work.sequence));
                    continue;
                }
                piece.wrap(i, record);
                meta.transaction(
                        work.changes.commitPosition(),
                        work.changes.commitMicros(),
                        work.changes.xid());
                TableWriter writer = writer(piece.table(i));
                if (writer != null) {
                    writer.lookAhead(piece, i, meta.commitPosition(), toast);
                    writer.record(record, meta, work, toast);
                }
            }
        } finally {
            toast.end();
            services.queueMemory().release(piece.bytes());
            services.metrics().queuedBytes.addAndGet(-piece.bytes());
            work.release();
        }
        if (work.ledger.finished(index, work.sequence)) {
            services.progress().run();
        }
    }

    /** Tends it until it is done. */
    void begin(Pending run) {
        pending.add(run);
    }

    /** The generation's last row is durable. */
    void retire(TargetTable table) {
        services.recentValues().removeAll(table);
        TableWriter writer = table.writer;
        if (writer != null) {
            writers.remove(writer);
        }
    }

    /** Null if the table's changes are discarded; then this record was. */
    private @Nullable TableWriter writer(TargetTable table) {
        if (table.follows(meta.commitPosition())) {
            TableWriter writer = table.writer;
            if (writer != null) {
                return writer;
            }
            try {
                writer =
                        new TableWriter(
                                this, table, table.compile(services.options().valueLimits()));
                table.writer = writer;
                writers.add(writer);
                return writer;
            } catch (QuarantineException e) {
                services.failures().setAside(table, e, meta.commitPosition());
            }
        }
        int rows = HeapChanges.count(record);
        table.discardedRows.add(rows);
        services.metrics().discardedRows.add(rows);
        return null;
    }

    /** Puts a writer among those that are tended; a writer does so once. */
    void activate(TableWriter writer) {
        active.add(writer);
    }

    /** Returns how long the worker may wait. */
    private long tendAll() throws InterruptedException {
        long now = System.nanoTime();
        boolean idle = !mailbox.hasPiece();
        if (!idle && now - lastTendNanos < TEND_EVERY_NANOS) {
            return 0;
        }
        lastTendNanos = now;
        if (now - lastRecountNanos >= RECOUNT_EVERY_NANOS) {
            recount(now);
        }
        long wait = Long.MAX_VALUE;
        for (int i = pending.size() - 1; i >= 0; i--) {
            long again = pending.get(i).tend();
            if (again == Pending.DONE) {
                pending.remove(i);
            } else {
                wait = Math.min(wait, again);
            }
        }
        for (int i = active.size() - 1; i >= 0; i--) {
            TableWriter writer = active.get(i);
            wait = Math.min(wait, writer.tend(now, idle));
            if (writer.deactivate()) {
                active.set(i, active.get(active.size() - 1));
                active.remove(active.size() - 1);
            }
        }
        return idle ? wait : 0;
    }

    private void recount(long now) {
        lastRecountNanos = now;
        int recent = 0;
        for (TableWriter writer : writers) {
            if (writer.changedSince(now - RECENT_NANOS)) {
                recent++;
            }
        }
        recentTables = Math.max(1, recent);
    }

    /** Age at which an open batch is sealed under load: wider with more tables. */
    long batchAgeNanos() {
        long age = shared.limits.age().toNanos();
        return Math.min(
                Math.max(age, AGE_CEILING_NANOS), age * Math.max(1, recentTables / TABLES_PER_AGE));
    }

    /** Least time between two early seals of one table: wider with more tables. */
    long idleSealNanos() {
        long interval = services.options().idleSealInterval().toNanos();
        return Math.min(batchAgeNanos(), interval * recentTables);
    }

    BatchLimits limits() {
        return shared.limits;
    }

    boolean isUrgent() {
        return shared.urgent.get() > 0;
    }

    /**
     * Charges {@code bytes} more to an open batch. Without room everything open here is sealed, so
     * that it can be sent, and the worker waits until the budget is under its bound again.
     */
    void reserve(Batch batch, long bytes) throws InterruptedException {
        if (bytes == 0) {
            return;
        }
        if (services.batchMemory().tryReserve(bytes)) {
            batch.bytesReserved += bytes;
            return;
        }
        for (int i = 0; i < active.size(); i++) {
            active.get(i).seal();
        }
        services.batchMemory().reserve(bytes);
        services.batchMemory().release(bytes);
    }

    void submit(Batch batch) {
        batch.token = shared.tokenPrefix + "-" + shared.batchNumber.incrementAndGet();
        batch.table.batchSealed();
        inserters.submit(batch);
    }

    /** A batch that was never sent. */
    void settle(Batch batch) {
        Settlement.letGo(services, batch);
    }

    /** Whether so many bytes may be kept for reuse. */
    boolean keepSpare(long bytes) {
        long limit = services.options().memoryBytes() / 4;
        if (shared.spareBytes.addAndGet(bytes) <= limit) {
            return true;
        }
        shared.spareBytes.addAndGet(-bytes);
        return false;
    }

    void spareTaken(long bytes) {
        shared.spareBytes.addAndGet(-bytes);
    }

    /** TOAST values of the transaction at hand; opened when the first is asked for. */
    private static final class WorkToast implements ToastValues {
        private @Nullable TransactionWork work;
        private @Nullable ToastValues opened;

        void begin(TransactionWork next) {
            work = next;
            opened = null;
        }

        void end() {
            work = null;
            opened = null;
        }

        @Override
        public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
            return opened().append(toastRelationOid, valueId, out);
        }

        @Override
        public boolean appendPrefix(int toastRelationOid, int valueId, int limit, ByteBuilder out) {
            return opened().appendPrefix(toastRelationOid, valueId, limit, out);
        }

        @Override
        public int appendTail(int toastRelationOid, int valueId, ByteBuilder out) {
            return opened().appendTail(toastRelationOid, valueId, out);
        }

        private ToastValues opened() {
            ToastValues values = opened;
            if (values == null) {
                values = java.util.Objects.requireNonNull(work).changes.toast();
                opened = values;
            }
            return values;
        }
    }
}
