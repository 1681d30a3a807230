package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.pipeline.AckLedger.Hold;
import dev.walshadow.pipeline.encode.KnownValues;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.pipeline.encode.ValueSources;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastChunk;
import dev.walshadow.transaction.ToastValues;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * One table at its worker: encodes changes into the open batch, seals it, and keeps the table's
 * order: once a change cannot be encoded at once, it and all later ones go through {@link Deferral}
 * until that has caught up. Worker thread only, except {@link #recycle}.
 */
final class TableWriter implements HeapChanges.Handler {
    private static final int RESERVE_STEP_BYTES = 64 << 10;
    private static final int MAX_SMALL_IN_FLIGHT = 2;
    private static final long OPEN_BYTES = 32 << 10;

    private final DecodeWorker worker;
    private final TargetTable table;
    private final RowEncoder encoder;
    private final DefaultValues defaults;
    private final ConcurrentLinkedQueue<Spare> spares = new ConcurrentLinkedQueue<>();

    /** A cleared block and the memory it keeps. */
    private record Spare(TableBlock block, long bytes) {}

    private final @Nullable RenderAhead renderAhead;
    private final @Nullable KnownValues learner;

    private boolean activated;
    private @Nullable Batch open;
    private @Nullable Deferral deferral;
    private long unreserved;
    private long lastSealNanos;
    private long lastChangeNanos;

    private final ToastChunk chunk = new ToastChunk();

    // what the handler is called for
    private @Nullable TransactionWork work;
    private ToastValues toast = (relation, value, out) -> false;

    TableWriter(DecodeWorker worker, TargetTable table, RowEncoder encoder) {
        this.worker = worker;
        this.table = table;
        this.encoder = encoder;
        this.defaults = new DefaultValues(table.mapped());
        this.renderAhead = encoder.foreign().isEmpty() ? null : new RenderAhead(table, encoder);
        RecentValues recent = worker.services().recentValues();
        // a filter keeps rows out, and with them new values that an old one would pass for
        this.learner =
                recent.largest() == 0
                                || encoder.mapping().filter() != null
                                || worker.services().options().toast() == ToastMode.DISABLED
                        ? null
                        : recent.learner(table);
        this.lastSealNanos = System.nanoTime() - (1L << 40);
    }

    TargetTable table() {
        return table;
    }

    RowEncoder encoder() {
        return encoder;
    }

    DecodeWorker worker() {
        return worker;
    }

    DefaultValues defaults() {
        return defaults;
    }

    /** Whether the large values that are encoded are kept for later versions of their rows. */
    boolean keepsValues() {
        return learner != null;
    }

    private void activate() {
        if (!activated) {
            activated = true;
            worker.activate(this);
        }
    }

    /** True if there is nothing to tend any more. */
    boolean deactivate() {
        activated = open != null || deferral != null;
        return !activated;
    }

    boolean changedSince(long nanos) {
        return lastChangeNanos - nanos > 0;
    }

    /** Has the values printed that the piece's records from {@code index} on need. */
    void lookAhead(Piece piece, int index, long position, ToastValues values) {
        RenderAhead ahead = renderAhead;
        // what COPY sends of such columns is text already
        boolean loaded = piece.work.baseline && table.loadEncoder != null;
        if (ahead == null || loaded || !table.follows(position)) {
            return;
        }
        try {
            ahead.prepare(piece, index, worker.heap(), values);
        } catch (QuarantineException e) {
            fail(e, position);
        }
    }

    /** One record of {@code from}; {@code meta} has its transaction. */
    void record(RawRecord record, RowMeta meta, TransactionWork from, ToastValues values)
            throws InterruptedException {
        if (ToastChunk.isInsert(record)) {
            chunk(record, meta, from);
            return;
        }
        if (!table.follows(meta.commitPosition())) {
            discard(HeapChanges.count(record));
            return;
        }
        if (isLate(from) && table.isEmptiedSince(meta.commitPosition())) {
            worker.services().metrics().droppedRecords.increment();
            return;
        }
        LoadFilter.Verdict verdict = verdict(meta, from);
        if (verdict == LoadFilter.Verdict.LEAVE_OUT) {
            worker.services().metrics().containedRecords.increment();
            return;
        }
        if (HeapChanges.isTruncate(record)) {
            table.emptied(meta.commitPosition());
        }
        if (!from.baseline && table.lastCommitLsn != meta.commitPosition()) {
            table.lastCommitLsn = meta.commitPosition();
            table.lastCommitMicros = meta.commitMicros();
        }
        try {
            boolean later =
                    !from.baseline
                            && (deferral != null
                                    || verdict == LoadFilter.Verdict.KEEP
                                    || !table.isOpen()
                                    || HeapChanges.isTruncate(record));
            if (later || !encode(record, meta, from, values)) {
                defer(record, from, values);
            } else {
                grown(record.length());
            }
        } catch (QuarantineException e) {
            fail(e, meta.commitPosition());
        } catch (WalshadowException e) {
            throw e;
        } catch (RuntimeException e) {
            fail(e, meta.commitPosition(), record.lsn());
        }
    }

    /** A chunk of the table's TOAST relation: goes at once, whatever the rows wait for. */
    private void chunk(RawRecord record, RowMeta meta, TransactionWork from)
            throws InterruptedException {
        boolean wanted = worker.services().mirror() != null && table.follows(meta.commitPosition());
        if (wanted && chunk.wrap(record.buffer(), record.dataOffset(), record.dataLength())) {
            meta.record(record.lsn(), 0);
            Batch batch = batch(from.sequence, from.baseline, meta);
            ChunkBlock chunks = batch.chunks;
            if (chunks == null) {
                chunks = new ChunkBlock();
                batch.chunks = chunks;
            }
            chunks.append(chunk, record, meta.commitPosition());
            grown(record.length());
        }
    }

    /**
     * Whether these are rows that waited for a transaction that was open at the backup's start: a
     * TRUNCATE may be through that took them away. It waits for the backup's other rows, and
     * earlier changes may ask for their values.
     */
    private boolean isLate(TransactionWork from) {
        return from.baseline
                && from.target == null
                && (from.changes.xid() != 0 || table.state() != TableState.LOADING);
    }

    /** Of rows that a load, or the backup, has read: they are sent. */
    private LoadFilter.Verdict verdict(RowMeta meta, TransactionWork from) {
        if (from.baseline && meta.xid() == 0) {
            return LoadFilter.Verdict.SEND;
        }
        LoadFilter.Verdict verdict = table.verdict(meta.xid(), meta.commitPosition());
        if (from.baseline && verdict == LoadFilter.Verdict.KEEP) {
            // of a transaction that was open at the backup's start: only changes can be kept
            table.requireLoadFilter().spoil();
            return LoadFilter.Verdict.LEAVE_OUT;
        }
        return verdict;
    }

    private boolean encode(
            RawRecord record, RowMeta meta, TransactionWork from, ToastValues values) {
        work = from;
        toast = values;
        try {
            return worker.heap().decode(table, record, meta, this);
        } finally {
            work = null;
        }
    }

    @Override
    public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta meta) {
        TransactionWork from = Objects.requireNonNull(work);
        Batch batch = batch(from.sequence, from.baseline, meta);
        noteWide(tuple);
        RowEncoder loading = from.baseline ? table.loadEncoder : null;
        RowEncoder encoder = loading == null ? this.encoder : loading;
        int rowsBefore = batch.block.rows();
        int result =
                learner == null || from.baseline || !tuple.hasExternal()
                        ? encoder.appendRow(batch.block, tuple, meta, toast)
                        : encoder.appendRow(
                                batch.block, tuple, meta, new ValueSources(toast, learner, null));
        if (result == RowEncoder.NEEDS_OLD_VALUE) {
            if (from.baseline) {
                throw encoder.valueMissing(
                        tuple, meta, PipelineCodes.TOAST_MISSING, chunksMissing(encoder));
            }
            if (!fillsMissing()) {
                return false;
            }
            worker.services().metrics().defaultedRows.increment();
            encoder.appendRowWithOld(batch.block, tuple, meta, toast, defaults);
        }
        if (result == RowEncoder.FILTERED) {
            batch.tombstones += batch.block.rows() - rowsBefore;
        } else if (from.baseline) {
            batch.baselineRows++;
        }
        if (encoder.keyChanged(tuple, oldKey, meta, toast)) {
            encoder.appendOldTombstone(batch.block, oldKey, meta, toast);
            batch.tombstones++;
        }
        return true;
    }

    /**
     * Whether what the last row lacks arrives as NULL (mode {@code disabled}): what an UPDATE left
     * unchanged. While the backup's values are held, a row may lack a value of its own transaction,
     * which began before the stream: then it is found as in mode {@code destination}, or the row is
     * seen to be delivered. Of a torn value the same is true at any time.
     */
    boolean fillsMissing() {
        Services services = worker.services();
        return services.options().toast() == ToastMode.DISABLED
                && table.state() != TableState.LOADING
                && !services.baselineToast().isHeld()
                && encoder.tornValue() == null;
    }

    private static String chunksMissing(RowEncoder encoder) {
        String torn = encoder.tornValue();
        return "the value lies out of line, and "
                + (torn == null ? "no chunk of it is in the TOAST relation" : torn)
                + ", so the source cannot show it either; check the source with pg_amcheck, give"
                + " the row a value or delete it, then resync the table";
    }

    @Override
    public void tombstone(@Nullable TupleView key, RowMeta meta) {
        TransactionWork from = Objects.requireNonNull(work);
        Batch batch = batch(from.sequence, from.baseline, meta);
        encoder.appendTombstone(batch.block, key, meta, toast);
        batch.tombstones++;
    }

    /** The open batch, held by {@code sequence}. */
    Batch batch(long sequence, boolean baseline, RowMeta meta) {
        Batch batch = open;
        if (batch == null) {
            batch = new Batch(table, newBlock(), meta.commitPosition(), System.nanoTime());
            open = batch;
            unreserved = 0;
            if (worker.services().batchMemory().tryReserve(OPEN_BYTES)) {
                batch.bytesReserved = OPEN_BYTES;
            } else {
                unreserved = RESERVE_STEP_BYTES; // waits for memory after this record
            }
            activate();
        }
        Hold hold = baseline ? batch.baselineHold : batch.streamHold;
        if (!hold.isSet()) {
            AckLedger ledger = baseline ? worker.services().baseline() : worker.services().stream();
            ledger.hold(hold, sequence);
        }
        if (!baseline) {
            batch.lastPosition = meta.commitPosition();
            batch.lastMicros = meta.commitMicros();
        }
        return batch;
    }

    private TableBlock newBlock() {
        Spare spare = spares.poll();
        if (spare == null) {
            return encoder.newBlock();
        }
        worker.spareTaken(spare.bytes());
        return spare.block();
    }

    /** A row with values out of line is wider than its record: look at the block after it. */
    void noteWide(TupleView tuple) {
        if (tuple.hasExternal()) {
            unreserved = RESERVE_STEP_BYTES;
        }
    }

    /** After a record of so many bytes: reserves memory, seals a full batch. */
    void grown(int recordBytes) throws InterruptedException {
        Batch batch = open;
        if (batch == null) {
            return;
        }
        unreserved += recordBytes;
        BatchLimits limits = worker.limits();
        if (batch.block.rows() >= limits.rows()) {
            seal();
        } else if (unreserved >= RESERVE_STEP_BYTES) {
            unreserved = 0;
            long bytes = batch.bytes();
            long memory = batch.memoryBytes();
            worker.reserve(batch, Math.max(0, memory - batch.bytesReserved));
            if (open == batch && bytes >= limits.bytes()) {
                seal();
            }
        }
    }

    /** Hands the open batch to the inserters if it has so many bytes. */
    void sealFrom(long bytes) {
        if (open != null && open.block.bytes() >= bytes) {
            seal();
        }
    }

    /** Hands the open batch to the inserters. */
    void seal() {
        Batch batch = open;
        if (batch == null) {
            return;
        }
        open = null;
        lastSealNanos = System.nanoTime();
        lastChangeNanos = lastSealNanos;
        if (batch.isEmpty()) {
            worker.settle(batch);
        } else if (!table.follows(batch.firstPosition)) {
            discard(batch.block.rows());
            worker.settle(batch);
        } else {
            worker.submit(batch);
        }
    }

    private void defer(RawRecord record, TransactionWork from, ToastValues values)
            throws InterruptedException {
        Deferral waiting = deferral;
        if (waiting == null) {
            waiting = new Deferral(this);
            deferral = waiting;
            activate();
        }
        waiting.add(record, from, values);
        while (waiting == deferral && waiting.isOverBound()) {
            worker.runControl();
        }
    }

    /** The deferred changes have all been encoded: changes go directly again. */
    void deferralDone(Deferral done) {
        if (deferral == done) {
            deferral = null;
        }
    }

    /** What is already encoded or deferred is older and still goes. */
    void fail(QuarantineException failure, long position) {
        worker.services().recentValues().removeAll(table);
        worker.services().failures().setAside(table, failure, position);
    }

    void fail(RuntimeException failure, long position, long recordLsn) {
        worker.services().recentValues().removeAll(table);
        worker.services().failures().setAside(table, failure, position, recordLsn);
    }

    void discard(long rows) {
        table.discardedRows.add(rows);
        worker.services().metrics().discardedRows.add(rows);
    }

    /**
     * Seals what is due and moves deferred changes on.
     *
     * @param idle the worker has nothing else to do
     * @return nanoseconds until this is to be called again
     */
    long tend(long now, boolean idle) throws InterruptedException {
        long next = Long.MAX_VALUE;
        Deferral waiting = deferral;
        if (waiting != null) {
            next = waiting.tend();
        }
        Batch batch = open;
        if (batch == null) {
            return next;
        }
        long sealIn = sealIn(batch, now, idle);
        if (sealIn <= 0) {
            seal();
            return next;
        }
        return Math.min(next, sealIn);
    }

    /**
     * While earlier batches wait for ClickHouse, a further small one would not arrive sooner: then
     * the open one grows until it is full, so that an outage makes no heap of small batches.
     */
    private long sealIn(Batch batch, long now, boolean idle) {
        if (idle && worker.isUrgent()) {
            return 0;
        }
        if (!table.isOpen()) {
            return Long.MAX_VALUE; // it has chunks only, and somebody waits for a pause
        }
        int inFlight = table.batchesInFlight();
        if (inFlight >= MAX_SMALL_IN_FLIGHT) {
            return Long.MAX_VALUE;
        }
        long sealIn = batch.openedNanos + worker.batchAgeNanos() - now;
        if (idle && inFlight == 0 && worker.inserters().hasIdle()) {
            sealIn = Math.min(sealIn, lastSealNanos + worker.idleSealNanos() - now);
        }
        return sealIn;
    }

    /** Seals what is open; true if nothing waits here any more. */
    boolean drained() throws InterruptedException {
        Deferral waiting = deferral;
        if (waiting != null && table.isAbandoned()) {
            waiting.abandon();
        }
        seal();
        return deferral == null;
    }

    /** Everything up to this commit position has been encoded. */
    boolean hasPassed(long position) {
        return deferral == null || deferral.hasPassed(position);
    }

    /** Seals what is open; true if nothing that waits here has a question under way. */
    boolean paused() {
        seal();
        return deferral == null || !deferral.isWaiting();
    }

    /** Takes a block back for reuse; any thread. */
    void recycle(TableBlock block) {
        long bytes = block.memoryBytes();
        if (worker.keepSpare(bytes)) {
            block.clear();
            spares.add(new Spare(block, bytes));
        }
    }
}
