package dev.walshadow.transaction;

import dev.walshadow.base.LittleEndian;

/**
 * Which TOAST values may have chunks in a run of records: a relation number and the range of their
 * value ids. Value ids come from a counter, so the ranges of successive runs hardly overlap and a
 * value is found by reading one or two runs. Never too narrow; too wide after a rollback, or with
 * several TOAST relations in one run.
 */
final class ToastRange {
    /** Stored form: i32 state, u32 relation number, u32 smallest id, u32 largest id. */
    static final int STORED_LENGTH = 4 * Integer.BYTES;

    private static final int NONE = 0;
    private static final int ONE_RELATION = 1;
    private static final int SEVERAL = 2;

    private int state;
    private int relationNumber;
    private int smallest;
    private int largest;

    void add(int relation, int valueId) {
        widen(ONE_RELATION, relation, valueId, valueId);
    }

    void add(ToastRange other) {
        if (other.state != NONE) {
            widen(other.state, other.relationNumber, other.smallest, other.largest);
        }
    }

    private void widen(int otherState, int relation, int from, int to) {
        if (state == NONE) {
            state = otherState;
            relationNumber = relation;
            smallest = from;
            largest = to;
            return;
        }
        if (otherState == SEVERAL || relation != relationNumber) {
            state = SEVERAL;
        }
        if (Integer.compareUnsigned(from, smallest) < 0) {
            smallest = from;
        }
        if (Integer.compareUnsigned(to, largest) > 0) {
            largest = to;
        }
    }

    boolean mayHold(int relation, int valueId) {
        return state != NONE
                && (state == SEVERAL || relation == relationNumber)
                && Integer.compareUnsigned(smallest, valueId) <= 0
                && Integer.compareUnsigned(valueId, largest) <= 0;
    }

    void store(byte[] bytes, int offset) {
        LittleEndian.putInt(bytes, offset, state);
        LittleEndian.putInt(bytes, offset + 4, relationNumber);
        LittleEndian.putInt(bytes, offset + 8, smallest);
        LittleEndian.putInt(bytes, offset + 12, largest);
    }

    void load(byte[] bytes, int offset) {
        state = LittleEndian.getInt(bytes, offset);
        relationNumber = LittleEndian.getInt(bytes, offset + 4);
        smallest = LittleEndian.getInt(bytes, offset + 8);
        largest = LittleEndian.getInt(bytes, offset + 12);
    }
}
