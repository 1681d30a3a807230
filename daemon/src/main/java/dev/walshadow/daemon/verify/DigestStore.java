package dev.walshadow.daemon.verify;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Row digests of one side, partitioned by key so that one partition of both sides fits in memory:
 * {@code keyHigh, keyLow, row} as three little-endian longs, in temporary files once a partition's
 * buffer is full. Not thread safe.
 */
final class DigestStore implements AutoCloseable {
    static final int ENTRY_BYTES = 24;
    private static final int BUFFER_BYTES = ENTRY_BYTES << 12;
    private static final long ROWS_PER_PARTITION = 500_000;

    private final Path directory;
    private final ByteBuilder[] buffers;
    private long rows;

    /**
     * @param directory exists, is empty and belongs to this store, which removes it on close
     * @param partitions a power of two, the same for both sides
     */
    DigestStore(Path directory, int partitions) {
        this.directory = directory;
        this.buffers = new ByteBuilder[partitions];
        for (int i = 0; i < partitions; i++) {
            buffers[i] = new ByteBuilder(BUFFER_BYTES);
        }
    }

    /** How many partitions suit a side of so many rows. */
    static int partitions(long rows) {
        return Integer.highestOneBit((int) (rows / ROWS_PER_PARTITION) * 2 | 1);
    }

    /** A directory for a store. */
    static Path temporary() {
        try {
            return Files.createTempDirectory("walshadow-verify");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make a temporary directory", e);
        }
    }

    long rows() {
        return rows;
    }

    void add(long keyHigh, long keyLow, long row) {
        int partition = (int) (keyHigh >>> 40) & (buffers.length - 1);
        ByteBuilder buffer = buffers[partition];
        if (buffer.length() + ENTRY_BYTES > BUFFER_BYTES) {
            flush(partition);
        }
        buffer.putLong(keyHigh);
        buffer.putLong(keyLow);
        buffer.putLong(row);
        rows++;
    }

    private Path file(int partition) {
        return directory.resolve(Integer.toString(partition));
    }

    private void flush(int partition) {
        ByteBuilder buffer = buffers[partition];
        try (OutputStream out =
                Files.newOutputStream(
                        file(partition), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            out.write(buffer.array(), 0, buffer.length());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot keep row digests in " + directory, e);
        }
        buffer.clear();
    }

    /** The digests of one partition, {@link #ENTRY_BYTES} each. */
    byte[] partition(int partition) {
        try {
            byte[] spilled =
                    Files.exists(file(partition))
                            ? Files.readAllBytes(file(partition))
                            : new byte[0];
            ByteBuilder buffer = buffers[partition];
            byte[] all = new byte[spilled.length + buffer.length()];
            System.arraycopy(spilled, 0, all, 0, spilled.length);
            System.arraycopy(buffer.array(), 0, all, spilled.length, buffer.length());
            return all;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read row digests in " + directory, e);
        }
    }

    static long keyHigh(byte[] entries, int index) {
        return LittleEndian.getLong(entries, index * ENTRY_BYTES);
    }

    static long keyLow(byte[] entries, int index) {
        return LittleEndian.getLong(entries, index * ENTRY_BYTES + 8);
    }

    static long row(byte[] entries, int index) {
        return LittleEndian.getLong(entries, index * ENTRY_BYTES + 16);
    }

    @Override
    public void close() {
        try {
            for (int i = 0; i < buffers.length; i++) {
                Files.deleteIfExists(file(i));
            }
            Files.deleteIfExists(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + directory, e);
        }
    }
}
