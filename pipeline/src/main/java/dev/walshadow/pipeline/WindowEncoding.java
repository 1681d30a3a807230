package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.pipeline.encode.OldValues;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.pipeline.encode.ValueSources;
import dev.walshadow.postgres.heap.TupleView;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Encodes a window's changes for good, with the newest versions of their keys: as looked up, and
 * those that were encoded since.
 *
 * <p>A row that takes values from another key (its key changed; where the place is the key, every
 * update does that), from the backup or from memory must be durable before anything newer of that
 * old key is sent, or a restart would not find the values again. So the old key's tombstone is held
 * until the window is durable, and the encoding pauses before the next row of a held key. Worker
 * thread only, but for {@link #lookUp}.
 */
final class WindowEncoding implements HeapChanges.Handler {
    private static final int NOWHERE = -1;

    private final TableWriter writer;
    private final Services services;
    private final RowEncoder encoder;
    private final DeferredChange change;
    private final DeferredWindow window;

    private int[] columns = new int[0];
    private Map<String, PreviousVersion> versions = new HashMap<>();
    private Map<SourceLookup.Place, OldValues> fromSource = new HashMap<>();

    /** Where every version stays: what ClickHouse has from the lookup's version on. */
    private Map<String, NavigableSet<BigInteger>> later = new HashMap<>();

    private final boolean appends;

    /** What the source does not have is superseded. */
    private boolean asksSource;

    private int number;

    /** The row at hand lacks a value that it had when the window was scanned. */
    private boolean stale;

    private int staleAt = NOWHERE;

    private final TableBlock held;
    private final Set<String> heldKeys = new HashSet<>();
    private long heldSequence;

    WindowEncoding(TableWriter writer, DeferredChange change, DeferredWindow window) {
        this.writer = writer;
        this.services = writer.worker().services();
        this.encoder = writer.encoder();
        this.change = change;
        this.window = window;
        this.held = encoder.newBlock();
        this.appends = encoder.mapping().append();
    }

    /** Before the first change of a window, and after its last. */
    void clear() {
        columns = new int[0];
        versions = new HashMap<>();
        fromSource = new HashMap<>();
        later = new HashMap<>();
        staleAt = NOWHERE;
    }

    /** What asks ClickHouse, then the source, for what the window lacks; runs elsewhere. */
    AsyncSteps.Step lookUp() {
        columns = window.missingColumns();
        TargetTable table = writer.table();
        PreviousVersions lookup =
                new PreviousVersions(
                        services, table, columns, appends ? window.nextVersion() : null);
        OldValueSource source = new OldValueSource(services, table, columns);
        List<String> literals = window.literals();
        asksSource = source.canServe();
        return () -> {
            table.awaitSettled();
            versions = lookup.fetch(literals);
            later = lookup.later();
            fromSource = source.ask(window.unresolved().places(versions));
        };
    }

    /** Encodes until the window is done, or until {@link #isStale} or {@link #holdsKeys}. */
    void run() throws InterruptedException {
        stale = false;
        while (!window.isDone()) {
            window.wrap();
            number = window.number();
            if (!change.decode(this)) {
                return;
            }
            window.passed(number);
            writer.grown(change.recordBytes());
        }
    }

    /**
     * A value of the backup was there when the window was scanned, and went before it was encoded,
     * since its row has been delivered: what is left is to be scanned and looked up anew.
     */
    boolean isStale() {
        return stale;
    }

    boolean holdsKeys() {
        return held.rows() > 0;
    }

    /** What was encoded is durable: the tombstones of the keys that its rows left follow. */
    void sendHeld() throws InterruptedException {
        Batch batch = writer.batch(heldSequence, false, change.meta);
        batch.block.appendAll(held);
        batch.tombstones += held.rows();
        held.clear();
        heldKeys.clear();
        writer.grown(0);
    }

    private Batch batch() {
        return writer.batch(window.sequence(), false, change.meta);
    }

    @Override
    public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta meta) {
        boolean keyMatters = window.needsLookup() || window.leavesOut() || !heldKeys.isEmpty();
        String key = keyMatters ? change.key(tuple) : "";
        if (heldKeys.contains(key)) {
            return false;
        }
        if (keyMatters && window.leavesOut(key, number)) {
            number++;
            services.metrics().supersededRows.increment();
            return true;
        }
        return encode(tuple, oldKey, key);
    }

    private boolean encode(TupleView tuple, @Nullable TupleView oldKey, String key) {
        boolean changed = change.keyChanged(tuple, oldKey);
        Batch batch = batch();
        writer.noteWide(tuple);
        change.frame.forgetUse();
        window.values().beginChange();
        int rowsBefore = batch.block.rows();
        int result = encoder.appendRow(batch.block, tuple, change.meta, window.sources(null));
        boolean lacks = result == RowEncoder.NEEDS_OLD_VALUE;
        boolean noted = lacks && window.unresolved().isNoted(change.place());
        if (lacks && !noted && writer.fillsMissing()) {
            result = fill(batch, tuple);
        } else if (lacks && !noted) {
            return becomesStale(tuple);
        }
        if (noted && isOvertaken(key, changed ? change.leftKey(oldKey) : key)) {
            return becomesStale(tuple);
        }
        if (noted) {
            completed(batch, tuple, oldKey, key, changed);
        } else {
            if (result == RowEncoder.OK) {
                remember(key, batch.block, null);
            } else {
                batch.tombstones += batch.block.rows() - rowsBefore;
                forget(key);
            }
            if (window.values().isUsed()) {
                services.metrics().oldValueRows.increment();
            }
            if (changed) {
                leave(batch, oldKey);
            }
        }
        number++;
        return true;
    }

    /** Mode {@code disabled}. */
    private int fill(Batch batch, TupleView tuple) {
        services.metrics().defaultedRows.increment();
        return encoder.appendRow(
                batch.block,
                tuple,
                change.meta,
                new ValueSources(change.frame, null, writer.defaults()));
    }

    /** The row takes values from its previous version, unless it has been delivered. */
    private void completed(
            Batch batch, TupleView tuple, @Nullable TupleView oldKey, String key, boolean changed) {
        long low = change.meta.recordLsn() | 1;
        String previous = changed ? change.leftKey(oldKey) : key;
        boolean delivered =
                appends ? isThere(key, low) : isDelivered(key, low) || isDelivered(previous, low);
        if (!delivered) {
            complete(batch, tuple, key, previous);
        }
        if (changed) {
            holdTombstone(oldKey, previous);
        }
    }

    private void complete(Batch batch, TupleView tuple, String key, String previous) {
        if (encoder.tornValue() != null) {
            throw torn(tuple);
        }
        PreviousVersion version = versions.get(previous);
        OldValues old =
                version == null || version.isDeleted() ? fromSource.get(change.place()) : version;
        if (old != null) {
            PreviousVersion kept = old == version ? version.only(missingColumns()) : null;
            encoder.appendRow(batch.block, tuple, change.meta, window.sources(old));
            services.metrics().oldValueRows.increment();
            remember(key, batch.block, kept);
        } else if (services.options().toast() == ToastMode.DISABLED) {
            fill(batch, tuple);
            remember(key, batch.block, null);
        } else if (asksSource && !appends) {
            forget(key); // it has changed again: that change is yet to come
        } else {
            throw nowhere(tuple);
        }
    }

    /** Where every version stays: whether an earlier run has delivered this very one. */
    private boolean isThere(String key, long low) {
        NavigableSet<BigInteger> there = later.get(key);
        return there != null && there.contains(Versions.of(change.meta.commitPosition(), low));
    }

    /**
     * Whether the version that this row follows came to ClickHouse by an earlier run, and is not
     * the one at hand: then it is looked up from here. One that is there itself needs none.
     */
    private boolean isOvertaken(String key, String previous) {
        NavigableSet<BigInteger> there = later.get(previous);
        long low = change.meta.recordLsn() | 1;
        if (there == null || isThere(key, low)) {
            return false;
        }
        BigInteger before = there.lower(Versions.of(change.meta.commitPosition(), low & ~1L));
        PreviousVersion known = versions.get(previous);
        return before != null && (known == null || known.version().compareTo(before) < 0);
    }

    /** Pauses here; once for a row, since values only go. */
    private boolean becomesStale(TupleView tuple) {
        if (staleAt == window.position()) {
            throw nowhere(tuple);
        }
        staleAt = window.position();
        stale = true;
        return false;
    }

    /** By an earlier run, or superseded by what is. */
    private boolean isDelivered(String key, long low) {
        PreviousVersion newest = versions.get(key);
        return newest != null && !newest.isBelow(change.meta.commitPosition(), low);
    }

    /** The row of the new key was appended just now, with values that are not of the old one. */
    private void leave(Batch batch, @Nullable TupleView oldKey) {
        if (change.frame.baselineUsed() || window.values().isUsed()) {
            holdTombstone(oldKey, change.leftKey(oldKey));
            return;
        }
        encoder.appendOldTombstone(batch.block, oldKey, change.meta, change.frame);
        batch.tombstones++;
        if (window.needsLookup()) {
            forget(change.leftKey(oldKey));
        }
    }

    @Override
    public void tombstone(@Nullable TupleView tuple, RowMeta meta) {
        Batch batch = batch();
        encoder.appendTombstone(batch.block, tuple, change.meta, change.frame);
        batch.tombstones++;
        number++;
        if (window.needsLookup()) {
            forget(change.key(tuple));
        }
    }

    private void holdTombstone(@Nullable TupleView oldKey, String key) {
        if (held.rows() == 0) {
            heldSequence = change.frame.sequence();
        }
        encoder.appendOldTombstone(held, oldKey, change.meta, change.frame);
        heldKeys.add(key);
        forget(key);
    }

    private int[] missingColumns() {
        return IntStream.range(0, encoder.missingCount()).map(encoder::missingColumn).toArray();
    }

    /**
     * The row just appended is its key's newest version.
     *
     * @param kept the values that it took from the version before; null if it took none
     */
    private void remember(String key, TableBlock block, @Nullable PreviousVersion kept) {
        if (!window.wants(key)) {
            return;
        }
        NativeBlock rows = block.nativeBlock();
        byte[][] values = new byte[columns.length][];
        for (int i = 0; i < columns.length; i++) {
            byte[] known = kept == null ? null : kept.value(columns[i]);
            values[i] = known == null ? lastValue(rows.column(columns[i])) : known;
        }
        newest(
                key,
                new PreviousVersion(
                        change.meta.commitPosition(),
                        change.meta.recordLsn() | 1,
                        false,
                        columns,
                        values));
    }

    private static byte[] lastValue(ColumnBuffer column) {
        ByteBuilder value = ByteBuilder.onDemand(16);
        column.rowBinary(column.rows() - 1, value);
        return value.take();
    }

    private void forget(String key) {
        if (window.wants(key)) {
            newest(
                    key,
                    new PreviousVersion(
                            change.meta.commitPosition(),
                            change.meta.recordLsn() & ~1L,
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

    private QuarantineException nowhere(TupleView tuple) {
        return encoder.valueMissing(
                tuple,
                change.meta,
                PipelineCodes.OLD_VALUE_MISSING,
                "the change leaves a toasted column unchanged, and its previous version is neither"
                        + " in the WAL since the start, nor in ClickHouse, nor on the source; load"
                        + " the table anew"
                        + (encoder.mapping().filter() == null
                                ? ""
                                : ". The table has a where: ALTER TABLE ... REPLICA IDENTITY FULL"
                                        + " on the source logs such values, so that rows that move"
                                        + " into it arrive whole"));
    }

    /** An earlier value would be a guess: this row's own is damaged. */
    private QuarantineException torn(TupleView tuple) {
        return encoder.valueMissing(
                tuple,
                change.meta,
                PipelineCodes.TOAST_MISSING,
                encoder.tornValue()
                        + ": the WAL is damaged or lacks records; check the source with"
                        + " pg_amcheck, then load the table anew");
    }
}
