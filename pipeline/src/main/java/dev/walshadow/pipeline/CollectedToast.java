package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.transaction.ToastValues;
import java.util.Arrays;

/**
 * Remembers the values that were found through it, for a record that outlives its transaction.
 * Single-threaded, reused.
 */
final class CollectedToast implements ToastValues {
    private static final ToastValues NOTHING = (relation, value, out) -> false;

    private ToastValues source = NOTHING;
    private int[] relations = new int[4];
    private int[] values = new int[4];
    private int[] offsets = new int[4];
    private int[] lengths = new int[4];
    private int count;
    private final ByteBuilder bytes = new ByteBuilder(256);

    void begin(ToastValues from) {
        source = from;
        count = 0;
        bytes.clear();
    }

    @Override
    public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
        int start = out.length();
        if (!source.append(toastRelationOid, valueId, out)) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            if (relations[i] == toastRelationOid && values[i] == valueId) {
                return true;
            }
        }
        if (count == relations.length) {
            relations = Arrays.copyOf(relations, count * 2);
            values = Arrays.copyOf(values, count * 2);
            offsets = Arrays.copyOf(offsets, count * 2);
            lengths = Arrays.copyOf(lengths, count * 2);
        }
        relations[count] = toastRelationOid;
        values[count] = valueId;
        offsets[count] = bytes.length();
        lengths[count] = out.length() - start;
        bytes.putBytes(out.array(), start, lengths[count]);
        count++;
        return true;
    }

    int count() {
        return count;
    }

    int relation(int index) {
        return relations[index];
    }

    int value(int index) {
        return values[index];
    }

    int offset(int index) {
        return offsets[index];
    }

    int length(int index) {
        return lengths[index];
    }

    byte[] buffer() {
        return bytes.array();
    }
}
