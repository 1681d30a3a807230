package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
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
 * chunks of the same transaction, for a key by the logged old key, else by the row's previous
 * version in ClickHouse.
 */
final class ExternalValues {
    /** The state of a column: its value is in the tuple. */
    static final int INLINE = 0;

    /** Its payload is in {@link #value}. */
    static final int PAYLOAD = 1;

    /** {@link #value} holds the converted value in RowBinary form. */
    static final int ROW_BINARY = 2;

    private static final int KEPT_CAPACITY = 1 << 20;

    private final ColumnPlan[] plans;
    private final int[] states;
    private final @Nullable ByteBuilder[] values;
    private final int[] missing;
    private int missingCount;
    private long missingBytes;
    private boolean dirty;
    private final ToastPointer pointer = new ToastPointer();
    private final AttributeWalker oldKeyWalker;
    private ByteBuilder stored = new ByteBuilder(1024);

    ExternalValues(ColumnPlan[] plans, AttributeWalker oldKeyWalker) {
        this.plans = plans;
        this.oldKeyWalker = oldKeyWalker;
        this.states = new int[plans.length];
        this.values = new @Nullable ByteBuilder[plans.length];
        this.missing = new int[plans.length];
    }

    int state(int column) {
        return states[column];
    }

    ByteBuilder value(int column) {
        ByteBuilder value = values[column];
        if (value == null) {
            value = new ByteBuilder(1024);
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

    /** Bytes of the missing values, not compressed. */
    long missingBytes() {
        return missingBytes;
    }

    /** Forgets the previous row; gives back memory that a huge value took. */
    void reset() {
        missingCount = 0;
        missingBytes = 0;
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
            stored = new ByteBuilder(1024);
        }
    }

    /** Finds every external value of a walked tuple; see {@link #missingCount()}. */
    void find(
            TupleView tuple,
            AttributeWalker walker,
            @Nullable TupleView oldKey,
            ToastValues toast,
            @Nullable OldValues old) {
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
            if (fromChunks(bytes, at, toast, value)) {
                states[plan.index()] = PAYLOAD;
                continue;
            }
            if (oldKey != null && !oldKeyWalked) {
                oldKeyWalker.walk(oldKey);
                oldKeyWalked = true;
            }
            if (oldKey != null && fromOldKey(plan, oldKey, value)) {
                states[plan.index()] = PAYLOAD;
            } else if (plan.isKey()) {
                throw keyMissing(plan);
            } else if (old != null && old.append(plan.index(), value)) {
                states[plan.index()] = ROW_BINARY;
            } else {
                missing[missingCount++] = plan.index();
                missingBytes += pointer.rawSize();
            }
        }
    }

    /** Assembles the value at a TOAST pointer; false if chunks are not here. */
    boolean fromChunks(byte[] bytes, int at, ToastValues toast, ByteBuilder value) {
        pointer.wrap(bytes, at);
        stored.clear();
        if (!toast.append(pointer.toastRelationOid(), pointer.valueId(), stored)
                || stored.length() != pointer.storedSize()) {
            return false;
        }
        Detoaster.appendExternal(pointer, stored.array(), 0, stored.length(), value);
        return true;
    }

    /**
     * A pointer that is kept is the old row's own, so its value is there if it was logged: always
     * of the key, of the other columns with REPLICA IDENTITY FULL.
     */
    private boolean fromOldKey(ColumnPlan plan, TupleView oldKey, ByteBuilder value) {
        int at = oldKeyWalker.offset(plan.attribute());
        if (at < 0 || Varlena.isExternal(oldKey.buffer(), at)) {
            return false;
        }
        Detoaster.appendInline(oldKey.buffer(), at, oldKeyWalker.length(plan.attribute()), value);
        return true;
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
