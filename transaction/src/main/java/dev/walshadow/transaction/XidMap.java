package dev.walshadow.transaction;

import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Transaction id to object: open addressing, linear probing, no tombstones. Xid 0 is no key. */
final class XidMap<V> {
    private static final int FIRST_CAPACITY = 64;

    private int[] keys = new int[FIRST_CAPACITY];
    private @Nullable Object[] values = new @Nullable Object[FIRST_CAPACITY];
    private int size;

    int size() {
        return size;
    }

    @SuppressWarnings("unchecked")
    @Nullable V get(int xid) {
        int at = find(xid);
        return keys[at] == xid ? (V) values[at] : null;
    }

    void put(int xid, V value) {
        int at = find(xid);
        if (keys[at] != xid) {
            if (++size > keys.length / 2) {
                grow();
                at = find(xid);
            }
            keys[at] = xid;
        }
        values[at] = value;
    }

    @SuppressWarnings("unchecked")
    @Nullable V remove(int xid) {
        int at = find(xid);
        if (xid == 0 || keys[at] != xid) {
            return null;
        }
        V removed = (V) values[at];
        size--;
        close(at);
        return removed;
    }

    /** Removes every entry whose value the condition accepts. */
    @SuppressWarnings("unchecked")
    void removeIf(Predicate<V> condition) {
        int[] oldKeys = keys;
        @Nullable Object[] oldValues = values;
        keys = new int[FIRST_CAPACITY];
        values = new @Nullable Object[FIRST_CAPACITY];
        size = 0;
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldKeys[i] != 0) {
                V value = (V) Objects.requireNonNull(oldValues[i]);
                if (!condition.test(value)) {
                    put(oldKeys[i], value);
                }
            }
        }
    }

    /** Moves later entries of the probe sequence into the hole. */
    private void close(int hole) {
        int mask = keys.length - 1;
        int at = hole;
        while (true) {
            at = (at + 1) & mask;
            if (keys[at] == 0) {
                break;
            }
            int home = home(keys[at]);
            if (((at - home) & mask) >= ((at - hole) & mask)) {
                keys[hole] = keys[at];
                values[hole] = values[at];
                hole = at;
            }
        }
        keys[hole] = 0;
        values[hole] = null;
    }

    /** The slot of the key, or the free one where it would go. */
    private int find(int xid) {
        int mask = keys.length - 1;
        int at = home(xid);
        while (keys[at] != 0 && keys[at] != xid) {
            at = (at + 1) & mask;
        }
        return at;
    }

    private int home(int xid) {
        return ((xid * 0x9E37_79B9) >>> 7) & (keys.length - 1);
    }

    private void grow() {
        int[] oldKeys = keys;
        @Nullable Object[] oldValues = values;
        keys = new int[oldKeys.length * 2];
        values = new @Nullable Object[oldKeys.length * 2];
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldKeys[i] != 0) {
                int at = find(oldKeys[i]);
                keys[at] = oldKeys[i];
                values[at] = oldValues[i];
            }
        }
    }
}
