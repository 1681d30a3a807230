package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ArrayColumn;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.Temporal;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.transaction.ToastValues;
import java.util.List;
import java.util.Objects;
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

    private static final int SCRATCH_KEPT = 1 << 20;

    private final TableMapping mapping;
    private final boolean keyless;
    private final ColumnPlan[] plans;
    private final PolicyCounts counts = new PolicyCounts();
    private final AttributeWalker walker;
    private final ExternalValues external;
    private final KeyEncoder keys;
    private ByteBuilder scratch = new ByteBuilder(4096);

    /** The column at work, for messages. */
    private int current;

    private RowEncoder(RelationDescriptor shape, TableMapping mapping, SourceEncoding encoding) {
        this.mapping = mapping;
        this.keyless = mapping.isKeyless();
        this.plans = plans(shape, encoding);
        TupleLayout layout = layout(shape.attributes());
        this.walker = new AttributeWalker(layout);
        this.external = new ExternalValues(plans, new AttributeWalker(layout));
        this.keys =
                new KeyEncoder(
                        mapping,
                        plans,
                        new AttributeWalker(layout),
                        new AttributeWalker(layout),
                        external);
    }

    /**
     * @throws QuarantineException if the mapping was not made for this shape
     */
    public static RowEncoder compile(
            RelationDescriptor shape, TableMapping mapping, SourceEncoding encoding) {
        return new RowEncoder(shape, mapping, encoding);
    }

    private ColumnPlan[] plans(RelationDescriptor shape, SourceEncoding encoding) {
        ColumnPlan.Compiler compiler =
                new ColumnPlan.Compiler(
                        shape, encoding, new TextConverter(encoding, counts), counts);
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
     * @return {@link #OK} or {@link #NEEDS_OLD_VALUE}
     * @throws QuarantineException names table, column and position
     */
    public int appendRow(TableBlock block, TupleView tuple, RowMeta meta, ToastValues toast) {
        return append(block, tuple, meta, toast, null);
    }

    /** As {@link #appendRow}, taking values that are toasted elsewhere from {@code old}. */
    public int appendRowWithOld(
            TableBlock block, TupleView tuple, RowMeta meta, ToastValues toast, OldValues old) {
        return append(block, tuple, meta, toast, old);
    }

    private int append(
            TableBlock block,
            TupleView tuple,
            RowMeta meta,
            ToastValues toast,
            @Nullable OldValues old) {
        boolean done = false;
        current = -1;
        try {
            walker.walk(tuple);
            external.reset();
            if (tuple.hasExternal()) {
                external.find(tuple, walker, meta.oldKey(), toast, old);
                if (external.missingCount() > 0) {
                    return NEEDS_OLD_VALUE;
                }
            }
            for (ColumnPlan plan : plans) {
                current = plan.index();
                appendColumn(block, plan, tuple);
            }
            appendMeta(block, meta, meta.tid(), false);
            done = true;
            return OK;
        } catch (QuarantineException e) {
            throw located(e, meta);
        } finally {
            if (!done) {
                block.dropUnfinishedRow();
            }
        }
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
        int state = external.state(plan.index());
        if (state == ExternalValues.PAYLOAD) {
            ByteBuilder value = external.value(plan.index());
            appendPayload(block, plan, value.array(), 0, value.length());
        } else if (state == ExternalValues.ROW_BINARY) {
            byte[] value = external.value(plan.index()).array();
            block.nativeBlock().column(plan.index()).appendRowBinary(value, 0);
        } else {
            scratch.clear();
            Detoaster.appendInline(bytes, at, length, scratch);
            appendPayload(block, plan, scratch.array(), 0, scratch.length());
            if (scratch.capacity() > SCRATCH_KEPT) {
                scratch = new ByteBuilder(4096);
            }
        }
    }

    private void appendPayload(
            TableBlock block, ColumnPlan plan, byte[] bytes, int offset, int length) {
        int index = plan.index();
        if (!plan.reader().append(bytes, offset, length, block.values[index])) {
            appendNull(block, plan);
            return;
        }
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
            if (keyTuple.hasExternal()) {
                external.find(keyTuple, walker, meta.oldKey(), toast, null);
            }
            for (ColumnPlan plan : plans) {
                current = plan.index();
                if (plan.isKey()) {
                    appendColumn(block, plan, keyTuple);
                } else {
                    block.nativeBlock().column(plan.index()).appendDefault();
                }
            }
            appendMeta(block, meta, meta.tid(), true);
            done = true;
        } catch (QuarantineException e) {
            throw located(e, meta);
        } finally {
            if (!done) {
                block.dropUnfinishedRow();
            }
        }
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

    private QuarantineException located(QuarantineException e, RowMeta meta) {
        String prefix = e.code() + " ";
        String said = String.valueOf(e.getMessage());
        String column = current < 0 ? "" : ", column " + plans[current].name();
        return new QuarantineException(
                e.code(),
                mapping.source()
                        + column
                        + ", row at "
                        + Lsn.format(meta.recordLsn())
                        + " of the transaction with xid "
                        + Integer.toUnsignedString(meta.xid())
                        + " committed at "
                        + Lsn.format(meta.commitPosition())
                        + ": "
                        + (said.startsWith(prefix) ? said.substring(prefix.length()) : said),
                e);
    }
}
