package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A temporary file that is appended to through a buffer and read back by position. One writer;
 * readers after {@link #flush}. Not durable: the load that made it starts anew after a crash.
 */
final class SpoolFile implements AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 18;

    private final Path file;
    private final FileChannel channel;
    private final ByteBuilder buffer = new ByteBuilder(BUFFER_BYTES);
    private long flushed;

    SpoolFile(Path file) {
        this.file = file;
        try {
            channel =
                    FileChannel.open(
                            file,
                            StandardOpenOption.CREATE,
                            StandardOpenOption.TRUNCATE_EXISTING,
                            StandardOpenOption.READ,
                            StandardOpenOption.WRITE);
        } catch (IOException e) {
            throw failed(e);
        }
    }

    /** Where the next byte goes. */
    long length() {
        return flushed + buffer.length();
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
            while (bytes.hasRemaining()) {
                flushed += channel.write(bytes, flushed);
            }
            buffer.clear();
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
