package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.postgres.heap.HeapPage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A temporary file that is appended to through a buffer and read back by position. One writer;
 * readers after {@link #flush}. Durable up to a length where {@link #force} has been called; a
 * later process takes it up there, and what lies behind is gone.
 */
final class SpoolFile implements AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 18;

    private final Path file;
    private final FileChannel channel;
    private final ByteBuilder buffer = new ByteBuilder(BUFFER_BYTES);
    private volatile long flushed;

    /** An empty one. */
    SpoolFile(Path file) {
        this(file, 0);
    }

    /**
     * @param kept how much of what is there is taken up; the file has that much
     */
    SpoolFile(Path file, long kept) {
        this.file = file;
        this.flushed = kept;
        try {
            channel =
                    FileChannel.open(
                            file,
                            StandardOpenOption.CREATE,
                            StandardOpenOption.READ,
                            StandardOpenOption.WRITE);
            channel.truncate(kept);
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** What was flushed so far survives a crash. Any thread. */
    void force() {
        try {
            channel.force(false);
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** Where the next byte goes. */
    long length() {
        return flushed + buffer.length();
    }

    /** What can be read. Any thread. */
    long flushedLength() {
        return flushed;
    }

    void append(byte[] bytes, int offset, int length) {
        buffer.putBytes(bytes, offset, length);
        if (buffer.length() >= BUFFER_BYTES) {
            flush();
        }
    }

    void flush() {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(buffer.array(), 0, buffer.length());
            long end = flushed;
            while (bytes.hasRemaining()) {
                end += channel.write(bytes, end);
            }
            buffer.clear();
            flushed = end;
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** Reads exactly {@code length} flushed bytes. Any thread. */
    void read(long position, byte[] into, int offset, int length) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(into, offset, length);
            long at = position;
            while (bytes.hasRemaining()) {
                int count = channel.read(bytes, at);
                if (count < 0) {
                    throw new IOException("the file ends at " + at);
                }
                at += count;
            }
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** A record and what comes before it. */
    interface Records {
        void record(byte[] bytes, int offset, int length) throws InterruptedException;
    }

    /** Reads all records, each behind {@code headerLength} bytes of its own. By the writer. */
    void records(int headerLength, Records consumer) throws InterruptedException {
        flush();
        byte[] bytes = new byte[HeapPage.SIZE * 4];
        long end = length();
        for (long at = 0; at < end; ) {
            int there = (int) Math.min(bytes.length, end - at);
            read(at, bytes, 0, there);
            int from = 0;
            while (there - from >= headerLength + Integer.BYTES) {
                int length = headerLength + LittleEndian.getInt(bytes, from + headerLength);
                if (length > there - from) {
                    break;
                }
                consumer.record(bytes, from, length);
                from += length;
            }
            Invariant.check(from > 0, "a spooled record fits the buffer");
            at += from;
        }
    }

    private RetryException failed(IOException e) {
        return new RetryException(
                BootstrapCodes.SPOOL,
                "the spool file "
                        + file
                        + " of the initial load failed: "
                        + e
                        + "; make room in the state directory. The load is tried again",
                e);
    }

    /** Ends the use of the file, which stays for a later process. */
    void leave() {
        try {
            channel.close();
        } catch (IOException e) {
            throw failed(e);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw failed(e);
        }
    }
}
