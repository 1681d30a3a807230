package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.ToastPointer;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.transaction.ToastValues;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The values of one row that its tuple only points to, found before anything is appended: by the
 * chunks of the same transaction, for a key by the logged old key, else among the values that were
 * encoded before, or by the row's previous version in ClickHouse.
 */
final class ExternalValues {
    /** The state of a column: its value is in the tuple. */
    static final int INLINE = 0;

    /** Its payload is in {@link #value}. */
    static final int PAYLOAD = 1;

    /** {@link #value} holds the converted value in RowBinary form. */
    static final int ROW_BINARY = 2;

    /** It is beyond the limit and arrives as NULL. */
    static final int OVERSIZED = 3;

    /** It is beyond the limit; the beginning of its payload is in {@link #value}. */
    static final int PREFIX = 4;

    /** As {@link #ROW_BINARY}, from what was encoded before. */
    static final int KNOWN = 5;

    private static final int KEPT_CAPACITY = 1 << 20;
    private static final int NO_CHUNK = -1;

    private final ColumnPlan[] plans;
    private final ValueLimit limit;
    private final int[] states;
    private final int[] relations;
    private final int[] ids;
    private final @Nullable ByteBuilder[] values;
    private final int[] missing;
    private int missingCount;
    private long missingBytes;
    private @Nullable String torn;
    private boolean dirty;
    private final ToastPointer pointer = new ToastPointer();
    private final AttributeWalker oldKeyWalker;
    private ByteBuilder stored = ByteBuilder.onDemand(1024);
    private ByteBuilder told = ByteBuilder.onDemand(1024);

    /** Bytes of the row's values out of line that are within the limit. */
    private long rowBytes;

    /** Of the value that was looked for last; {@link #NO_CHUNK} if there is nothing of it. */
    private int foundBytes = NO_CHUNK;

    ExternalValues(ColumnPlan[] plans, AttributeWalker oldKeyWalker, ValueLimit limit) {
        this.plans = plans;
        this.limit = limit;
        this.oldKeyWalker = oldKeyWalker;
        this.states = new int[plans.length];
        this.relations = new int[plans.length];
        this.ids = new int[plans.length];
        this.values = new @Nullable ByteBuilder[plans.length];
        this.missing = new int[plans.length];
    }

    int state(int column) {
        return states[column];
    }

    ByteBuilder value(int column) {
        ByteBuilder value = values[column];
        if (value == null) {
            value = ByteBuilder.onDemand(1024);
            values[column] = value;
        }
        return value;
    }

    int missingCount() {
        return missingCount;
    }

    int missing(int i) {
        return missing[i];
    }

    int missingValueId(int i) {
        return ids[missing[i]];
    }

    /** Bytes of the missing values, not compressed. */
    long missingBytes() {
        return missingBytes;
    }

    /**
     * Of the first missing value of which some chunks are here: what was expected and found. Null
     * if every missing value has none at all.
     */
    @Nullable String torn() {
        return torn;
    }

    /** Forgets the previous row; gives back memory that a huge value took. */
    void reset() {
        missingCount = 0;
        missingBytes = 0;
        torn = null;
        rowBytes = 0;
        if (!dirty) {
            return;
        }
        dirty = false;
        Arrays.fill(states, INLINE);
        for (int i = 0; i < values.length; i++) {
            ByteBuilder value = values[i];
            if (value != null && value.capacity() > KEPT_CAPACITY) {
                values[i] = null;
            }
        }
        if (stored.capacity() > KEPT_CAPACITY) {
            stored = ByteBuilder.onDemand(1024);
        }
        if (told.capacity() > KEPT_CAPACITY) {
            told = ByteBuilder.onDemand(1024);
        }
    }

    /** Bytes of the walked tuple's external values that are within the limit. */
    long size(TupleView tuple, AttributeWalker walker) {
        long size = 0;
        for (ColumnPlan plan : plans) {
            int at =
                    plan.varlena() && plan.fixed() == null
                            ? walker.offset(plan.attribute())
                            : AttributeWalker.NULL;
            if (at >= 0 && Varlena.isExternal(tuple.buffer(), at)) {
                size += Math.min(limit.bytes(), pointer.wrap(tuple.buffer(), at).rawSize());
            }
        }
        return size;
    }

    /** Finds every external value of a walked tuple; see {@link #missingCount()}. */
    void find(
            TupleView tuple,
            AttributeWalker walker,
            @Nullable TupleView oldKey,
            ValueSources sources) {
        ToastValues toast = sources.toast();
        byte[] bytes = tuple.buffer();
        boolean oldKeyWalked = false;
        for (ColumnPlan plan : plans) {
            int at =
                    plan.varlena() && plan.fixed() == null
                            ? walker.offset(plan.attribute())
                            : AttributeWalker.NULL;
            if (at < 0 || !Varlena.isExternal(bytes, at)) {
                continue;
            }
            dirty = true;
            ByteBuilder value = value(plan.index());
            value.clear();
            pointer.wrap(bytes, at);
            relations[plan.index()] = pointer.toastRelationOid();
            ids[plan.index()] = pointer.valueId();
            int size = pointer.rawSize();
            if (size < 0 || pointer.storedSize() > size) {
                throw contradicts(plan);
            }
            int state = PAYLOAD;
            if (size > limit.bytes() - rowBytes) {
                state = beyondLimit(plan, size);
                if (state == OVERSIZED) {
                    states[plan.index()] = OVERSIZED;
                    continue;
                }
            }
            rowBytes += Math.min(size, limit.bytes());
            if (state == PREFIX
                    ? prefixFromChunks(toast, value)
                    : fromChunks(bytes, at, toast, value)) {
                states[plan.index()] = state;
                continue;
            }
            if (oldKey != null && !oldKeyWalked) {
                oldKeyWalker.walk(oldKey);
                oldKeyWalked = true;
            }
            if (oldKey != null && fromOldKey(plan, oldKey, state, value)) {
                states[plan.index()] = state;
            } else if (plan.isKey()) {
                throw keyMissing(plan);
            } else if (isKnown(plan, sources.known(), value)) {
                states[plan.index()] = KNOWN;
            } else if (sources.old() != null && sources.old().append(plan.index(), value)) {
                states[plan.index()] = ROW_BINARY;
            } else {
                missing[missingCount++] = plan.index();
                missingBytes += Math.min(size, limit.bytes());
                if (foundBytes >= 0 && torn == null) {
                    torn = describe(plan);
                }
            }
        }
    }

    /** A value of which there are chunks is not one from before. */
    private boolean isKnown(ColumnPlan plan, @Nullable KnownValues known, ByteBuilder value) {
        return known != null
                && foundBytes < 0
                && known.append(pointer.toastRelationOid(), pointer.valueId(), plan.index(), value);
    }

    /** Tells {@code known} of the values of the row that was appended to {@code block} last. */
    void tell(NativeBlock block, KnownValues known) {
        for (int i = 0; i < states.length; i++) {
            switch (states[i]) {
                case INLINE, KNOWN -> {}
                case PAYLOAD, ROW_BINARY -> {
                    if (value(i).length() > known.largest()) {
                        known.forget(relations[i], ids[i], i);
                    } else {
                        told.clear();
                        ColumnBuffer column = block.column(i);
                        column.rowBinary(column.rows() - 1, told);
                        known.learn(relations[i], ids[i], i, told.toByteArray());
                    }
                }
                default -> known.forget(relations[i], ids[i], i);
            }
        }
    }

    /** What becomes of a value that is larger than what is left of the limit. */
    private int beyondLimit(ColumnPlan plan, int size) {
        if (plan.isKey() || limit.oversized() == ValueLimit.Oversized.QUARANTINE) {
            throw limit.exceeded(plan, size);
        }
        boolean cut =
                limit.oversized() == ValueLimit.Oversized.TRUNCATE
                        && plan.canBeCut()
                        && size > limit.bytes()
                        && rowBytes == 0;
        return cut ? PREFIX : OVERSIZED;
    }

    /** Assembles the value at a TOAST pointer; false if chunks are not here. */
    boolean fromChunks(byte[] bytes, int at, ToastValues toast, ByteBuilder value) {
        pointer.wrap(bytes, at);
        int size = pointer.storedSize();
        if (!pointer.isCompressed()) {
            // spares the copy: the value is as it is stored
            int start = value.length();
            boolean whole = chunks(toast, size, value);
            value.setLength(whole ? value.length() : start);
            return whole;
        }
        stored.clear();
        if (!chunks(toast, size, stored)) {
            return false;
        }
        Detoaster.appendExternal(pointer, stored.array(), 0, stored.length(), value);
        return true;
    }

    /** Appends so many stored bytes of the value at the pointer; false if not all are here. */
    private boolean chunks(ToastValues toast, int size, ByteBuilder out) {
        int start = out.length();
        boolean any = toast.appendPrefix(pointer.toastRelationOid(), pointer.valueId(), size, out);
        foundBytes = any ? out.length() - start : NO_CHUNK;
        return foundBytes == size;
    }

    private String describe(ColumnPlan plan) {
        return "of value "
                + Integer.toUnsignedString(pointer.valueId())
                + " in TOAST relation "
                + Integer.toUnsignedString(pointer.toastRelationOid())
                + ", to which column "
                + plan.name()
                + " points, "
                + pointer.storedSize()
                + " bytes are expected, and some chunks are there, but not all in line";
    }

    /** The same with as much of it as the limit allows. */
    private boolean prefixFromChunks(ToastValues toast, ByteBuilder value) {
        ByteBuilder into = pointer.isCompressed() ? stored : value;
        into.clear();
        int wanted = Detoaster.storedPrefix(pointer, limit.bytes());
        if (!chunks(toast, wanted, into)) {
            into.clear();
            return false;
        }
        if (pointer.isCompressed()) {
            Detoaster.appendPrefix(pointer, stored.array(), stored.length(), limit.bytes(), value);
        }
        return true;
    }

    /**
     * A pointer that is kept is the old row's own, so its value is there if it was logged: always
     * of the key, of the other columns with REPLICA IDENTITY FULL.
     */
    private boolean fromOldKey(ColumnPlan plan, TupleView oldKey, int state, ByteBuilder value) {
        int at = oldKeyWalker.offset(plan.attribute());
        if (at < 0 || Varlena.isExternal(oldKey.buffer(), at)) {
            return false;
        }
        if (state == PREFIX) {
            if (!Varlena.isPlain(oldKey.buffer(), at)) {
                return false;
            }
            int from = Varlena.payloadOffset(oldKey.buffer(), at);
            value.putBytes(oldKey.buffer(), from, limit.bytes());
            return true;
        }
        Detoaster.appendInline(oldKey.buffer(), at, oldKeyWalker.length(plan.attribute()), value);
        return true;
    }

    private QuarantineException contradicts(ColumnPlan plan) {
        return new QuarantineException(
                MappingCodes.ROW,
                "column "
                        + plan.name()
                        + " points to a value of "
                        + pointer.rawSize()
                        + " bytes that takes "
                        + pointer.storedSize()
                        + " as stored, which no value does: the tuple is damaged; check the source"
                        + " with pg_amcheck, then load the table anew");
    }

    private static QuarantineException keyMissing(ColumnPlan plan) {
        return new QuarantineException(
                MappingCodes.ROW,
                "key column "
                        + plan.name()
                        + " is toasted, and neither its chunks nor an old key are in this record;"
                        + " reload the table");
    }
}
