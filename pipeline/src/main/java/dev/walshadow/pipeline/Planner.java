package dev.walshadow.pipeline;

import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import dev.walshadow.transaction.ToastChunk;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * Turns one transaction into pieces for the workers, in record order per worker. One thread at a
 * time; there is one planner for transactions, one for those that pass others ({@link PlanOrder})
 * and one for the initial load.
 */
final class Planner {
    private static final int PIECE_RECORDS = 8192;
    private static final long PIECE_BYTES = 1 << 20;
    private static final int INTERLUDE_RECORDS = 64;

    /** How often a planner that waits for room looks whether there is still a point. */
    private static final long CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final Router router;
    private final TableChanges changes;
    private final DecodeWorker[] workers;
    private final Services services;

    /** Held while tables' generations begin, and while rows of a load are on their way to one. */
    private final Lock generations;

    private final RawRecord record = new RawRecord();
    private final @Nullable Piece[] pieces;

    /** Tables whose rows are the transaction's at hand. */
    private final List<TargetTable> refilled = new ArrayList<>();

    /**
     * @param generations of all planners
     */
    Planner(
            Router router,
            TableChanges changes,
            DecodeWorker[] workers,
            Services services,
            Lock generations) {
        this.generations = generations;
        this.router = router;
        this.changes = changes;
        this.workers = workers;
        this.services = services;
        this.pieces = new @Nullable Piece[workers.length];
    }

    /** What may be done between records of a transaction. */
    @FunctionalInterface
    interface Interlude {
        void play() throws InterruptedException;
    }

    /** Hands the transaction's records to the workers; waits for room in their queues. */
    void plan(TransactionWork work) throws InterruptedException {
        plan(work, () -> {});
    }

    void plan(TransactionWork work, Interlude interlude) throws InterruptedException {
        if (!work.baseline) {
            planAll(work, interlude);
            return;
        }
        // none of its rows may come behind the beginning of the generation after theirs
        generations.lockInterruptibly();
        try {
            planAll(work, interlude);
        } finally {
            generations.unlock();
        }
    }

    private void planAll(TransactionWork work, Interlude interlude) throws InterruptedException {
        try {
            router.begin(work.changes.commitPosition());
            CatalogChange catalog = work.catalog;
            if (catalog != null) {
                planChange(work, catalog);
            }
            if (!work.changes.ignored()) {
                planRecords(work, interlude);
            } else if (!refilled.isEmpty()) {
                planRefills(work);
            }
            planExchanges(work);
            for (int i = 0; i < pieces.length; i++) {
                dispatch(i);
            }
        } finally {
            work.release();
        }
    }

    private void planRecords(TransactionWork work, Interlude interlude)
            throws InterruptedException {
        RecordCursor cursor = work.changes.records();
        for (int i = 0; cursor.next(record); i++) {
            if ((i & (INTERLUDE_RECORDS - 1)) == 0) {
                interlude.play();
            }
            if (HeapChanges.isTruncate(record)) {
                planTruncate(work, cursor.chunkIsStable());
            } else {
                planRow(work, cursor.chunkIsStable());
            }
        }
    }

    /**
     * The rows are not to be sent, but those of tables whose storage the transaction replaced: they
     * are all that these have.
     */
    private void planRefills(TransactionWork work) throws InterruptedException {
        RecordCursor cursor = work.changes.records();
        while (cursor.next(record)) {
            TargetTable table = HeapChanges.isTruncate(record) ? null : route();
            if (table != null && refilled.contains(table)) {
                add(table, work, cursor.chunkIsStable());
            }
        }
    }

    /** The next generations of the tables that a commit, or somebody who asked, has changed. */
    private void planChange(TransactionWork work, CatalogChange catalog)
            throws InterruptedException {
        generations.lockInterruptibly();
        try {
            for (TargetTable table : changes.apply(catalog, work.changes)) {
                open(work, table);
                if (table.opening() instanceof Opening.Refill) {
                    refilled.add(table);
                }
            }
        } finally {
            generations.unlock();
        }
        for (CatalogChange.Item item : catalog.items()) {
            if (item instanceof CatalogChange.Changed(RelationChange of)) {
                router.settled(of.databaseOid(), of.relationOid());
            }
        }
        router.forget();
    }

    /** All rows that their staging tables need have been planned. */
    private void planExchanges(TransactionWork work) {
        for (TargetTable table : refilled) {
            piece(workerOf(table), work).addExchange(table);
        }
        refilled.clear();
    }

    private void open(TransactionWork work, TargetTable table) throws InterruptedException {
        int worker = workerOf(table);
        piece(worker, work).addOpening(table);
        dispatch(worker);
    }

    private void planRow(TransactionWork work, boolean stable) throws InterruptedException {
        TargetTable table = work.target != null ? work.target : route();
        if (table == null) {
            services.metrics().droppedRecords.increment();
            return;
        }
        String unfit = work.baseline ? null : router.unfit(table);
        if (unfit != null) {
            loadAnew(work, table, unfit);
            return;
        }
        add(table, work, stable);
    }

    private @Nullable TargetTable route() {
        return ToastChunk.isInsert(record) ? router.owner(record) : router.route(record);
    }

    private void loadAnew(TransactionWork work, TargetTable table, String reason)
            throws InterruptedException {
        generations.lockInterruptibly();
        try {
            open(work, changes.load(table, work.changes.commitPosition(), reason));
        } finally {
            generations.unlock();
        }
        router.forget();
    }

    /** An ordered barrier in every named table. */
    private void planTruncate(TransactionWork work, boolean stable) throws InterruptedException {
        TruncatedTables truncated = TruncatedTables.of(record);
        int database = truncated.databaseOid();
        for (int i = 0; i < truncated.count(); i++) {
            TargetTable table = router.byOid(database, truncated.relationOid(i));
            if (table != null && changes.empties(table)) {
                add(table, work, stable);
            }
        }
    }

    private void add(TargetTable table, TransactionWork work, boolean stable)
            throws InterruptedException {
        int worker = workerOf(table);
        Piece piece = piece(worker, work);
        piece.add(table, record, stable);
        services.metrics().records.increment();
        if (piece.count() >= PIECE_RECORDS || piece.bytes() >= PIECE_BYTES) {
            dispatch(worker);
        }
    }

    private Piece piece(int worker, TransactionWork work) {
        Piece piece = pieces[worker];
        if (piece == null) {
            piece = new Piece(work);
            pieces[worker] = piece;
        }
        return piece;
    }

    /** The worker that the table is pinned to. */
    DecodeWorker worker(TargetTable table) {
        return workers[workerOf(table)];
    }

    private int workerOf(TargetTable table) {
        int hash = (table.relationOid() * 31 + table.databaseOid()) * 0x9E3779B9;
        return (int) ((Integer.toUnsignedLong(hash) * workers.length) >>> 32);
    }

    private void dispatch(int worker) throws InterruptedException {
        Piece piece = pieces[worker];
        pieces[worker] = null;
        if (piece == null) {
            return;
        }
        while (!services.queueMemory().tryReserve(piece.bytes(), CHECK_NANOS)) {
            services.fatal().check();
        }
        services.metrics().queuedBytes.addAndGet(piece.bytes());
        piece.work.retain();
        piece.work.ledger.enqueued(worker, piece.work.sequence);
        workers[worker].mailbox().put(piece);
    }
}
