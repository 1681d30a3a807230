package dev.walshadow.shadow;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A small client that speaks what a walreceiver speaks, message by message. */
final class TestWalReceiver implements AutoCloseable {
    @SuppressWarnings("ArrayRecordComponent")
    record Message(char type, byte[] body) {}

    /** A 'w' or 'k' message. */
    @SuppressWarnings("ArrayRecordComponent")
    record Frame(char kind, long start, long end, byte[] data, boolean replyRequested) {}

    private final SocketChannel channel;
    private final DataInputStream in;
    private final DataOutputStream out;

    TestWalReceiver(Path socket) throws IOException {
        channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        channel.connect(UnixDomainSocketAddress.of(socket));
        InputStream stream = Channels.newInputStream(channel);
        in = new DataInputStream(stream);
        out = new DataOutputStream(Channels.newOutputStream(channel));
    }

    static TestWalReceiver connected(Path socket) throws IOException {
        TestWalReceiver receiver = new TestWalReceiver(socket);
        receiver.raw(ByteBuffer.allocate(8).putInt(8).putInt(80877103).array());
        if (receiver.in.readByte() != 'N') {
            throw new IOException("encryption was not refused");
        }
        byte[] parameters =
                "replication\0true\0user\0walshadow\0\0".getBytes(StandardCharsets.UTF_8);
        receiver.raw(
                ByteBuffer.allocate(8 + parameters.length)
                        .putInt(8 + parameters.length)
                        .putInt(0x30000)
                        .put(parameters)
                        .array());
        receiver.untilReady();
        return receiver;
    }

    void raw(byte[] bytes) throws IOException {
        out.write(bytes);
    }

    void send(char type, byte[] body) throws IOException {
        ByteBuffer message = ByteBuffer.allocate(5 + body.length);
        message.put((byte) type).putInt(4 + body.length).put(body);
        raw(message.array());
    }

    List<Message> query(String text) throws IOException {
        send('Q', (text + "\0").getBytes(StandardCharsets.UTF_8));
        return untilReady();
    }

    List<Message> untilReady() throws IOException {
        List<Message> messages = new ArrayList<>();
        do {
            messages.add(read());
        } while (messages.getLast().type() != 'Z');
        return messages;
    }

    Message read() throws IOException {
        char type = (char) in.readByte();
        byte[] body = new byte[in.readInt() - 4];
        in.readFully(body);
        return new Message(type, body);
    }

    /** Starts streaming; the answer must be CopyBoth. */
    void start(String lsn, int timeline) throws IOException {
        send(
                'Q',
                ("START_REPLICATION " + lsn + " TIMELINE " + timeline + "\0")
                        .getBytes(StandardCharsets.UTF_8));
        Message answer = read();
        if (answer.type() != 'W') {
            throw new IOException("expected CopyBoth, found " + answer.type());
        }
    }

    Frame frame() throws IOException {
        Message message = read();
        if (message.type() != 'd') {
            throw new IOException(
                    "expected CopyData, found "
                            + message.type()
                            + new String(message.body(), StandardCharsets.UTF_8));
        }
        ByteBuffer body = ByteBuffer.wrap(message.body());
        char kind = (char) body.get();
        if (kind == 'k') {
            long end = body.getLong();
            body.getLong();
            return new Frame(kind, 0, end, new byte[0], body.get() != 0);
        }
        long start = body.getLong();
        long end = body.getLong();
        body.getLong();
        byte[] data = new byte[body.remaining()];
        body.get(data);
        return new Frame(kind, start, end, data, false);
    }

    /** Reads frames until WAL up to {@code end} has come; returns it. */
    byte[] walUntil(long end, List<Long> ends) throws IOException {
        ByteArrayOutputStream wal = new ByteArrayOutputStream();
        long position = -1;
        while (position < end) {
            Frame frame = frame();
            if (frame.kind() == 'k') {
                continue;
            }
            if (position >= 0 && frame.start() != position) {
                throw new IOException("gap at " + position + ": " + frame.start());
            }
            wal.write(frame.data());
            position = frame.start() + frame.data().length;
            if (frame.end() != position) {
                throw new IOException("end of WAL " + frame.end() + " beyond " + position);
            }
            ends.add(position);
        }
        return wal.toByteArray();
    }

    void reply(long written, long flushed, long applied, boolean replyRequested)
            throws IOException {
        ByteBuffer body = ByteBuffer.allocate(34);
        body.put((byte) 'r').putLong(written).putLong(flushed).putLong(applied).putLong(0);
        body.put((byte) (replyRequested ? 1 : 0));
        send('d', body.array());
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
