package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.pipeline.AckLedger.Hold;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One table's changes from the first that cannot be encoded at once (it needs its previous version,
 * or empties the table) until all are encoded, in order. While the table's baseline is loading they
 * only gather.
 *
 * <p>They move on in windows. A window's rows that lack a value are looked up together: the table's
 * earlier batches are awaited first, so ClickHouse has every earlier version; the newest version of
 * a key there, or in this window, is the row's previous one. If it is not below the row's own
 * version, the row was delivered by an earlier run, or is superseded, and is skipped.
 *
 * <p>A row that takes values from another key (its key changed; where the place is the key, every
 * update does that) or from the backup must be durable before anything newer of that old key is
 * sent, or a restart would not find the values again. So the old key's tombstone is held until the
 * window is durable, and the window ends before the next row of a held key. All of this happens on
 * the worker's thread, only the waiting elsewhere.
 */
final class Deferral {
    private static final int WINDOW_BYTES = 8 << 20;
    private static final int WINDOW_RECORDS = 4096;

    /** Bytes of values that one window looks up; a single larger value is let through. */
    private static final long WINDOW_VALUE_BYTES = 16 << 20;

    private static final int BOUND_FACTOR = 4;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final TableWriter writer;
    private final DecodeWorker worker;
    private final TargetTable table;
    private final RowEncoder encoder;
    private final DeferredRecords queue;
    private final Hold hold = new Hold();
    private final CollectedToast collected = new CollectedToast();

    private final DeferredFrame frame;
    private final RawRecord record = new RawRecord();
    private final RowMeta meta = new RowMeta();
    private final ByteBuilder keyBytes = new ByteBuilder(64);
    private final TableBlock scratch;

    // the window
    private final ByteBuilder window = new ByteBuilder(1024);
    private int windowAt;
    private long windowValueBytes;
    private final LinkedHashMap<String, WantedKey> wanted = new LinkedHashMap<>();
    private final Set<String> written = new HashSet<>();
    private final BitSet missing = new BitSet();
    private int[] columns = new int[0];
    private Map<String, PreviousVersion> versions = new HashMap<>();
    private final TableBlock held;
    private final Set<String> heldKeys = new HashSet<>();
    private long heldSequence;

    private boolean permit;
    private boolean waiting;
    private boolean dropped;

    Deferral(TableWriter writer) {
        this.writer = writer;
        this.worker = writer.worker();
        this.table = writer.table();
        this.encoder = writer.encoder();
        this.frame = new DeferredFrame(worker.services().baselineToast());
        this.scratch = encoder.newBlock();
        this.held = encoder.newBlock();
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
        if (waiting || !table.isOpen()) {
            return Long.MAX_VALUE;
        }
        if (table.state() == TableState.LOADING) {
            guarded(this::passPlain);
            return Long.MAX_VALUE;
        }
        guarded(this::step);
        if (waiting || dropped) {
            return Long.MAX_VALUE;
        }
        return permit || queue.isEmpty() ? 0 : RETRY_NANOS;
    }

    /** While the baseline loads: encodes from the head what needs nothing of it. */
    private void passPlain() throws InterruptedException {
        while (queue.peek(frame) && !headIsTruncate() && decode(new Probe())) {
            decode(new Apply());
            writer.grown(record.length());
            remove(frame);
        }
        if (queue.isEmpty()) {
            dropped = true;
            close();
            writer.deferralDone(this);
        } else {
            raiseHold();
        }
    }

    boolean isWaiting() {
        return waiting;
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
        while (queue.peek(frame)) {
            lost++;
            remove(frame);
        }
        if (windowAt < window.length()) {
            lost++;
        }
        writer.discard(lost);
        close();
        writer.deferralDone(this);
    }

    private void close() {
        worker.services().metrics().deferredBytes.addAndGet(-queue.bytes());
        queue.close();
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
            writer.fail(e, meta.commitPosition());
            drop();
        } catch (WalshadowException e) {
            throw e;
        } catch (RuntimeException e) {
            writer.fail(e, meta.commitPosition(), meta.recordLsn());
            drop();
        }
    }

    private void step() throws InterruptedException {
        if (windowAt < window.length()) {
            apply();
        } else if (!queue.peek(frame)) {
            dropped = true;
            close();
            writer.deferralDone(this);
        } else if (!table.follows(frame.commitPosition())) {
            drop();
        } else if (headIsTruncate()) {
            sweep();
        } else if (takePermit()) {
            fillWindow();
            if (wanted.isEmpty()) {
                apply();
            } else {
                lookUp();
            }
        }
    }

    private boolean headIsTruncate() {
        frame.record(record);
        return HeapChanges.isTruncate(record);
    }

    private void remove(DeferredFrame head) {
        int length = head.length();
        queue.remove(head);
        worker.services().metrics().deferredBytes.addAndGet(-length);
    }

    // TRUNCATE

    /** All earlier rows durable, then the tombstones, then later rows (I9). */
    private void sweep() {
        Sweep.Version version =
                new Sweep.Version(
                        frame.commitPosition(), record.lsn(), frame.commitMicros(), frame.xid());
        meta.transaction(frame.commitPosition(), frame.commitMicros(), frame.xid());
        writer.seal();
        away(
                "sweep",
                () -> {
                    table.awaitSettled();
                    Sweep.run(worker.services(), table, version);
                },
                () -> {
                    if (queue.peek(frame)) {
                        remove(frame);
                        raiseHold();
                    }
                });
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
            writer.fail(failure, meta.commitPosition());
            drop();
        } else {
            guarded(then);
        }
    }

    // windows

    /** Takes changes up to the next TRUNCATE and notes what they lack. */
    private void fillWindow() {
        window.clear();
        windowAt = 0;
        wanted.clear();
        written.clear();
        missing.clear();
        versions = new HashMap<>();
        Scan scan = new Scan();
        windowValueBytes = 0;
        for (int count = 0; count < WINDOW_RECORDS && queue.peek(frame); count++) {
            boolean full =
                    window.length() >= WINDOW_BYTES || windowValueBytes >= WINDOW_VALUE_BYTES;
            if (full || headIsTruncate()) {
                break;
            }
            decode(scan);
            window.putBytes(frame.buffer(), frame.offset(), frame.length());
            remove(frame);
        }
        columns = missing.stream().toArray();
    }

    private boolean decode(HeapChanges.Handler handler) {
        frame.record(record);
        meta.transaction(frame.commitPosition(), frame.commitMicros(), frame.xid());
        return worker.heap().decode(table, record, meta, handler);
    }

    private void lookUp() {
        writer.seal();
        PreviousVersions lookup = new PreviousVersions(worker.services(), table, columns);
        OldValueSource source = new OldValueSource(worker.services(), table, columns);
        LinkedHashMap<String, WantedKey> keys = new LinkedHashMap<>(wanted);
        away(
                "old values",
                () -> {
                    table.awaitSettled();
                    versions = lookup.fetch(keys.values());
                    source.complete(keys, versions);
                },
                this::apply);
    }

    /** Windows and their answers are held in memory: few at a time, over all tables. */
    private boolean takePermit() {
        if (!permit) {
            permit = worker.windows().tryAcquire();
        }
        return permit;
    }

    private void releasePermit() {
        if (permit) {
            permit = false;
            worker.windows().release();
        }
    }

    /** Encodes the window from {@link #windowAt} on. */
    private void apply() throws InterruptedException {
        Apply handler = new Apply();
        while (windowAt < window.length()) {
            frame.wrap(window.array(), windowAt);
            if (!decode(handler)) {
                break; // the next row is of a held key
            }
            windowAt += frame.length();
            writer.grown(record.length());
        }
        if (held.rows() > 0) {
            sendHeld();
        } else {
            windowDone();
        }
    }

    private void windowDone() {
        if (windowAt == window.length()) {
            versions = new HashMap<>();
            releasePermit();
            raiseHold();
        }
    }

    private void sendHeld() {
        writer.seal();
        away(
                "old keys",
                table::awaitSettled,
                () -> {
                    Batch batch = writer.batch(heldSequence, false, meta);
                    batch.block.appendAll(held);
                    batch.tombstones += held.rows();
                    held.clear();
                    heldKeys.clear();
                    writer.grown(0);
                    windowDone();
                });
    }

    private void raiseHold() {
        if (queue.peek(frame) && worker.services().stream().raise(hold, frame.sequence())) {
            worker.services().progress().run();
        }
    }

    private String key(@Nullable TupleView tuple) {
        keyBytes.clear();
        encoder.appendKey(tuple, meta, frame, keyBytes);
        return latin(keyBytes);
    }

    /** Of an UPDATE that changed the key. */
    private String leftKey(@Nullable TupleView oldKey) {
        keyBytes.clear();
        encoder.appendOldKey(oldKey, meta, frame, keyBytes);
        return latin(keyBytes);
    }

    private static String latin(ByteBuilder bytes) {
        return new String(bytes.array(), 0, bytes.length(), StandardCharsets.ISO_8859_1);
    }

    private boolean keyChanged(TupleView tuple, @Nullable TupleView oldKey) {
        return encoder.keyChanged(tuple, oldKey, meta, frame);
    }

    /** Gathers the TOAST values of the change's own transaction. */
    private final class Collect implements HeapChanges.Handler {
        @Override
        public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta rowMeta) {
            if (tuple.hasExternal()) {
                encoder.appendRow(scratch, tuple, rowMeta, collected);
                scratch.clear();
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
            frame.forgetUse();
            int result = encoder.appendRow(scratch, tuple, rowMeta, frame);
            scratch.clear();
            return result == RowEncoder.OK && !frame.baselineUsed();
        }

        @Override
        public void tombstone(@Nullable TupleView tuple, RowMeta rowMeta) {}
    }

    /** Notes which keys and columns have to be looked up. */
    private final class Scan implements HeapChanges.Handler {
        @Override
        public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta rowMeta) {
            int result = encoder.appendRow(scratch, tuple, rowMeta, frame);
            scratch.clear();
            if (result == RowEncoder.NEEDS_OLD_VALUE) {
                windowValueBytes += encoder.missingBytes();
                for (int i = 0; i < encoder.missingCount(); i++) {
                    missing.set(encoder.missingColumn(i));
                }
                if (keyChanged(tuple, oldKey)) {
                    want(leftKey(oldKey), true);
                    want(key(tuple), false);
                } else {
                    want(key(tuple), true);
                }
            }
            written.add(key(tuple));
            return true;
        }

        @Override
        public void tombstone(@Nullable TupleView tuple, RowMeta rowMeta) {}
    }

    /**
     * Notes a key to look up.
     *
     * @param needed false if only what was delivered already is of interest
     */
    private void want(String key, boolean needed) {
        if (!wanted.containsKey(key)) {
            keyBytes.clear();
            encoder.appendKeyLiteral(key.getBytes(StandardCharsets.ISO_8859_1), 0, keyBytes);
            wanted.put(
                    key,
                    new WantedKey(
                            keyBytes.toString(),
                            meta.commitPosition(),
                            meta.recordLsn() | 1,
                            needed && !written.contains(key),
                            meta.tid(),
                            record.xid()));
        }
    }

    /** Encodes for good. */
    private final class Apply implements HeapChanges.Handler {
        @Override
        public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta rowMeta) {
            if (wanted.isEmpty() && heldKeys.isEmpty()) {
                return plain(tuple, oldKey);
            }
            String key = key(tuple);
            if (heldKeys.contains(key)) {
                return false;
            }
            boolean changed = keyChanged(tuple, oldKey);
            long low = meta.recordLsn() | 1;
            Batch batch = writer.batch(frame.sequence(), false, meta);
            writer.noteWide(tuple);
            frame.forgetUse();
            if (encoder.appendRow(batch.block, tuple, meta, frame) == RowEncoder.OK) {
                remember(key, batch.block);
                if (changed) {
                    leave(batch, oldKey);
                }
                return true;
            }
            String previous = changed ? leftKey(oldKey) : key;
            if (!isDelivered(key, low) && !isDelivered(previous, low)) {
                PreviousVersion version = versions.get(previous);
                if (version == null || version.isDeleted()) {
                    throw nowhere();
                }
                encoder.appendRowWithOld(batch.block, tuple, meta, frame, version);
                worker.services().metrics().oldValueRows.increment();
                remember(key, batch.block);
            }
            if (changed) {
                holdTombstone(oldKey, previous);
            }
            return true;
        }

        /** By an earlier run, or superseded by what is. */
        private boolean isDelivered(String key, long low) {
            PreviousVersion newest = versions.get(key);
            return newest != null && !newest.isBelow(meta.commitPosition(), low);
        }

        private boolean plain(TupleView tuple, @Nullable TupleView oldKey) {
            Batch batch = writer.batch(frame.sequence(), false, meta);
            writer.noteWide(tuple);
            frame.forgetUse();
            int result = encoder.appendRow(batch.block, tuple, meta, frame);
            if (result != RowEncoder.OK) {
                throw nowhere();
            }
            if (keyChanged(tuple, oldKey)) {
                leave(batch, oldKey);
            }
            return true;
        }

        /** The row of the new key was appended just now, with values that came with it. */
        private void leave(Batch batch, @Nullable TupleView oldKey) {
            if (frame.baselineUsed()) {
                holdTombstone(oldKey, leftKey(oldKey));
                return;
            }
            encoder.appendOldTombstone(batch.block, oldKey, meta, frame);
            batch.tombstones++;
            if (!wanted.isEmpty()) {
                forget(leftKey(oldKey));
            }
        }

        @Override
        public void tombstone(@Nullable TupleView tuple, RowMeta rowMeta) {
            Batch batch = writer.batch(frame.sequence(), false, meta);
            encoder.appendTombstone(batch.block, tuple, meta, frame);
            batch.tombstones++;
            if (!wanted.isEmpty()) {
                forget(key(tuple));
            }
        }

        private void holdTombstone(@Nullable TupleView oldKey, String key) {
            if (held.rows() == 0) {
                heldSequence = frame.sequence();
            }
            encoder.appendOldTombstone(held, oldKey, meta, frame);
            heldKeys.add(key);
            forget(key);
        }
    }

    /** The row just appended is its key's newest version. */
    private void remember(String key, TableBlock block) {
        if (!wanted.containsKey(key)) {
            return;
        }
        NativeBlock rows = block.nativeBlock();
        byte[][] values = new byte[columns.length][];
        for (int i = 0; i < columns.length; i++) {
            keyBytes.clear();
            rows.column(columns[i]).rowBinary(block.rows() - 1, keyBytes);
            values[i] = keyBytes.toByteArray();
        }
        newest(
                key,
                new PreviousVersion(
                        meta.commitPosition(), meta.recordLsn() | 1, false, columns, values));
    }

    private void forget(String key) {
        if (wanted.containsKey(key)) {
            newest(
                    key,
                    new PreviousVersion(
                            meta.commitPosition(),
                            meta.recordLsn() & ~1L,
                            true,
                            columns,
                            new byte[columns.length][]));
        }
    }

    private void newest(String key, PreviousVersion version) {
        PreviousVersion known = versions.get(key);
        if (known == null || known.isBelow(version)) {
            versions.put(key, version);
        }
    }

    private QuarantineException nowhere() {
        return new QuarantineException(
                PipelineCodes.OLD_VALUE_MISSING,
                "the change of "
                        + table.label()
                        + " at "
                        + Lsn.format(meta.recordLsn())
                        + " leaves a toasted column unchanged, and its previous version is"
                        + " neither in the WAL since the start, nor in ClickHouse, nor on the"
                        + " source; load the table anew");
    }
}
