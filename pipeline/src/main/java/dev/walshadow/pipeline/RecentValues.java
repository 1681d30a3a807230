package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.pipeline.encode.KnownValues;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Large values that were encoded last, over all tables, so that an update that leaves one unchanged
 * need not fetch it back from ClickHouse. Bounded in bytes; the one that was used longest ago goes
 * first. Thread safe; the values are never written to.
 */
final class RecentValues {
    /** What an entry takes beside its value. */
    private static final int ENTRY_BYTES = 160;

    /** A single value takes no more than this share. */
    private static final int LARGEST_SHARE = 16;

    /**
     * A value id is one value's within a table's generation, see {@link KnownValues}.
     *
     * @param column block column
     */
    record Key(TargetTable table, int toastRelationOid, int valueId, int column) {}

    /** A value; it counts as long as it is among the recent ones or a window holds it. */
    static final class Value {
        private final byte[] rowBinary;
        private boolean recent;
        private int holders;

        private Value(byte[] rowBinary) {
            this.rowBinary = rowBinary;
        }

        byte[] rowBinary() {
            return rowBinary;
        }
    }

    private final long bytesLimit;
    private final LinkedHashMap<Key, Value> values = new LinkedHashMap<>(16, 0.75f, true);
    private long bytes;

    RecentValues(long bytesLimit) {
        this.bytesLimit = bytesLimit;
    }

    int largest() {
        return (int) Math.min(Integer.MAX_VALUE, bytesLimit / LARGEST_SHARE);
    }

    /** Null if it is not known. What was found counts until {@link #release}. */
    synchronized @Nullable Value hold(Key key) {
        Value value = values.get(key);
        if (value != null) {
            value.holders++;
        }
        return value;
    }

    synchronized void release(Collection<Value> held) {
        for (Value value : held) {
            value.holders--;
            forget(value);
        }
        evict();
    }

    private void forget(Value value) {
        if (!value.recent && value.holders == 0) {
            bytes -= value.rowBinary.length + ENTRY_BYTES;
        }
    }

    void put(Key key, byte[] rowBinary) {
        release(List.of(putHeld(key, rowBinary)));
    }

    /** As {@link #hold} of the new value. */
    synchronized Value putHeld(Key key, byte[] rowBinary) {
        remove(key);
        Value value = new Value(rowBinary);
        value.holders = 1;
        bytes += rowBinary.length + ENTRY_BYTES;
        if (rowBinary.length <= largest()) {
            value.recent = true;
            values.put(key, value);
        }
        evict();
        return value;
    }

    /** Down to the limit, but for what is held. */
    private void evict() {
        Iterator<Value> eldestFirst = values.values().iterator();
        while (bytes > bytesLimit && eldestFirst.hasNext()) {
            Value value = eldestFirst.next();
            if (value.holders == 0) {
                eldestFirst.remove();
                value.recent = false;
                forget(value);
            }
        }
    }

    synchronized void remove(Key key) {
        Value value = values.remove(key);
        if (value != null) {
            value.recent = false;
            forget(value);
        }
    }

    /** The generation's last row is encoded. */
    synchronized void removeAll(TargetTable table) {
        for (Key key : values.keySet().stream().filter(k -> k.table() == table).toList()) {
            remove(key);
        }
    }

    synchronized long bytes() {
        return bytes;
    }

    /** Keeps one table's values as they come; finds none, see {@link WindowValues}. */
    KnownValues learner(TargetTable table) {
        return new KnownValues() {
            @Override
            public boolean append(int toastRelationOid, int valueId, int column, ByteBuilder out) {
                return false;
            }

            @Override
            public int largest() {
                return RecentValues.this.largest();
            }

            @Override
            public void learn(int toastRelationOid, int valueId, int column, byte[] rowBinary) {
                put(new Key(table, toastRelationOid, valueId, column), rowBinary);
            }

            @Override
            public void forget(int toastRelationOid, int valueId, int column) {
                remove(new Key(table, toastRelationOid, valueId, column));
            }
        };
    }
}
