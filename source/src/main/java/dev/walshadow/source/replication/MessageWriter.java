package dev.walshadow.source.replication;

import dev.walshadow.base.BigEndian;
import dev.walshadow.base.ReconnectException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;

/**
 * Writes protocol messages, each with one write. Thread safe: the status thread writes while the
 * pump reads, and answers.
 */
final class MessageWriter {
    private final OutputStream out;
    private final String peer;
    private byte[] buffer = new byte[256];
    private int length;

    MessageWriter(OutputStream out, String peer) {
        this.out = out;
        this.peer = peer;
    }

    synchronized void sslRequest() {
        length = 0;
        putInt(8);
        putInt(Protocol.SSL_REQUEST);
        flush();
    }

    synchronized void startup(Map<String, String> parameters) {
        length = 0;
        putInt(0);
        putInt(Protocol.VERSION_3_0);
        parameters.forEach((name, value) -> {
            putCString(name);
            putCString(value);
        });
        putByte(0);
        BigEndian.putInt(buffer, 0, length);
        flush();
    }

    synchronized void query(String sql) {
        begin(Protocol.QUERY);
        putCString(sql);
        finish();
    }

    /** PasswordMessage. */
    synchronized void password(String text) {
        begin(Protocol.PASSWORD);
        putCString(text);
        finish();
    }

    synchronized void saslInitial(String mechanism, String message) {
        byte[] bytes = message.getBytes(StandardCharsets.UTF_8);
        begin(Protocol.PASSWORD);
        putCString(mechanism);
        putInt(bytes.length);
        putBytes(bytes);
        finish();
    }

    synchronized void saslResponse(String message) {
        begin(Protocol.PASSWORD);
        putBytes(message.getBytes(StandardCharsets.UTF_8));
        finish();
    }

    synchronized void copyDone() {
        begin(Protocol.COPY_DONE);
        finish();
    }

    synchronized void terminate() {
        begin(Protocol.TERMINATE);
        finish();
    }

    synchronized void standbyStatus(long write, long flush, long apply, boolean replyRequested) {
        begin(Protocol.COPY_DATA);
        putByte(Protocol.STANDBY_STATUS);
        putLong(write);
        putLong(flush);
        putLong(apply);
        Instant now = Instant.now();
        long seconds = now.getEpochSecond() - Protocol.POSTGRES_EPOCH_SECONDS;
        putLong(seconds * 1_000_000L + now.getNano() / 1000);
        putByte(replyRequested ? 1 : 0);
        finish();
    }

    private void begin(int type) {
        length = 0;
        putByte(type);
        putInt(0);
    }

    private void finish() {
        BigEndian.putInt(buffer, Protocol.TYPE_LENGTH, length - Protocol.TYPE_LENGTH);
        flush();
    }

    private void flush() {
        try {
            out.write(buffer, 0, length);
            out.flush();
        } catch (IOException e) {
            throw new ReconnectException(
                    ReplicationCodes.CONNECTION_LOST,
                    "the connection to " + peer + " broke: " + e.getMessage(),
                    e);
        }
    }

    private void ensure(int more) {
        if (buffer.length - length < more) {
            buffer = Arrays.copyOf(buffer, Math.max(buffer.length * 2, length + more));
        }
    }

    private void putByte(int value) {
        ensure(1);
        buffer[length++] = (byte) value;
    }

    private void putInt(int value) {
        ensure(4);
        BigEndian.putInt(buffer, length, value);
        length += 4;
    }

    private void putLong(long value) {
        ensure(8);
        BigEndian.putLong(buffer, length, value);
        length += 8;
    }

    private void putBytes(byte[] bytes) {
        ensure(bytes.length);
        System.arraycopy(bytes, 0, buffer, length, bytes.length);
        length += bytes.length;
    }

    private void putCString(String text) {
        putBytes(text.getBytes(StandardCharsets.UTF_8));
        putByte(0);
    }
}
