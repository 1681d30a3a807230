package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.pipeline.AckLedger.Hold;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One table's changes from the first that cannot be encoded at once (it needs its previous version,
 * or empties the table) until all are encoded, in order. While the table's baseline is loading they
 * only gather.
 *
 * <p>They move on in windows ({@link DeferredWindow}), each when the table's batches before it are
 * durable: what comes meanwhile is worked off together, and what it supersedes is not sent. A
 * window's rows that lack a value are looked up together: ClickHouse has every earlier version, so
 * the newest version of a key there, or in this window, is the row's previous one. If it is not
 * below the row's own version, the row was delivered by an earlier run, or is superseded, and is
 * skipped ({@link WindowEncoding}). All of this happens on the worker's thread, only the waiting
 * elsewhere.
 */
final class Deferral {
    private static final int BOUND_FACTOR = 4;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** A window that encodes so much is sent at once, not when its batch is old enough. */
    private static final long SENT_AT_ONCE_BYTES = 1 << 20;

    private final TableWriter writer;
    private final DecodeWorker worker;
    private final TargetTable table;
    private final RowEncoder encoder;
    private final DeferredRecords queue;
    private final Hold hold = new Hold();
    private final CollectedToast collected = new CollectedToast();
    private final RowMeta meta = new RowMeta();

    private final DeferredChange change;
    private final DeferredWindow window;
    private final WindowEncoding encoding;

    /** How many of the permits for windows are this one's. */
    private int permits;

    /** The window waits until it is the only one, because of the values that it holds. */
    private boolean alone;

    private boolean waiting;
    private boolean dropped;

    /** The load that these changes come after is of no use: a new one will take over. */
    private boolean spoiled;

    Deferral(TableWriter writer) {
        this.writer = writer;
        this.worker = writer.worker();
        this.table = writer.table();
        this.encoder = writer.encoder();
        this.change = new DeferredChange(writer);
        this.window = new DeferredWindow(writer, change);
        this.encoding = new WindowEncoding(writer, change, window);
        PipelineOptions options = worker.services().options();
        this.queue =
                new DeferredRecords(
                        options.stateDirectory()
                                .resolve(Pipeline.WAITING)
                                .resolve(
                                        Integer.toUnsignedString(table.databaseOid())
                                                + "-"
                                                + Integer.toUnsignedString(table.relationOid())
                                                + "-"
                                                + Long.toHexString(table.fromPosition())),
                        worker.deferredMemory(),
                        options.deferredMemoryBytes());
    }

    /** A change behind all that wait here. */
    void add(RawRecord added, TransactionWork work, ToastValues values) {
        if (!hold.isSet()) {
            worker.services().stream().hold(hold, work.sequence);
        }
        collected.begin(values);
        if (!HeapChanges.isTruncate(added)) {
            meta.transaction(
                    work.changes.commitPosition(), work.changes.commitMicros(), work.changes.xid());
            worker.heap().decode(table, added, meta, new Collect());
        }
        long before = queue.bytes();
        queue.add(work, added, collected);
        worker.services().metrics().deferredBytes.addAndGet(queue.bytes() - before);
    }

    /** More is waiting than should; never while a baseline loads, which must not wait for us. */
    boolean isOverBound() {
        return table.state() != TableState.LOADING
                && queue.bytes() > BOUND_FACTOR * worker.services().options().deferredMemoryBytes();
    }

    /** Moves on if it can; returns nanoseconds until it wants to be called again. */
    long tend() throws InterruptedException {
        if (waiting || spoiled || !table.isOpen()) {
            return Long.MAX_VALUE;
        }
        if (table.state() == TableState.LOADING) {
            guarded(this::passPlain);
            return Long.MAX_VALUE;
        }
        guarded(this::step);
        if (waiting || dropped || spoiled) {
            return Long.MAX_VALUE;
        }
        return (permits > 0 && !alone) || queue.isEmpty() ? 0 : RETRY_NANOS;
    }

    /** While the baseline loads: encodes from the head what needs nothing of it. */
    private void passPlain() throws InterruptedException {
        Probe probe = new Probe();
        while (hasHead() && !change.isTruncate() && change.decode(probe)) {
            window.begin();
            change.decode(encoding);
            writer.grown(change.recordBytes());
            removeHead();
        }
        window.clear();
        if (queue.isEmpty()) {
            dropped = true;
            close();
            writer.deferralDone(this);
        } else {
            raiseHold();
        }
    }

    /** Whether the change is a next one that may go. */
    private boolean hasHead() {
        return !headIsKept() && queue.peek(change.frame);
    }

    /** Passes over what the rows of a load contain. True if what comes next has to stay. */
    private boolean headIsKept() {
        while (queue.peek(change.frame)) {
            switch (table.verdict(change.frame.xid(), change.frame.commitPosition())) {
                case SEND, SEND_WHOLE -> {
                    return false;
                }
                case KEEP -> {
                    return true;
                }
                case LEAVE_OUT -> {
                    worker.services().metrics().containedRecords.increment();
                    removeHead();
                }
            }
        }
        return false;
    }

    boolean isWaiting() {
        return waiting;
    }

    /** Nothing waits here that committed at this position or before. */
    boolean hasPassed(long position) {
        return !waiting
                && window.isDone()
                && !encoding.holdsKeys()
                && (!queue.peek(change.frame) || change.frame.commitPosition() > position);
    }

    /** A later generation of the table needs nothing of this. */
    void abandon() {
        if (!waiting && !dropped) {
            drop();
        }
    }

    /** Forgets everything: the table is set aside from before what waits here. */
    private void drop() {
        dropped = true;
        long lost = 0;
        while (queue.peek(change.frame)) {
            lost++;
            removeHead();
        }
        if (!window.isDone()) {
            lost++;
        }
        writer.discard(lost);
        close();
        writer.deferralDone(this);
    }

    private void close() {
        worker.services().metrics().deferredBytes.addAndGet(-queue.bytes());
        queue.close();
        window.clear();
        releasePermit();
        if (hold.isSet() && worker.services().stream().release(hold)) {
            worker.services().progress().run();
        }
    }

    private interface Step {
        void run() throws InterruptedException;
    }

    private void guarded(Step step) throws InterruptedException {
        try {
            step.run();
        } catch (QuarantineException e) {
            writer.fail(e, change.meta.commitPosition());
            drop();
        } catch (WalshadowException e) {
            throw e;
        } catch (RuntimeException e) {
            writer.fail(e, change.meta.commitPosition(), change.meta.recordLsn());
            drop();
        }
    }

    private void step() throws InterruptedException {
        if (alone) {
            workAlone();
        } else if (!window.isDone()) {
            encode();
        } else if (headIsKept()) {
            raiseHold();
        } else if (!queue.peek(change.frame)) {
            dropped = true;
            close();
            writer.deferralDone(this);
        } else if (!table.follows(change.frame.commitPosition())) {
            drop();
        } else if (change.isTruncate()) {
            sweep();
        } else if (gathers()) {
            away("earlier rows", table::awaitSettled, () -> {});
        } else if (takePermit()) {
            encoding.clear();
            window.fill(this::hasHead, this::removeHead);
            if (!window.isWide()) {
                work();
            } else {
                releasePermit();
                alone = true;
                workAlone();
            }
        }
    }

    /**
     * Whether more is worth waiting for. Values of the backup are not there for long, so that what
     * may need them goes on.
     */
    private boolean gathers() {
        return table.batchesInFlight() > 0 && !worker.services().baselineToast().isHeld();
    }

    private void removeHead() {
        int length = change.frame.length();
        queue.remove(change.frame);
        worker.services().metrics().deferredBytes.addAndGet(-length);
    }

    // TRUNCATE

    /** All earlier rows durable, then the tombstones, then later rows (I9). */
    private void sweep() {
        DeferredFrame frame = change.frame;
        Sweep.Version version =
                new Sweep.Version(
                        frame.commitPosition(),
                        change.recordLsn(),
                        frame.commitMicros(),
                        frame.xid());
        change.meta.transaction(frame.commitPosition(), frame.commitMicros(), frame.xid());
        writer.seal();
        away(
                "sweep",
                () -> {
                    table.awaitSettled();
                    Sweep.run(worker.services(), table, version);
                    forgetChunks(version);
                },
                () -> {
                    if (queue.peek(change.frame)) {
                        removeHead();
                        raiseHold();
                    }
                });
    }

    /** The TOAST relation was emptied with its table. */
    private void forgetChunks(Sweep.Version version) throws InterruptedException {
        ChunkMirror mirror = worker.services().mirror();
        if (mirror != null) {
            worker.services()
                    .reachability()
                    .until(
                            table,
                            () ->
                                    mirror.forgetBelow(
                                            table, version.commitPosition(), version.recordLsn()));
        }
    }

    /** Runs {@code step} elsewhere, then {@code then} here. */
    private void away(String name, AsyncSteps.Step step, Step then) {
        waiting = true;
        worker.steps()
                .run(
                        name + " " + table.label(),
                        () -> {
                            QuarantineException refused = null;
                            try {
                                step.run();
                            } catch (QuarantineException e) {
                                refused = e;
                            }
                            QuarantineException failure = refused;
                            worker.mailbox().control(() -> back(failure, then));
                        });
    }

    private void back(@Nullable QuarantineException failure, Step then)
            throws InterruptedException {
        waiting = false;
        if (dropped) {
            return;
        }
        if (failure != null) {
            writer.fail(failure, change.meta.commitPosition());
            drop();
        } else {
            guarded(then);
        }
    }

    // windows

    private void work() throws InterruptedException {
        ChunkMirror mirror = worker.services().mirror();
        if (mirror != null && window.asksMirror()) {
            writer.seal();
            away("toast chunks", () -> ask(mirror), this::rescan);
        } else if (window.isSpoiled()) {
            releasePermit();
            spoiled = true;
            table.requireLoadFilter().spoil();
        } else if (window.needsLookup()) {
            writer.seal();
            away("old values", encoding.lookUp(), this::encode);
        } else {
            encode();
        }
    }

    private void ask(ChunkMirror mirror) throws InterruptedException {
        table.awaitSettled();
        worker.services()
                .reachability()
                .until(table, () -> change.mirrored.fetch(mirror, table, valueBytes()));
    }

    /** How many stored bytes of a value may be needed. */
    private int valueBytes() {
        return worker.services().options().storedValueBytes();
    }

    private void rescan() throws InterruptedException {
        window.rescan();
        work();
    }

    /** Windows and their values are held in memory: few at a time, over all tables. */
    private boolean takePermit() {
        if (permits == 0 && worker.windows().tryAcquire()) {
            permits = 1;
        }
        return permits > 0;
    }

    /** A window of wide values is worked off while no other one is. */
    private void workAlone() throws InterruptedException {
        if (worker.windows().tryAcquire(DecodeWorker.WINDOWS)) {
            permits = DecodeWorker.WINDOWS;
            alone = false;
            work();
        }
    }

    private void releasePermit() {
        worker.windows().release(permits);
        permits = 0;
    }

    /** Encodes the window from where it stands. */
    private void encode() throws InterruptedException {
        encoding.run();
        if (encoding.holdsKeys()) {
            writer.seal();
            away("old keys", table::awaitSettled, this::sendHeld);
        } else if (encoding.isStale()) {
            rescan();
        } else {
            windowDone();
        }
    }

    private void sendHeld() throws InterruptedException {
        encoding.sendHeld();
        if (encoding.isStale()) {
            rescan();
        } else {
            windowDone();
        }
    }

    private void windowDone() {
        if (window.isDone()) {
            window.clear();
            encoding.clear();
            writer.sealFrom(SENT_AT_ONCE_BYTES);
            releasePermit();
            raiseHold();
        }
    }

    private void raiseHold() {
        if (queue.peek(change.frame)
                && worker.services().stream().raise(hold, change.frame.sequence())) {
            worker.services().progress().run();
        }
    }

    /** Gathers the TOAST values of the change's own transaction. */
    private final class Collect implements HeapChanges.Handler {
        @Override
        public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta rowMeta) {
            if (tuple.hasExternal()) {
                encoder.probeRow(change.scratch(), tuple, rowMeta, collected);
            }
            return true;
        }

        @Override
        public void tombstone(@Nullable TupleView tuple, RowMeta rowMeta) {}
    }

    /** Whether a change can be encoded as it is, and an old key need not be held. */
    private final class Probe implements HeapChanges.Handler {
        @Override
        public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta rowMeta) {
            change.frame.forgetUse();
            int result = encoder.probeRow(change.scratch(), tuple, rowMeta, change.frame);
            return result != RowEncoder.NEEDS_OLD_VALUE && !change.frame.baselineUsed();
        }

        @Override
        public void tombstone(@Nullable TupleView tuple, RowMeta rowMeta) {}
    }
}
