package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.ToastValues;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The out-of-line values of the backup, whatever the order of the files: chunks go to one file per
 * TOAST relation as they come, an index of runs (consecutive chunks of one value, as PostgreSQL
 * mostly lays them) stays in memory, 24 bytes a run. Chunks are kept whatever their transaction: a
 * value that no row refers to is never asked for, and PostgreSQL does not reuse the id of a value
 * whose chunks, dead ones included, are still there.
 *
 * <p>Filled by the walkers (locked), then {@link #seal}ed, then read by any thread.
 */
final class ToastStore implements AutoCloseable {
    private static final int CHUNK_ID = 0;
    private static final int CHUNK_SEQUENCE = 4;
    private static final int CHUNK_DATA = 8;

    private final Path directory;
    private final Map<Integer, Relation> relations = new HashMap<>();
    private boolean sealed;

    /** Readers against {@link #close}. */
    private final ReentrantReadWriteLock reading = new ReentrantReadWriteLock();

    /**
     * @param directory exists, for files of this store only
     */
    ToastStore(Path directory) {
        this.directory = directory;
    }

    /** One TOAST relation's chunks. */
    private static final class Relation {
        private final SpoolFile file;
        private long[] keys = new long[256]; // value id << 32 | first sequence
        private long[] offsets = new long[256];
        private long[] lengths = new long[256]; // chunks << 32 | bytes
        private int runs;

        private Relation(SpoolFile file) {
            this.file = file;
        }

        private void add(int valueId, int sequence, byte[] bytes, int offset, int length) {
            long key = (long) valueId << 32 | Integer.toUnsignedLong(sequence);
            int last = runs - 1;
            boolean continues =
                    last >= 0
                            && key == keys[last] + (lengths[last] >>> 32)
                            && (int) lengths[last] < Integer.MAX_VALUE - length;
            if (continues) {
                lengths[last] += (1L << 32) + length;
            } else {
                grow();
                keys[runs] = key;
                offsets[runs] = file.length();
                lengths[runs++] = (1L << 32) + length;
            }
            file.append(bytes, offset, length);
        }

        private void grow() {
            if (runs == keys.length) {
                keys = Arrays.copyOf(keys, runs * 2);
                offsets = Arrays.copyOf(offsets, runs * 2);
                lengths = Arrays.copyOf(lengths, runs * 2);
            }
        }

        private void seal() {
            file.flush();
            sort(0, runs - 1);
        }

        /** Quicksort over the three parallel arrays, by key. */
        private void sort(int from, int to) {
            int low = from;
            int high = to;
            while (low < high) {
                long pivot = keys[(low + high) >>> 1];
                int i = low;
                int j = high;
                while (i <= j) {
                    while (keys[i] < pivot) {
                        i++;
                    }
                    while (keys[j] > pivot) {
                        j--;
                    }
                    if (i <= j) {
                        swap(i++, j--);
                    }
                }
                if (j - low < high - i) {
                    sort(low, j);
                    low = i;
                } else {
                    sort(i, high);
                    high = j;
                }
            }
        }

        private void swap(int i, int j) {
            long key = keys[i];
            keys[i] = keys[j];
            keys[j] = key;
            long offset = offsets[i];
            offsets[i] = offsets[j];
            offsets[j] = offset;
            long length = lengths[i];
            lengths[i] = lengths[j];
            lengths[j] = length;
        }

        private boolean append(int valueId, ByteBuilder out) {
            int start = out.length();
            long wanted = (long) valueId << 32;
            int at = Arrays.binarySearch(keys, 0, runs, wanted);
            if (at < 0) {
                return false;
            }
            while (at < runs && keys[at] == wanted) {
                int length = (int) lengths[at];
                out.ensure(length);
                file.read(offsets[at], out.array(), out.length(), length);
                out.setLength(out.length() + length);
                wanted += lengths[at] >>> 32;
                at++;
            }
            boolean gap = at < runs && keys[at] >>> 32 == Integer.toUnsignedLong(valueId);
            if (gap) {
                out.setLength(start);
            }
            return !gap;
        }
    }

    /** Keeps a chunk tuple. Columns: chunk_id oid, chunk_seq int4, chunk_data bytea. */
    synchronized void add(int toastRelationOid, TupleView tuple) {
        Invariant.check(!sealed, "chunks come before the store is sealed");
        byte[] bytes = tuple.buffer();
        int data = tuple.dataOffset();
        int end = tuple.end();
        if (tuple.hasNulls() || end - data <= CHUNK_DATA) {
            return;
        }
        int payload = data + CHUNK_DATA;
        int length;
        int first = bytes[payload] & 0xFF;
        if ((first & 1) != 0) {
            length = (first >>> 1) - 1;
            payload += 1;
        } else if ((first & 3) == 0 && end - payload >= Integer.BYTES) {
            length = (LittleEndian.getInt(bytes, payload) >>> 2) - Integer.BYTES;
            payload += Integer.BYTES;
        } else {
            return;
        }
        if (length < 0 || length > end - payload) {
            return;
        }
        Relation relation =
                relations.computeIfAbsent(
                        toastRelationOid,
                        oid ->
                                new Relation(
                                        new SpoolFile(
                                                directory.resolve(
                                                        "toast-"
                                                                + Integer.toUnsignedString(oid)))));
        relation.add(
                LittleEndian.getInt(bytes, data + CHUNK_ID),
                LittleEndian.getInt(bytes, data + CHUNK_SEQUENCE),
                bytes,
                payload,
                length);
    }

    /** Everything has come. */
    synchronized void seal() {
        sealed = true;
        relations.values().forEach(Relation::seal);
    }

    /** A view for any thread; only once sealed. It answers false from {@link #close} on. */
    ToastValues values() {
        Invariant.check(sealed, "values are asked for when every chunk has come");
        return (toastRelationOid, valueId, out) -> {
            reading.readLock().lock();
            try {
                Relation relation = relations.get(toastRelationOid);
                return relation != null && relation.append(valueId, out);
            } finally {
                reading.readLock().unlock();
            }
        };
    }

    @Override
    public synchronized void close() {
        reading.writeLock().lock();
        try {
            relations.values().forEach(relation -> relation.file.close());
            relations.clear();
        } finally {
            reading.writeLock().unlock();
        }
    }
}
