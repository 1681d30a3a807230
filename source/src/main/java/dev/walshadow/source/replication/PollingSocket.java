package dev.walshadow.source.replication;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A TCP socket that can be asked whether bytes have come, without a read that may time out in the
 * middle of a message or a TLS record: the wait reads a single byte and gives it back to the next
 * reader, which may be a TLS layer; other reads wait on through timeouts. (A {@code Selector} would
 * need non-blocking channels, which {@code SSLSocket} cannot be layered on.)
 */
final class PollingSocket extends Socket {
    private @Nullable Input input;
    private int waitMillis;

    @Override
    public InputStream getInputStream() throws IOException {
        return input();
    }

    private Input input() throws IOException {
        if (input == null) {
            input = new Input(super.getInputStream());
        }
        return input;
    }

    /** From now on reads wait without limit, and {@link #awaitReadable} works. */
    void becomePatient() throws IOException {
        setSoTimeout(0);
        input().patient = true;
    }

    /** Waits for a byte or the end of the stream; false if neither came in time. */
    boolean awaitReadable(int millis) throws IOException {
        Input in = input();
        if (in.pending != Input.NONE) {
            return true;
        }
        if (waitMillis != millis) {
            setSoTimeout(millis);
            waitMillis = millis;
        }
        try {
            in.pending = in.delegate.read();
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        }
    }

    private static final class Input extends InputStream {
        /** Neither a byte nor the end (-1). */
        private static final int NONE = -2;

        private final InputStream delegate;
        private int pending = NONE;
        private boolean patient;

        Input(InputStream delegate) {
            this.delegate = delegate;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (pending == NONE) {
                return readThrough(bytes, offset, length);
            }
            int value = pending;
            pending = NONE;
            if (value < 0) {
                return -1;
            }
            bytes[offset] = (byte) value;
            int more = Math.min(length - 1, delegate.available());
            return more <= 0 ? 1 : 1 + Math.max(0, readThrough(bytes, offset + 1, more));
        }

        private int readThrough(byte[] bytes, int offset, int length) throws IOException {
            while (true) {
                try {
                    return delegate.read(bytes, offset, length);
                } catch (SocketTimeoutException e) {
                    if (!patient) {
                        throw e;
                    }
                }
            }
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
