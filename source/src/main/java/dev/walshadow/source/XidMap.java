package dev.walshadow.source;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import java.nio.ByteBuffer;

/**
 * Transaction ids (or OIDs) to longs: open addressing, linear probing, no objects. Xid 0 is not a
 * key and 0 not a value. Single-threaded.
 */
final class XidMap {
    /** Decides about one entry while all are visited. */
    interface Test {
        boolean matches(int xid, long value);
    }

    /** Sees one entry after the other. */
    interface Visitor {
        void visit(int xid, long value);
    }

    private static final int INITIAL_CAPACITY = 64;

    private int[] keys = new int[INITIAL_CAPACITY];
    private long[] values = new long[INITIAL_CAPACITY];
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    int size() {
        return size;
    }

    /** 0 if absent. */
    long get(int xid) {
        if (size == 0) {
            return 0;
        }
        int at = find(xid);
        return keys[at] == xid ? values[at] : 0;
    }

    void put(int xid, long value) {
        Invariant.check(xid != 0 && value != 0, "neither xid 0 nor value 0 is stored");
        if ((size + 1) * 2 > keys.length) {
            grow();
        }
        int at = find(xid);
        if (keys[at] != xid) {
            keys[at] = xid;
            size++;
        }
        values[at] = value;
    }

    void or(int xid, long bits) {
        put(xid, get(xid) | bits);
    }

    /** Returns what was there, 0 if nothing was. */
    long remove(int xid) {
        if (size == 0) {
            return 0;
        }
        int at = find(xid);
        if (keys[at] != xid) {
            return 0;
        }
        long value = values[at];
        close(at);
        size--;
        return value;
    }

    /** Removes the entries that match. */
    void removeIf(Test test) {
        if (size == 0) {
            return;
        }
        int[] oldKeys = keys;
        long[] oldValues = values;
        allocate(INITIAL_CAPACITY);
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldKeys[i] != 0 && !test.matches(oldKeys[i], oldValues[i])) {
                put(oldKeys[i], oldValues[i]);
            }
        }
    }

    void forEach(Visitor visitor) {
        for (int i = 0; size > 0 && i < keys.length; i++) {
            if (keys[i] != 0) {
                visitor.visit(keys[i], values[i]);
            }
        }
    }

    /** i32 count, then {i32 xid, i64 value} each. */
    void encode(ByteBuilder out) {
        out.putInt(size);
        for (int i = 0; i < keys.length; i++) {
            if (keys[i] != 0) {
                out.putInt(keys[i]);
                out.putLong(values[i]);
            }
        }
    }

    void decode(ByteBuffer in) {
        int count = in.getInt();
        allocate(INITIAL_CAPACITY);
        for (int i = 0; i < count; i++) {
            put(in.getInt(), in.getLong());
        }
    }

    /** The slot of {@code xid}, or the free one where it belongs. */
    private int find(int xid) {
        int mask = keys.length - 1;
        int at = spread(xid) & mask;
        while (keys[at] != 0 && keys[at] != xid) {
            at = (at + 1) & mask;
        }
        return at;
    }

    private static int spread(int xid) {
        int mixed = xid * 0x9E3779B9;
        return mixed ^ mixed >>> 16;
    }

    private void grow() {
        int[] oldKeys = keys;
        long[] oldValues = values;
        allocate(Math.multiplyExact(oldKeys.length, 2));
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldKeys[i] != 0) {
                put(oldKeys[i], oldValues[i]);
            }
        }
    }

    private void allocate(int capacity) {
        keys = new int[capacity];
        values = new long[capacity];
        size = 0;
    }

    /** Frees a slot and moves up the entries behind it that would not be found any more. */
    private void close(int freed) {
        int mask = keys.length - 1;
        int hole = freed;
        int at = (hole + 1) & mask;
        while (keys[at] != 0) {
            int home = spread(keys[at]) & mask;
            if (((at - home) & mask) >= ((at - hole) & mask)) {
                keys[hole] = keys[at];
                values[hole] = values[at];
                hole = at;
            }
            at = (at + 1) & mask;
        }
        keys[hole] = 0;
        values[hole] = 0;
    }
}
