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

    private static final int KEPT_CAPACITY = 1 << 20;

    private ToastValues source = NOTHING;
    private int[] relations = new int[4];
    private int[] values = new int[4];
    private int[] offsets = new int[4];
    private int[] lengths = new int[4];
    private int[] firsts = new int[4];
    private int count;
    private ByteBuilder bytes = new ByteBuilder(256);

    void begin(ToastValues from) {
        source = from;
        count = 0;
        if (bytes.capacity() > KEPT_CAPACITY) {
            bytes = new ByteBuilder(256);
        } else {
            bytes.clear();
        }
    }

    @Override
    public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
        int start = out.length();
        return source.append(toastRelationOid, valueId, out)
                && remember(toastRelationOid, valueId, start, out);
    }

    @Override
    public boolean appendPrefix(int toastRelationOid, int valueId, int limit, ByteBuilder out) {
        int start = out.length();
        return source.appendPrefix(toastRelationOid, valueId, limit, out)
                && remember(toastRelationOid, valueId, start, out);
    }

    private boolean remember(int toastRelationOid, int valueId, int start, ByteBuilder out) {
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
            firsts = Arrays.copyOf(firsts, count * 2);
        }
        relations[count] = toastRelationOid;
        values[count] = valueId;
        offsets[count] = bytes.length();
        firsts[count] = 0;
        if (out.length() > start) {
            bytes.putBytes(out.array(), start, out.length() - start);
        } else {
            // its beginning is not here: what is may be the rest of what the backup has
            firsts[count] = Math.max(0, source.appendTail(toastRelationOid, valueId, bytes));
        }
        lengths[count] = bytes.length() - offsets[count];
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

    /** The number of the chunk that the bytes begin with. */
    int first(int index) {
        return firsts[index];
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
