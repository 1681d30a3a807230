package dev.walshadow.bootstrap.reload;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.value.SendForm;
import java.util.Arrays;
import java.util.List;

/**
 * An enum's labels in the client's encoding, as its send function gives them, and what is stored
 * for them: the OIDs of {@code pg_enum}'s rows. A hash table with open addressing. Immutable.
 */
final class EnumLabels implements SendForm {
    /** A row of pg_enum. */
    @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
    record Label(int oid, byte[] bytes) {}

    /** A value whose label was not there when the labels were read: it was added or renamed. */
    static final class UnknownLabelException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        UnknownLabelException(String message) {
            super(message);
        }
    }

    private final byte[][] labels;
    private final int[] oids;

    EnumLabels(List<Label> all) {
        int size = Math.max(2, Integer.highestOneBit(all.size()) << 2);
        this.labels = new byte[size][];
        this.oids = new int[size];
        for (Label label : all) {
            int at = slot(label.bytes(), 0, label.bytes().length);
            labels[at] = label.bytes();
            oids[at] = label.oid();
        }
    }

    private int slot(byte[] bytes, int offset, int length) {
        int hash = 0;
        for (int i = offset; i < offset + length; i++) {
            hash = hash * 31 + bytes[i];
        }
        int mask = labels.length - 1;
        int at = (hash ^ hash >>> 16) & mask;
        while (labels[at] != null && !isAt(at, bytes, offset, length)) {
            at = at + 1 & mask;
        }
        return at;
    }

    private boolean isAt(int at, byte[] bytes, int offset, int length) {
        byte[] label = labels[at];
        return Arrays.equals(label, 0, label.length, bytes, offset, offset + length);
    }

    @Override
    public void append(byte[] bytes, int offset, int length, ByteBuilder out) {
        int at = slot(bytes, offset, length);
        if (labels[at] == null) {
            throw new UnknownLabelException("an enum has a new label");
        }
        out.putInt(oids[at]);
    }
}
