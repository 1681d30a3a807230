package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Code;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ArrayColumn;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.ForeignCodecs;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.pipeline.mapping.RowFilter;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.Temporal;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.transaction.ToastValues;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Turns tuples of one relation shape into rows of one mapping: walks a tuple once and lets one
 * compiled reader per column append to the block. Not thread safe; as many encoders as threads.
 */
public final class RowEncoder {
    /** The row was appended. */
    public static final int OK = 0;

    /** Nothing was appended: {@link #missingCount()} columns are toasted elsewhere. */
    public static final int NEEDS_OLD_VALUE = 1;

    /**
     * The row is not among those that replicate. Where it may have been before, its deletion was
     * appended.
     */
    public static final int FILTERED = 2;

    private static final int SCRATCH_KEPT = 1 << 20;

    /** From here on a row's values out of line count as wide. */
    private static final long WIDE_BYTES = 1 << 20;

    /**
     * Wide rows are assembled one at a time over all threads, so that the heap needs room for one
     * (I10). Whoever holds this waits for nothing.
     */
    private static final ReentrantLock WIDE = new ReentrantLock();

    private final TableMapping mapping;
    private final ValueLimit limit;
    private final boolean keyless;
    private final ColumnPlan[] plans;
    private final PolicyCounts counts = new PolicyCounts();
    private final ForeignCodecs foreign;
    private final AttributeWalker walker;
    private final ExternalValues external;
    private final KeyEncoder keys;
    private final @Nullable FilterPlan filter;
    private ByteBuilder scratch = ByteBuilder.onDemand(4096);
    private ValueSources chunks = new ValueSources((relation, value, out) -> false, null, null);

    /** The column at work, for messages. */
    private int current;

    private RowEncoder(
            RelationDescriptor shape,
            TableMapping mapping,
            SourceEncoding encoding,
            ValueLimit limit,
            ForeignCodecs foreign) {
        this.limit = limit;
        this.mapping = mapping;
        this.foreign = foreign;
        this.keyless = mapping.isKeyless();
        this.plans = plans(shape, encoding);
        TupleLayout layout = layout(shape.attributes());
        this.walker = new AttributeWalker(layout);
        this.external = new ExternalValues(plans, new AttributeWalker(layout), limit);
        this.keys =
                new KeyEncoder(
                        mapping,
                        plans,
                        new AttributeWalker(layout),
                        new AttributeWalker(layout),
                        external);
        this.filter = filter(shape, encoding, new AttributeWalker(layout));
    }

    private @Nullable FilterPlan filter(
            RelationDescriptor shape, SourceEncoding encoding, AttributeWalker oldWalker) {
        RowFilter wanted = mapping.filter();
        try {
            return wanted == null
                    ? null
                    : new FilterPlan(shape, wanted, encoding.charset(), external, oldWalker);
        } catch (IllegalArgumentException e) {
            throw new QuarantineException(
                    MappingCodes.SHAPE,
                    shape.label()
                            + ": its where cannot be evaluated any more: "
                            + e.getMessage()
                            + "; change it in the configuration and resync the table",
                    e);
        }
    }

    /**
     * @throws QuarantineException if the mapping was not made for this shape
     */
    public static RowEncoder compile(
            RelationDescriptor shape, TableMapping mapping, SourceEncoding encoding) {
        return compile(shape, mapping, encoding, ValueLimit.NONE);
    }

    /** With values no larger than that. */
    public static RowEncoder compile(
            RelationDescriptor shape,
            TableMapping mapping,
            SourceEncoding encoding,
            ValueLimit limit) {
        return new RowEncoder(
                shape, mapping, encoding, limit, new ForeignCodecs(encoding.renderer()));
    }

    /**
     * An encoder that shares what this one knows of types without a codec: to look ahead with.
     *
     * @param shape that this one was compiled for
     */
    public RowEncoder ahead(RelationDescriptor shape, SourceEncoding encoding) {
        return new RowEncoder(shape, mapping, encoding, limit, foreign);
    }

    /** Codecs of types that are printed elsewhere, many values at a time. */
    public ForeignCodecs foreign() {
        return foreign;
    }

    private ColumnPlan[] plans(RelationDescriptor shape, SourceEncoding encoding) {
        ColumnPlan.Compiler compiler =
                new ColumnPlan.Compiler(
                        shape,
                        encoding,
                        new TextConverter(encoding, counts),
                        counts,
                        limit,
                        foreign);
        List<ColumnMapping> columns = mapping.columns();
        ColumnPlan[] compiled = new ColumnPlan[columns.size()];
        for (int i = 0; i < compiled.length; i++) {
            compiled[i] = compiler.compile(i, columns.get(i), mapping.isKey(columns.get(i)));
        }
        return compiled;
    }

    private static TupleLayout layout(List<AttributeDescriptor> attributes) {
        int[] lengths = new int[attributes.size()];
        char[] alignments = new char[lengths.length];
        for (int i = 0; i < lengths.length; i++) {
            Invariant.check(attributes.get(i).number() == i + 1, "attributes are in attnum order");
            lengths[i] = attributes.get(i).length();
            alignments[i] = attributes.get(i).alignment();
        }
        return TupleLayout.of(lengths, alignments);
    }

    public TableMapping mapping() {
        return mapping;
    }

    public TableBlock newBlock() {
        return new TableBlock(mapping);
    }

    /** What the value policies changed so far. */
    public PolicyCounts counts() {
        return counts;
    }

    /**
     * Appends one row. A failure leaves the block as it was.
     *
     * @return {@link #OK}, {@link #NEEDS_OLD_VALUE} or {@link #FILTERED}
     * @throws QuarantineException names table, column and position
     */
    public int appendRow(TableBlock block, TupleView tuple, RowMeta meta, ToastValues toast) {
        return append(block, tuple, meta, chunksOf(toast));
    }

    /** The same object for the rows of one transaction. */
    @SuppressWarnings("ReferenceEquality") // an equal one has its own chunks
    private ValueSources chunksOf(ToastValues toast) {
        if (chunks.toast() != toast) {
            chunks = new ValueSources(toast, null, null);
        }
        return chunks;
    }

    /** As {@link #appendRow}, with values that are toasted elsewhere from other sources too. */
    public int appendRow(TableBlock block, TupleView tuple, RowMeta meta, ValueSources sources) {
        return append(block, tuple, meta, sources);
    }

    /** As {@link #appendRow}, taking values that are toasted elsewhere from {@code old}. */
    public int appendRowWithOld(
            TableBlock block, TupleView tuple, RowMeta meta, ToastValues toast, OldValues old) {
        return append(block, tuple, meta, new ValueSources(toast, null, old));
    }

    /**
     * As {@link #appendRow} of a row that is not sent: what the value policies change in it is not
     * counted.
     */
    public int probeRow(TableBlock block, TupleView tuple, RowMeta meta, ToastValues toast) {
        return probeRow(block, tuple, meta, chunksOf(toast));
    }

    public int probeRow(TableBlock block, TupleView tuple, RowMeta meta, ValueSources sources) {
        counts.pause(true);
        try {
            return append(block, tuple, meta, sources);
        } finally {
            counts.pause(false);
        }
    }

    private int append(TableBlock block, TupleView tuple, RowMeta meta, ValueSources sources) {
        boolean done = false;
        current = -1;
        try {
            walker.walk(tuple);
            external.reset();
            if (filter != null && !filter.passes(tuple, walker, meta.oldKey(), sources.toast())) {
                if (filter.isUndecided()) {
                    return lacksFiltered(tuple, meta, sources);
                }
                if (meta.oldTid() != RowMeta.NO_TID && !keyless) {
                    appendWalkedTombstone(block, meta, tuple, sources.toast());
                }
                done = true;
                return FILTERED;
            }
            boolean appended =
                    (tuple.hasExternal() && external.size(tuple, walker) >= WIDE_BYTES)
                            ? appendWide(block, tuple, meta, sources)
                            : appendColumns(block, tuple, meta, sources);
            if (!appended) {
                return NEEDS_OLD_VALUE;
            }
            appendMeta(block, meta, meta.tid(), false);
            done = true;
            return OK;
        } catch (QuarantineException e) {
            throw located(e, meta, tuple);
        } finally {
            if (!done) {
                block.dropUnfinishedRow();
            }
        }
    }

    /** What the filter asks for is a column of the table, so that it is missing in the row, too. */
    private int lacksFiltered(TupleView tuple, RowMeta meta, ValueSources sources) {
        external.find(tuple, walker, meta.oldKey(), sources);
        if (sources.old() != null || external.missingCount() == 0) {
            throw new QuarantineException(
                    MappingCodes.ROW,
                    "the table's where asks for a column whose unchanged toasted value is not in"
                            + " this record; resync the table");
        }
        return NEEDS_OLD_VALUE;
    }

    private boolean appendWide(
            TableBlock block, TupleView tuple, RowMeta meta, ValueSources sources) {
        WIDE.lock();
        try {
            boolean appended = appendColumns(block, tuple, meta, sources);
            if (appended) {
                external.reset();
            }
            return appended;
        } finally {
            WIDE.unlock();
        }
    }

    /** False if a value is toasted elsewhere. */
    private boolean appendColumns(
            TableBlock block, TupleView tuple, RowMeta meta, ValueSources sources) {
        if (tuple.hasExternal()) {
            external.find(tuple, walker, meta.oldKey(), sources);
            if (external.missingCount() > 0) {
                return false;
            }
        }
        for (ColumnPlan plan : plans) {
            current = plan.index();
            counts.at(current);
            appendColumn(block, plan, tuple);
        }
        KnownValues known = sources.known();
        if (known != null && tuple.hasExternal()) {
            external.tell(block.nativeBlock(), known);
        }
        return true;
    }

    private void appendColumn(TableBlock block, ColumnPlan plan, TupleView tuple) {
        if (plan.fixed() != null) {
            block.nativeBlock().column(plan.index()).appendRowBinary(plan.fixed(), 0);
            return;
        }
        int at = walker.offset(plan.attribute());
        if (at >= 0) {
            int length = walker.length(plan.attribute());
            if (plan.varlena()) {
                appendVarlena(block, plan, tuple.buffer(), at, length);
            } else {
                appendPayload(block, plan, tuple.buffer(), at, length);
            }
        } else if (at == AttributeWalker.NULL) {
            appendNull(block, plan);
        } else {
            block.nativeBlock().column(plan.index()).appendRowBinary(plan.missing(), 0);
        }
    }

    private void appendVarlena(
            TableBlock block, ColumnPlan plan, byte[] bytes, int at, int length) {
        if (Varlena.isPlain(bytes, at)) {
            appendPayload(
                    block,
                    plan,
                    bytes,
                    Varlena.payloadOffset(bytes, at),
                    Varlena.payloadLength(bytes, at, length));
            return;
        }
        switch (external.state(plan.index())) {
            case ExternalValues.PAYLOAD -> {
                ByteBuilder value = external.value(plan.index());
                appendPayload(block, plan, value.array(), 0, value.length());
            }
            case ExternalValues.ROW_BINARY, ExternalValues.KNOWN -> {
                byte[] value = external.value(plan.index()).array();
                block.nativeBlock().column(plan.index()).appendRowBinary(value, 0);
            }
            case ExternalValues.OVERSIZED -> {
                counts.add(Policy.OVERSIZED);
                appendNull(block, plan);
            }
            case ExternalValues.PREFIX -> appendPrefix(block, plan, external.value(plan.index()));
            default -> {
                scratch.clear();
                Detoaster.appendInline(bytes, at, length, scratch);
                appendPayload(block, plan, scratch.array(), 0, scratch.length());
                if (scratch.capacity() > SCRATCH_KEPT) {
                    scratch = ByteBuilder.onDemand(4096);
                }
            }
        }
    }

    private void appendPayload(
            TableBlock block, ColumnPlan plan, byte[] bytes, int offset, int length) {
        int index = plan.index();
        try {
            if (!plan.reader().append(bytes, offset, length, block.values[index])) {
                appendNull(block, plan);
                return;
            }
        } catch (ByteBuilder.FullException e) {
            // its text is longer than the value
            if (plan.isKey() || limit.oversized() == ValueLimit.Oversized.QUARANTINE) {
                throw limit.exceeded(plan, length);
            }
            block.values[index].truncate(block.rows());
            counts.add(Policy.OVERSIZED);
            appendNull(block, plan);
            return;
        }
        present(block, index);
    }

    private void appendPrefix(TableBlock block, ColumnPlan plan, ByteBuilder value) {
        counts.add(Policy.OVERSIZED);
        int index = plan.index();
        if (plan.reader() instanceof TextReaders.Characters characters) {
            characters.appendCut(
                    value.array(), value.length(), limit.characters(), block.values[index]);
        } else {
            plan.reader().append(value.array(), 0, value.length(), block.values[index]);
        }
        present(block, index);
    }

    private static void present(TableBlock block, int index) {
        NullableColumn nulls = block.nulls[index];
        if (nulls != null) {
            nulls.present();
        }
    }

    private void appendNull(TableBlock block, ColumnPlan plan) {
        NullableColumn nulls = block.nulls[plan.index()];
        if (nulls != null) {
            nulls.appendNull();
        } else if (block.values[plan.index()] instanceof ArrayColumn array) {
            counts.add(Policy.NULL_ARRAY);
            array.appendDefault();
        } else {
            throw KeyEncoder.keyNull(plan);
        }
    }

    private void appendMeta(TableBlock block, RowMeta meta, long tid, boolean deleted) {
        long low = (meta.recordLsn() & ~1L) | (deleted ? 0 : 1);
        block.version.appendInt128(low, meta.commitPosition());
        block.isDeleted.appendByte(deleted ? 1 : 0);
        block.commitTimestamp.appendLong(Temporal.microsSince1970(meta.commitMicros()));
        if (block.leaf != null) {
            block.leaf.appendInt(mapping.relationOid());
        }
        if (block.tid != null) {
            block.tid.appendLong(tid);
        }
        block.xid.appendInt(meta.xid());
    }

    /**
     * Appends a deletion: the key, nothing else.
     *
     * @param keyTuple not looked at, and possibly null, where the place of {@code meta} is the key
     */
    public void appendTombstone(
            TableBlock block, @Nullable TupleView keyTuple, RowMeta meta, ToastValues toast) {
        if (keyless) {
            appendTombstone(block, meta.tid(), meta);
        } else {
            appendTombstone(block, meta, keyed(keyTuple), toast);
        }
    }

    /**
     * Appends the deletion of the key that an UPDATE left.
     *
     * @param oldKey as for {@link #keyChanged}, which is true
     */
    public void appendOldTombstone(
            TableBlock block, @Nullable TupleView oldKey, RowMeta meta, ToastValues toast) {
        if (keyless) {
            appendTombstone(block, meta.oldTid(), meta);
        } else {
            appendTombstone(block, meta, keyed(oldKey), toast);
        }
    }

    private static TupleView keyed(@Nullable TupleView keyTuple) {
        Invariant.check(keyTuple != null, "a table with a key has a tuple with it");
        return Objects.requireNonNull(keyTuple);
    }

    private void appendTombstone(TableBlock block, long tid, RowMeta meta) {
        for (ColumnPlan plan : plans) {
            block.nativeBlock().column(plan.index()).appendDefault();
        }
        appendMeta(block, meta, tid, true);
    }

    private void appendTombstone(
            TableBlock block, RowMeta meta, TupleView keyTuple, ToastValues toast) {
        boolean done = false;
        current = -1;
        try {
            walker.walk(keyTuple);
            external.reset();
            appendWalkedTombstone(block, meta, keyTuple, toast);
            done = true;
        } catch (QuarantineException e) {
            throw located(e, meta, keyTuple);
        } finally {
            if (!done) {
                block.dropUnfinishedRow();
            }
        }
    }

    private void appendWalkedTombstone(
            TableBlock block, RowMeta meta, TupleView keyTuple, ToastValues toast) {
        if (keyTuple.hasExternal()) {
            external.find(keyTuple, walker, meta.oldKey(), chunksOf(toast));
        }
        for (ColumnPlan plan : plans) {
            current = plan.index();
            counts.at(current);
            if (plan.isKey()) {
                appendColumn(block, plan, keyTuple);
            } else {
                block.nativeBlock().column(plan.index()).appendDefault();
            }
        }
        appendMeta(block, meta, meta.tid(), true);
    }

    /** How many columns the last {@link #NEEDS_OLD_VALUE} lacked. */
    public int missingCount() {
        return external.missingCount();
    }

    /** Bytes of what the last {@link #NEEDS_OLD_VALUE} lacked, as PostgreSQL counts them. */
    public long missingBytes() {
        return external.missingBytes();
    }

    /** Index in the mapping's columns of the {@code i}-th missing one. */
    public int missingColumn(int i) {
        return external.missing(i);
    }

    /** The id that it has in the table's TOAST relation. */
    public int missingValueId(int i) {
        return external.missingValueId(i);
    }

    /**
     * Whether ClickHouse sees one key in both tuples. A key column that is toasted elsewhere in
     * {@code newTuple} is unchanged.
     */
    public boolean sameKey(TupleView newTuple, TupleView oldKey, ToastValues toast) {
        return keys.same(newTuple, oldKey, toast);
    }

    /**
     * Whether an UPDATE moves its row to another key, as ClickHouse sees it. Where the place is the
     * key, every UPDATE does.
     *
     * @param oldKey what the UPDATE logged; null for other changes, and if the key is unchanged
     */
    public boolean keyChanged(
            TupleView tuple, @Nullable TupleView oldKey, RowMeta meta, ToastValues toast) {
        return keyless
                ? meta.oldTid() != RowMeta.NO_TID
                : oldKey != null && !sameKey(tuple, oldKey, toast);
    }

    /**
     * Appends the key's values in key order, each in RowBinary form: equal bytes are one key, and
     * {@code SELECT <keyNames> ... FORMAT RowBinary} gives the same bytes (but for a -0 or a NaN
     * with another bit pattern, which are made one here).
     */
    public void appendKey(
            @Nullable TupleView tuple, RowMeta meta, ToastValues toast, ByteBuilder out) {
        if (keyless) {
            appendPlace(meta.tid(), out);
        } else {
            keys.append(keyed(tuple), meta.oldKey(), toast, out);
        }
    }

    private void appendPlace(long tid, ByteBuilder out) {
        if (mapping.meta().leaf() != null) {
            out.putInt(mapping.relationOid());
        }
        out.putLong(tid);
    }

    /** As {@link #appendKey}, the key that an UPDATE left. */
    public void appendOldKey(
            @Nullable TupleView oldKey, RowMeta meta, ToastValues toast, ByteBuilder out) {
        if (keyless) {
            appendPlace(meta.oldTid(), out);
        } else {
            keys.append(keyed(oldKey), meta.oldKey(), toast, out);
        }
    }

    /**
     * Appends what {@link #appendKey} or {@link #appendOldKey} gave as a SQL literal, e.g. {@code
     * (1, 'a')}, for {@code (keys) IN (...)}, which compares bits: it does not find a float key
     * that is stored as -0.
     */
    public void appendKeyLiteral(byte[] key, int offset, ByteBuilder out) {
        keys.appendLiteral(key, offset, out);
    }

    /**
     * Why the last {@link #NEEDS_OLD_VALUE} must not be answered with an earlier value: some chunks
     * of the row's own value are here, but not all in line. Null if it may.
     */
    public @Nullable String tornValue() {
        return external.torn();
    }

    /** That the last {@link #NEEDS_OLD_VALUE} has no answer; it shows the first such value. */
    public QuarantineException valueMissing(TupleView tuple, RowMeta meta, Code code, String why) {
        current = external.missing(0);
        return located(new QuarantineException(code, why), meta, tuple);
    }

    private QuarantineException located(QuarantineException e, RowMeta meta, TupleView tuple) {
        String prefix = e.code() + " ";
        String said = String.valueOf(e.getMessage());
        return new QuarantineException(
                e.code(),
                mapping.source()
                        + (current < 0 ? "" : ", column " + plans[current].name())
                        + ", "
                        + RowPlace.of(meta)
                        + ": "
                        + (said.startsWith(prefix) ? said.substring(prefix.length()) : said)
                        + "; "
                        + shown(tuple),
                e);
    }

    /** The column's bytes where it has some, else those of the tuple. */
    private String shown(TupleView tuple) {
        int attribute = current < 0 ? -1 : plans[current].attribute();
        int at = attribute < 0 ? AttributeWalker.NULL : walker.offset(attribute);
        if (at >= 0) {
            return "its bytes are " + RowPlace.bytes(tuple.buffer(), at, walker.length(attribute));
        }
        int start = tuple.headerOffset();
        return "the tuple is " + RowPlace.bytes(tuple.buffer(), start, tuple.end() - start);
    }
}
