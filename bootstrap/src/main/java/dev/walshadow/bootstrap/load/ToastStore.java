package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.ToastValues;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
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
    private static final String PREFIX = "toast-";
    private static final int CHUNK_ID = 0;
    private static final int CHUNK_SEQUENCE = 4;
    private static final int CHUNK_DATA = 8;
    private static final int RUN_BYTES = 24;
    private static final int READ_RUNS = 4096;

    private final Path directory;
    private final Map<Integer, Relation> relations = new HashMap<>();
    private boolean sealed;

    /** Readers against {@link #close}. */
    private final ReentrantReadWriteLock reading = new ReentrantReadWriteLock();

    /**
     * @param directory exists, for files of this store only
     * @param kept what an earlier process kept of it
     */
    ToastStore(Path directory, List<LoadCheckpoint.Toast> kept) {
        this.directory = directory;
        for (LoadCheckpoint.Toast each : kept) {
            relations.put(
                    each.oid(), new Relation(directory, each.oid(), each.bytes(), each.runs()));
        }
    }

    /** The file of a TOAST relation's chunks. */
    static String name(int oid) {
        return PREFIX + Integer.toUnsignedString(oid);
    }

    /** Whether a file of this name belongs to a store. */
    static boolean isName(String file) {
        return file.startsWith(PREFIX);
    }

    /** The file that says where they are. */
    static String indexName(int oid) {
        return name(oid) + "-index";
    }

    static long indexBytes(LoadCheckpoint.Toast kept) {
        return (long) kept.runs() * RUN_BYTES;
    }

    /** One TOAST relation's chunks. */
    private static final class Relation {
        private final SpoolFile file;

        /** The runs that were kept, each its key, offset and length. */
        private final SpoolFile index;

        private long[] keys = new long[256]; // value id << 32 | first sequence
        private long[] offsets = new long[256];
        private long[] lengths = new long[256]; // chunks << 32 | bytes
        private int runs;

        /** Runs of the index; the last of them is not continued. */
        private int kept;

        private Relation(Path directory, int oid, long bytes, int runs) {
            this.file = new SpoolFile(directory.resolve(name(oid)), bytes);
            this.index = new SpoolFile(directory.resolve(indexName(oid)), (long) runs * RUN_BYTES);
            take(runs);
            this.kept = runs;
        }

        private void take(int count) {
            byte[] page = new byte[RUN_BYTES * READ_RUNS];
            for (int i = 0; i < count; i++) {
                int at = i % READ_RUNS * RUN_BYTES;
                if (at == 0) {
                    int there = Math.min(READ_RUNS, count - i);
                    index.read((long) i * RUN_BYTES, page, 0, there * RUN_BYTES);
                }
                grow();
                keys[i] = LittleEndian.getLong(page, at);
                offsets[i] = LittleEndian.getLong(page, at + 8);
                lengths[i] = LittleEndian.getLong(page, at + 16);
                runs++;
            }
        }

        private LoadCheckpoint.Toast keep(int oid) {
            byte[] run = new byte[RUN_BYTES];
            for (; kept < runs; kept++) {
                LittleEndian.putLong(run, 0, keys[kept]);
                LittleEndian.putLong(run, 8, offsets[kept]);
                LittleEndian.putLong(run, 16, lengths[kept]);
                index.append(run, 0, RUN_BYTES);
            }
            file.flush();
            index.flush();
            return new LoadCheckpoint.Toast(oid, file.length(), runs);
        }

        private void add(int valueId, int sequence, byte[] bytes, int offset, int length) {
            long key = (long) valueId << 32 | Integer.toUnsignedLong(sequence);
            int last = runs - 1;
            boolean continues =
                    last >= kept
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

        private boolean append(int valueId, int limit, ByteBuilder out) {
            int start = out.length();
            int left = limit;
            long wanted = (long) valueId << 32;
            int at = Arrays.binarySearch(keys, 0, runs, wanted);
            if (at < 0) {
                return isOf(-at - 1, valueId);
            }
            while (at < runs && keys[at] == wanted && left > 0) {
                int length = Math.min(left, (int) lengths[at]);
                left -= length;
                out.ensure(length);
                file.read(offsets[at], out.array(), out.length(), length);
                out.setLength(out.length() + length);
                wanted += lengths[at] >>> 32;
                at++;
            }
            if (left > 0 && isOf(at, valueId)) {
                out.setLength(start); // a gap
            }
            return true;
        }

        /** Whether the whole value is here, by the index alone. */
        private boolean holds(int valueId, int storedSize) {
            long wanted = (long) valueId << 32;
            long left = storedSize;
            int at = Arrays.binarySearch(keys, 0, runs, wanted);
            while (at >= 0 && at < runs && keys[at] == wanted && left > 0) {
                left -= (int) lengths[at];
                wanted += lengths[at] >>> 32;
                at++;
            }
            return left == 0;
        }

        private boolean isOf(int run, int valueId) {
            return run < runs && keys[run] >>> 32 == Integer.toUnsignedLong(valueId);
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
                        toastRelationOid, oid -> new Relation(directory, oid, 0, 0));
        relation.add(
                LittleEndian.getInt(bytes, data + CHUNK_ID),
                LittleEndian.getInt(bytes, data + CHUNK_SEQUENCE),
                bytes,
                payload,
                length);
    }

    /** What there is up to now can be kept, once {@link #force} has returned. */
    synchronized List<LoadCheckpoint.Toast> keep() {
        List<LoadCheckpoint.Toast> kept = new ArrayList<>();
        relations.forEach((oid, relation) -> kept.add(relation.keep(oid)));
        return kept;
    }

    /** What was flushed so far survives a crash. */
    void force() {
        List<Relation> all;
        synchronized (this) {
            all = List.copyOf(relations.values());
        }
        for (Relation relation : all) {
            relation.file.force();
            relation.index.force();
        }
    }

    /** Everything has come. */
    synchronized void seal() {
        sealed = true;
        relations.values().forEach(Relation::seal);
    }

    /** Whether every chunk of a value has come; once sealed, before {@link #close}. */
    boolean holds(int toastRelationOid, int valueId, int storedSize) {
        Invariant.check(sealed, "values are asked for when every chunk has come");
        Relation relation = relations.get(toastRelationOid);
        return relation != null && relation.holds(valueId, storedSize);
    }

    /** A view for any thread; only once sealed. It answers false from {@link #close} on. */
    ToastValues values() {
        Invariant.check(sealed, "values are asked for when every chunk has come");
        return new ToastValues() {
            @Override
            public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
                return appendPrefix(toastRelationOid, valueId, Integer.MAX_VALUE, out);
            }

            @Override
            public boolean appendPrefix(
                    int toastRelationOid, int valueId, int limit, ByteBuilder out) {
                reading.readLock().lock();
                try {
                    Relation relation = relations.get(toastRelationOid);
                    return relation != null && relation.append(valueId, limit, out);
                } finally {
                    reading.readLock().unlock();
                }
            }
        };
    }

    /** Ends the use of the files, which stay for a later process. */
    synchronized void leave() {
        reading.writeLock().lock();
        try {
            for (Relation relation : relations.values()) {
                relation.file.leave();
                relation.index.leave();
            }
            relations.clear();
        } finally {
            reading.writeLock().unlock();
        }
    }

    @Override
    public synchronized void close() {
        reading.writeLock().lock();
        try {
            for (Relation relation : relations.values()) {
                relation.file.close();
                relation.index.close();
            }
            relations.clear();
        } finally {
            reading.writeLock().unlock();
        }
    }
}
