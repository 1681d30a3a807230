package dev.walshadow.shadow;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The server's half of the frontend/backend protocol 3.0, as far as a walreceiver needs it: framed
 * reads with every length checked, and the few answers. Not thread safe; reading and writing may be
 * done by two threads.
 *
 * <pre>
 * message: u8 type (not in the startup packet), i32 length (itself included), body
 * CopyData bodies (type 'd'), server:
 *   'w' i64 start  i64 end of WAL  i64 microseconds since 2000-01-01  bytes
 *   'k' i64 end of WAL  i64 microseconds  u8 reply requested
 * CopyData bodies, standby:
 *   'r' i64 write  i64 flush  i64 apply  i64 microseconds  u8 reply requested
 *   'h' hot standby feedback (ignored)
 * </pre>
 *
 * Source: doc/src/sgml/protocol.sgml, src/backend/replication/walsender.c, PostgreSQL 15-18.
 */
final class ReplicationMessages {
    static final int PROTOCOL_3_0 = 0x30000;
    static final int CANCEL_REQUEST = 80877102;
    static final int SSL_REQUEST = 80877103;
    static final int GSS_REQUEST = 80877104;

    /** PostgreSQL's MAX_STARTUP_PACKET_LENGTH. */
    private static final int STARTUP_LIMIT = 10_000;

    /** Commands and status reports are tiny; anything larger is not from a walreceiver. */
    private static final int MESSAGE_LIMIT = 64 * 1024;

    static final int WAL_HEADER = 1 + 4 + 1 + 3 * 8;
    private static final int KEEPALIVE_BODY = 1 + 8 + 8 + 1;
    private static final int STATUS_REPLY_BODY = 1 + 4 * 8 + 1;
    private static final int TEXT_OID = 25;

    /** PostgreSQL counts time from 2000-01-01 00:00 UTC. */
    private static final long EPOCH_2000 = 946_684_800L;

    /** MAX_SEND_SIZE of walsender.c: 16 WAL pages. */
    static final int WAL_PAYLOAD_LIMIT = 16 * PublishedWal.PAGE_SIZE;

    private final SocketChannel channel;
    private final ByteBuffer in = ByteBuffer.allocate(MESSAGE_LIMIT + 8).flip();
    private final byte[] out = new byte[WAL_HEADER + WAL_PAYLOAD_LIMIT];
    private final ByteBuffer outBuffer = ByteBuffer.wrap(out);

    ReplicationMessages(SocketChannel channel) {
        this.channel = channel;
    }

    /** A whole message; {@link #body} is valid until the next read. */
    record Message(char type, ByteBuffer body) {}

    /** Null at a clean end of the stream. */
    @Nullable ByteBuffer readStartup() throws IOException {
        if (!fill(4)) {
            return null;
        }
        int length = in.getInt();
        if (length < 8 || length > STARTUP_LIMIT) {
            throw new IOException("invalid length of startup packet: " + length);
        }
        return body(length - 4);
    }

    /** Null at a clean end of the stream. */
    @Nullable Message readMessage() throws IOException {
        if (!fill(5)) {
            return null;
        }
        char type = (char) (in.get() & 0xFF);
        int length = in.getInt();
        if (length < 4 || length > MESSAGE_LIMIT) {
            throw new IOException("invalid length of message " + (int) type + ": " + length);
        }
        return new Message(type, body(length - 4));
    }

    private ByteBuffer body(int length) throws IOException {
        if (length > 0 && !fill(length)) {
            throw new EOFException("connection closed inside a message");
        }
        ByteBuffer body = in.slice(in.position(), length);
        in.position(in.position() + length);
        return body;
    }

    private boolean fill(int count) throws IOException {
        if (in.remaining() >= count) {
            return true;
        }
        in.compact();
        try {
            while (in.position() < count) {
                if (channel.read(in) < 0) {
                    if (in.position() > 0) {
                        throw new EOFException("connection closed inside a message");
                    }
                    return false;
                }
            }
        } finally {
            in.flip();
        }
        return true;
    }

    /** A body's characters up to its first zero byte, or all of them. */
    static String text(ByteBuffer body) {
        int length = 0;
        while (length < body.remaining() && body.get(body.position() + length) != 0) {
            length++;
        }
        byte[] bytes = new byte[length];
        body.get(bytes);
        if (body.hasRemaining()) {
            body.get();
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static boolean isStatusReply(ByteBuffer copyData) {
        return copyData.remaining() == STATUS_REPLY_BODY && copyData.get(0) == 'r';
    }

    void refuseEncryption() throws IOException {
        outBuffer.clear().put((byte) 'N');
        flush();
    }

    void welcome(String serverVersion, int connection) throws IOException {
        outBuffer.clear();
        int start = begin('R');
        outBuffer.putInt(0);
        end(start);
        parameter("server_version", serverVersion);
        parameter("server_encoding", "UTF8");
        parameter("client_encoding", "UTF8");
        parameter("integer_datetimes", "on");
        parameter("standard_conforming_strings", "on");
        start = begin('K');
        outBuffer.putInt(connection).putInt(0);
        end(start);
        readyForQuery();
        flush();
    }

    private void parameter(String name, String value) {
        int start = begin('S');
        string(name);
        string(value);
        end(start);
    }

    /** One row of text columns, then CommandComplete and ReadyForQuery. */
    void row(String command, String[] names, @Nullable String[] values) throws IOException {
        outBuffer.clear();
        int start = begin('T');
        outBuffer.putShort((short) names.length);
        for (String name : names) {
            string(name);
            outBuffer.putInt(0).putShort((short) 0).putInt(TEXT_OID);
            outBuffer.putShort((short) -1).putInt(-1).putShort((short) 0);
        }
        end(start);
        start = begin('D');
        outBuffer.putShort((short) values.length);
        for (String value : values) {
            if (value == null) {
                outBuffer.putInt(-1);
            } else {
                byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
                outBuffer.putInt(bytes.length).put(bytes);
            }
        }
        end(start);
        complete(command);
        readyForQuery();
        flush();
    }

    void error(String sqlState, String message, boolean ready) throws IOException {
        outBuffer.clear();
        int start = begin('E');
        String severity = ready ? "ERROR" : "FATAL";
        field('S', severity);
        field('V', severity);
        field('C', sqlState);
        field('M', message);
        outBuffer.put((byte) 0);
        end(start);
        if (ready) {
            readyForQuery();
        }
        flush();
    }

    private void field(char code, String value) {
        outBuffer.put((byte) code);
        string(value);
    }

    void copyBoth() throws IOException {
        outBuffer.clear();
        int start = begin('W');
        outBuffer.put((byte) 0).putShort((short) 0);
        end(start);
        flush();
    }

    void copyDoneAndReady() throws IOException {
        outBuffer.clear();
        end(begin('c'));
        complete("START_STREAMING");
        readyForQuery();
        flush();
    }

    /** Where the payload of the coming {@link #sendWal} belongs, from {@link #WAL_HEADER} on. */
    byte[] walFrame() {
        return out;
    }

    void sendWal(long startLsn, int length) throws IOException {
        outBuffer.clear();
        outBuffer.put((byte) 'd').putInt(WAL_HEADER - 1 + length);
        outBuffer.put((byte) 'w').putLong(startLsn).putLong(startLsn + length).putLong(now());
        outBuffer.position(WAL_HEADER + length);
        flush();
    }

    void sendKeepalive(long endLsn, boolean replyRequested) throws IOException {
        outBuffer.clear();
        outBuffer.put((byte) 'd').putInt(4 + KEEPALIVE_BODY);
        outBuffer.put((byte) 'k').putLong(endLsn).putLong(now());
        outBuffer.put((byte) (replyRequested ? 1 : 0));
        flush();
    }

    private static long now() {
        Instant now = Instant.now();
        return (now.getEpochSecond() - EPOCH_2000) * 1_000_000 + now.getNano() / 1000;
    }

    private void complete(String command) {
        int start = begin('C');
        string(command);
        end(start);
    }

    private void readyForQuery() {
        int start = begin('Z');
        outBuffer.put((byte) 'I');
        end(start);
    }

    private int begin(char type) {
        outBuffer.put((byte) type).putInt(0);
        return outBuffer.position() - 4;
    }

    private void end(int start) {
        outBuffer.putInt(start, outBuffer.position() - start);
    }

    private void string(String value) {
        outBuffer.put(value.getBytes(StandardCharsets.UTF_8)).put((byte) 0);
    }

    private void flush() throws IOException {
        outBuffer.flip();
        while (outBuffer.hasRemaining()) {
            channel.write(outBuffer);
        }
    }
}
