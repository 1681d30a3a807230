package dev.walshadow.transaction;

import java.util.Arrays;

/**
 * Speculative inserts of one transaction that are neither confirmed nor cancelled yet; hardly ever
 * more than one. Kept without objects because every INSERT ... ON CONFLICT row passes here.
 */
final class SpeculativeInserts {
    private static final int FIELDS = 6;

    private int[] fields = new int[FIELDS];
    private long[] positions = new long[1];
    private int count;

    boolean isEmpty() {
        return count == 0;
    }

    void add(
            int tablespace,
            int database,
            int relation,
            int block,
            int offnum,
            int xid,
            long position) {
        if (count == positions.length) {
            positions = Arrays.copyOf(positions, count * 2);
            fields = Arrays.copyOf(fields, count * 2 * FIELDS);
        }
        int at = count * FIELDS;
        fields[at] = tablespace;
        fields[at + 1] = database;
        fields[at + 2] = relation;
        fields[at + 3] = block;
        fields[at + 4] = offnum;
        fields[at + 5] = xid;
        positions[count++] = position;
    }

    /** Takes out the transaction's insert into that place; -1 if there is none. */
    long take(int tablespace, int database, int relation, int block, int offnum, int xid) {
        for (int i = count - 1; i >= 0; i--) {
            int at = i * FIELDS;
            if (fields[at + 3] == block
                    && fields[at + 4] == offnum
                    && fields[at + 5] == xid
                    && fields[at + 2] == relation
                    && fields[at + 1] == database
                    && fields[at] == tablespace) {
                long position = positions[i];
                removeAt(i);
                return position;
            }
        }
        return -1;
    }

    /** Takes out any; -1 if there is none. */
    long takeAny() {
        return count == 0 ? -1 : positions[--count];
    }

    /** Forgets those of {@code xid} and of every later transaction. */
    void forgetFrom(int xid) {
        for (int i = count - 1; i >= 0; i--) {
            if (!XidOrder.precedes(fields[i * FIELDS + 5], xid)) {
                removeAt(i);
            }
        }
    }

    private void removeAt(int i) {
        count--;
        System.arraycopy(positions, i + 1, positions, i, count - i);
        System.arraycopy(fields, (i + 1) * FIELDS, fields, i * FIELDS, (count - i) * FIELDS);
    }
}
