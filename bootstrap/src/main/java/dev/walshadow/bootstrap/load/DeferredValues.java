package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.transaction.ToastValues;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The out-of-line values that came with deferred rows, by their ids, in the file of those rows. A
 * change that leaves such a value as it is may be looked at before the row has been delivered; what
 * the target has of its key until then is an older version. 16 bytes of memory a value. Thread
 * safe.
 */
final class DeferredValues implements ToastValues, AutoCloseable {
    /** Before each value: i32 relation, i32 value id, u32 length. */
    static final int HEADER = 12;

    private final Path file;
    private final FileChannel channel;
    private final long[] keys;
    private final long[] places;

    /** Readers against {@link #close}. */
    private final ReentrantReadWriteLock reading = new ReentrantReadWriteLock();

    private boolean closed;

    private DeferredValues(Path file, long[] keys, long[] places) {
        this.file = file;
        this.keys = keys;
        this.places = places;
        try {
            channel = FileChannel.open(file, StandardOpenOption.READ);
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** Collects where the values are. */
    static final class Index {
        private long[] keys = new long[256];
        private long[] places = new long[256];
        private int count;

        /**
         * @param place of the value's header in the file
         */
        void add(int relation, int valueId, long place) {
            if (count == keys.length) {
                keys = Arrays.copyOf(keys, count * 2);
                places = Arrays.copyOf(places, count * 2);
            }
            keys[count] = key(relation, valueId);
            places[count++] = place;
        }

        DeferredValues of(Path file) {
            keys = Arrays.copyOf(keys, count);
            places = Arrays.copyOf(places, count);
            for (int i = count / 2 - 1; i >= 0; i--) {
                sink(i, count);
            }
            for (int end = count - 1; end > 0; end--) {
                swap(0, end);
                sink(0, end);
            }
            return new DeferredValues(file, keys, places);
        }

        private void sink(int from, int end) {
            int parent = from;
            for (int child = 2 * parent + 1; child < end; child = 2 * parent + 1) {
                if (child + 1 < end && keys[child + 1] > keys[child]) {
                    child++;
                }
                if (keys[parent] >= keys[child]) {
                    return;
                }
                swap(parent, child);
                parent = child;
            }
        }

        private void swap(int i, int j) {
            long key = keys[i];
            keys[i] = keys[j];
            keys[j] = key;
            long place = places[i];
            places[i] = places[j];
            places[j] = place;
        }
    }

    private static long key(int relation, int valueId) {
        return (long) relation << 32 | Integer.toUnsignedLong(valueId);
    }

    @Override
    public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
        return appendPrefix(toastRelationOid, valueId, Integer.MAX_VALUE, out);
    }

    @Override
    public boolean appendPrefix(int toastRelationOid, int valueId, int limit, ByteBuilder out) {
        int at = Arrays.binarySearch(keys, key(toastRelationOid, valueId));
        if (at < 0) {
            return false;
        }
        reading.readLock().lock();
        try {
            if (closed) {
                return false;
            }
            byte[] header = new byte[HEADER];
            read(places[at], header, 0, HEADER);
            int length = Math.min(limit, LittleEndian.getInt(header, HEADER - Integer.BYTES));
            out.ensure(length);
            read(places[at] + HEADER, out.array(), out.length(), length);
            out.setLength(out.length() + length);
            return true;
        } catch (IOException e) {
            throw failed(e);
        } finally {
            reading.readLock().unlock();
        }
    }

    private void read(long place, byte[] into, int offset, int length) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(into, offset, length);
        long at = place;
        while (bytes.hasRemaining()) {
            int count = channel.read(bytes, at);
            if (count < 0) {
                throw new IOException("the file ends at " + at);
            }
            at += count;
        }
    }

    private RetryException failed(IOException e) {
        return new RetryException(
                BootstrapCodes.SPOOL,
                "the file of deferred rows " + file + " cannot be read: " + e + "; restart",
                e);
    }

    @Override
    public void close() {
        reading.writeLock().lock();
        try {
            closed = true;
            channel.close();
        } catch (IOException e) {
            throw failed(e);
        } finally {
            reading.writeLock().unlock();
        }
    }
}
