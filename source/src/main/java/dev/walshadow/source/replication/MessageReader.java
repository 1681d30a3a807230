package dev.walshadow.source.replication;

import dev.walshadow.base.BigEndian;
import dev.walshadow.base.ReconnectException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads whole protocol messages into one reused buffer and walks their fields. Survives any bytes:
 * whatever is no message, and every field that would reach past its message's end, becomes a {@link
 * ReconnectException}. A message is valid until the next {@link #next()}. One thread at a time;
 * {@link #lastReceivedNanos()} from any.
 */
final class MessageReader {
    private static final int INITIAL_CAPACITY = 256 << 10;

    private final InputStream in;
    private final String peer;
    private byte[] buffer = new byte[INITIAL_CAPACITY];
    private int start;
    private int end;
    private int type;
    private int cursor;
    private int bodyEnd;
    private volatile long lastReceivedNanos = System.nanoTime();

    /**
     * @param peer what error messages call the other side
     */
    MessageReader(InputStream in, String peer) {
        this.in = in;
        this.peer = peer;
    }

    long lastReceivedNanos() {
        return lastReceivedNanos;
    }

    /**
     * Whether more than the current message has been received already; then {@link #next()} waits
     * at most for that message's rest.
     */
    boolean hasBuffered() {
        if (end > bodyEnd) {
            return true;
        }
        try {
            return in.available() > 0;
        } catch (IOException e) {
            return true;
        }
    }

    /** Reads the next message and returns its type. */
    int next() {
        start = bodyEnd;
        require(Protocol.HEADER_LENGTH);
        type = buffer[start] & 0xFF;
        int length = BigEndian.getInt(buffer, start + Protocol.TYPE_LENGTH);
        if (length < 4 || length > Protocol.MESSAGE_LENGTH_LIMIT) {
            throw notProtocol("a message of length " + Integer.toUnsignedString(length));
        }
        require(Protocol.TYPE_LENGTH + length);
        cursor = start + Protocol.HEADER_LENGTH;
        bodyEnd = start + Protocol.TYPE_LENGTH + length;
        return type;
    }

    /** The single byte that answers SSLRequest; it is the only thing the server may have sent. */
    int singleByte() {
        require(1);
        int value = buffer[start] & 0xFF;
        if (end - start > 1) {
            throw notProtocol("unencrypted bytes behind the answer to SSLRequest");
        }
        start = end = bodyEnd = cursor = 0;
        return value;
    }

    /** Leaves the current message's bytes as they are: further reading uses another buffer. */
    void detachBuffer() {
        int rest = end - bodyEnd;
        byte[] fresh = new byte[Math.max(INITIAL_CAPACITY, rest)];
        System.arraycopy(buffer, bodyEnd, fresh, 0, rest);
        buffer = fresh;
        start = cursor = bodyEnd = 0;
        end = rest;
    }

    int type() {
        return type;
    }

    byte[] buffer() {
        return buffer;
    }

    /** Index of the next unread body byte. */
    int cursor() {
        return cursor;
    }

    int remaining() {
        return bodyEnd - cursor;
    }

    void skip(int count) {
        advance(count);
    }

    int int8() {
        return buffer[advance(1)] & 0xFF;
    }

    int int16() {
        return BigEndian.getUnsignedShort(buffer, advance(2));
    }

    int int32() {
        return BigEndian.getInt(buffer, advance(4));
    }

    long int64() {
        return BigEndian.getLong(buffer, advance(8));
    }

    byte[] bytes(int count) {
        int from = advance(count);
        return Arrays.copyOfRange(buffer, from, from + count);
    }

    String string(int count) {
        return new String(buffer, advance(count), count, StandardCharsets.UTF_8);
    }

    /** A zero-terminated string. */
    String cString() {
        for (int i = cursor; i < bodyEnd; i++) {
            if (buffer[i] == 0) {
                String text = new String(buffer, cursor, i - cursor, StandardCharsets.UTF_8);
                cursor = i + 1;
                return text;
            }
        }
        throw notProtocol("a string without its terminator");
    }

    private int advance(int count) {
        if (count < 0 || count > bodyEnd - cursor) {
            throw notProtocol(
                    "a field of " + count + " bytes where " + (bodyEnd - cursor) + " are left");
        }
        int from = cursor;
        cursor += count;
        return from;
    }

    ReconnectException notProtocol(String found) {
        return new ReconnectException(
                ReplicationCodes.PROTOCOL,
                "expected PostgreSQL's protocol from "
                        + peer
                        + ", found "
                        + found
                        + " in message '"
                        + (type >= 32 && type < 127
                                ? String.valueOf((char) type)
                                : "0x" + Integer.toHexString(type))
                        + "'; is this address a PostgreSQL server?");
    }

    ReconnectException unexpected(String expected) {
        return notProtocol("another message than " + expected);
    }

    private void require(int count) {
        if (end - start >= count) {
            return;
        }
        if (start > 0 && (start == end || start + count > buffer.length)) {
            System.arraycopy(buffer, start, buffer, 0, end - start);
            end -= start;
            start = 0;
        }
        if (count > buffer.length) {
            buffer =
                    Arrays.copyOf(
                            buffer,
                            Math.max(
                                    count,
                                    Math.min(
                                            buffer.length * 2, Protocol.MESSAGE_LENGTH_LIMIT + 1)));
        }
        try {
            while (end - start < count) {
                int read = in.read(buffer, end, buffer.length - end);
                if (read < 0) {
                    throw new ReconnectException(
                            ReplicationCodes.CONNECTION_LOST,
                            "the server " + peer + " closed the connection");
                }
                end += read;
                lastReceivedNanos = System.nanoTime();
            }
        } catch (IOException e) {
            throw new ReconnectException(
                    ReplicationCodes.CONNECTION_LOST,
                    "the connection to " + peer + " broke: " + e.getMessage(),
                    e);
        }
    }
}
