package dev.walshadow.source.replication;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A TCP socket that can be asked whether bytes have come, without a read that may time out in the
 * middle of a message or a TLS record: the wait reads a single byte and gives it back to the next
 * reader, which may be a TLS layer. (A {@code Selector} would need non-blocking channels, which
 * {@code SSLSocket} cannot be layered on.)
 */
final class PollingSocket extends Socket {
    private @Nullable Input input;

    @Override
    public InputStream getInputStream() throws IOException {
        if (input == null) {
            input = new Input(super.getInputStream());
        }
        return input;
    }

    /** Waits for a byte or the end of the stream; false if neither came in time. */
    boolean awaitReadable(int millis) throws IOException {
        getInputStream();
        Input in = input;
        if (in == null || in.pending != Input.NONE) {
            return true;
        }
        int before = getSoTimeout();
        setSoTimeout(millis);
        try {
            in.pending = in.delegate.read();
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        } finally {
            setSoTimeout(before);
        }
    }

    private static final class Input extends InputStream {
        /** Neither a byte nor the end (-1). */
        private static final int NONE = -2;

        private final InputStream delegate;
        private int pending = NONE;

        Input(InputStream delegate) {
            this.delegate = delegate;
        }

        @Override
        public int read() throws IOException {
            if (pending == NONE) {
                return delegate.read();
            }
            int value = pending;
            pending = NONE;
            return value;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            if (pending == NONE || length == 0) {
                return delegate.read(bytes, offset, length);
            }
            int value = pending;
            pending = NONE;
            if (value < 0) {
                return -1;
            }
            bytes[offset] = (byte) value;
            int more = Math.min(length - 1, delegate.available());
            return more <= 0 ? 1 : 1 + Math.max(0, delegate.read(bytes, offset + 1, more));
        }

        @Override
        public int available() throws IOException {
            return delegate.available() + (pending >= 0 ? 1 : 0);
        }

        @Override
        public void close() throws IOException {
            delegate.close();
        }
    }
}
