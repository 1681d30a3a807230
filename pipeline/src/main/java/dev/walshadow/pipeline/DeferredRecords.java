package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.transaction.RawRecord;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A queue of one table's changes that cannot be encoded yet, as frames ({@link DeferredFrame}):
 * first in memory, past the shared bound in a file. It lives no longer than the process: after a
 * restart the changes come again, since they hold the floor. Single-threaded.
 */
final class DeferredRecords implements AutoCloseable {
    private static final int CHUNK_BYTES = 256 << 10;
    private static final int FIRST_CHUNK_BYTES = 4 << 10;
    private static final int WRITE_BYTES = 64 << 10;

    /** Larger buffers, which one wide record needs, are not kept. */
    private static final int KEPT_CAPACITY = 1 << 20;

    private final Path file;
    private final AtomicLong memory;
    private final long memoryLimit;

    private final ArrayDeque<ByteBuilder> chunks = new ArrayDeque<>();
    private int readAt;

    private @Nullable FileChannel channel;
    private ByteBuilder unwritten = new ByteBuilder(16);
    private long written;
    private long readFrom;
    private byte[] readBuffer = new byte[0];
    private int readStart;
    private int readEnd;

    private ByteBuilder frame = new ByteBuilder(1024);
    private long bytes;
    private long count;

    /**
     * @param memory bytes that all such queues hold in memory
     */
    DeferredRecords(Path file, AtomicLong memory, long memoryLimit) {
        this.file = file;
        this.memory = memory;
        this.memoryLimit = memoryLimit;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Bytes in memory and on disk. */
    long bytes() {
        return bytes;
    }

    /**
     * Appends a record of {@code work}.
     *
     * @param toast the values of the same transaction that its rows refer to
     */
    void add(TransactionWork work, RawRecord record, CollectedToast toast) {
        frame.clear();
        DeferredFrame.write(frame, work, record, toast);
        int length = frame.length();
        if (channel == null && memory.get() + length <= memoryLimit) {
            ByteBuilder last = chunks.peekLast();
            if (last == null || last.length() + length > CHUNK_BYTES) {
                last = new ByteBuilder(Math.max(FIRST_CHUNK_BYTES, length));
                chunks.add(last);
            }
            last.putBytes(frame.array(), 0, length);
            memory.addAndGet(length);
        } else {
            unwritten.putBytes(frame.array(), 0, length);
            if (unwritten.length() >= WRITE_BYTES) {
                flush();
            } else if (channel == null) {
                flush();
            }
        }
        bytes += length;
        count++;
        if (length > KEPT_CAPACITY) {
            frame = new ByteBuilder(1024);
        }
    }

    /** Positions {@code into} on the oldest frame; it stays valid until {@link #remove}. */
    boolean peek(DeferredFrame into) {
        if (count == 0) {
            return false;
        }
        ByteBuilder first = chunks.peekFirst();
        if (first != null) {
            into.wrap(first.array(), readAt);
        } else {
            fill(Integer.BYTES);
            fill(LittleEndian.getInt(readBuffer, readStart));
            into.wrap(readBuffer, readStart);
        }
        return true;
    }

    /** Drops the oldest frame. */
    void remove(DeferredFrame head) {
        int length = head.length();
        ByteBuilder first = chunks.peekFirst();
        if (first != null) {
            readAt += length;
            memory.addAndGet(-length);
            if (readAt == first.length()) {
                chunks.removeFirst();
                readAt = 0;
            }
        } else {
            readStart += length;
        }
        bytes -= length;
        count--;
        if (count == 0) {
            closeFile();
        }
    }

    private void flush() {
        try {
            FileChannel out = channel;
            if (out == null) {
                out =
                        FileChannel.open(
                                file,
                                StandardOpenOption.CREATE,
                                StandardOpenOption.TRUNCATE_EXISTING,
                                StandardOpenOption.READ,
                                StandardOpenOption.WRITE);
                channel = out;
                written = 0;
                readFrom = 0;
            }
            ByteBuffer buffer = ByteBuffer.wrap(unwritten.array(), 0, unwritten.length());
            while (buffer.hasRemaining()) {
                written += out.write(buffer, written);
            }
            if (unwritten.capacity() > KEPT_CAPACITY) {
                unwritten = new ByteBuilder(16);
            } else {
                unwritten.clear();
            }
        } catch (IOException e) {
            throw failed("write", e);
        }
    }

    /** Makes at least {@code wanted} bytes readable at {@link #readStart}. */
    private void fill(int wanted) {
        if (readEnd - readStart >= wanted) {
            return;
        }
        flush();
        FileChannel in = channel;
        Invariant.check(in != null, "frames behind those in memory are in the file");
        int rest = readEnd - readStart;
        byte[] target =
                readBuffer.length >= wanted && readBuffer.length <= Math.max(wanted, KEPT_CAPACITY)
                        ? readBuffer
                        : new byte[Math.max(wanted, CHUNK_BYTES)];
        System.arraycopy(readBuffer, readStart, target, 0, rest);
        readBuffer = target;
        readStart = 0;
        readEnd = rest;
        try {
            ByteBuffer buffer = ByteBuffer.wrap(target, rest, target.length - rest);
            while (readEnd < wanted) {
                int got = java.util.Objects.requireNonNull(in).read(buffer, readFrom);
                if (got < 0) {
                    throw new IOException("the file ends at " + readFrom);
                }
                readFrom += got;
                readEnd += got;
            }
        } catch (IOException e) {
            throw failed("read", e);
        }
    }

    private HaltException failed(String what, IOException e) {
        return new HaltException(
                PipelineCodes.SPOOL,
                "cannot " + what + " " + file + " (" + e + "); check space and rights, restart",
                e);
    }

    private void closeFile() {
        FileChannel open = channel;
        channel = null;
        unwritten.clear();
        readStart = 0;
        readEnd = 0;
        readBuffer = new byte[0];
        if (open == null) {
            return;
        }
        try {
            open.close();
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw failed("remove", e);
        }
    }

    @Override
    public void close() {
        for (ByteBuilder chunk : chunks) {
            memory.addAndGet(-chunk.length());
        }
        memory.addAndGet(readAt);
        chunks.clear();
        readAt = 0;
        count = 0;
        bytes = 0;
        closeFile();
    }
}
