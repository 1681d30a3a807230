package dev.walshadow.systemtests.faults;

import dev.walshadow.base.LittleEndian;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;

/**
 * A TCP proxy before the source: it cuts connections, lets so many bytes pass, and changes what
 * passes: a byte inside a text, or a WAL record.
 */
final class DamagingProxy implements Closeable {
    // of struct XLogRecord
    private static final int RESOURCE_MANAGER = 17;
    private static final int CRC = 20;
    private static final int RECORD_HEADER = 24;

    private static final int HEAP = 10;

    private final ServerSocket listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    private final AtomicInteger damaged = new AtomicInteger();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final int target;
    private final AtomicLong passable = new AtomicLong(Long.MAX_VALUE);
    private volatile boolean refusing;
    private volatile byte[] wanted = {};
    private volatile byte[] editMark = {};
    private volatile RecordEdit edit = (_, _) -> {};

    /** Changes a WAL record that holds a text. */
    interface RecordEdit {
        /**
         * @param at where the text is in {@code bytes}
         */
        void change(byte[] bytes, int at);
    }

    DamagingProxy(int target) throws IOException {
        this.target = target;
        Thread.ofVirtual().start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** The last byte of the text gets another value, the next time that it passes. */
    void damage(String text) {
        wanted = text.getBytes(StandardCharsets.US_ASCII);
    }

    /**
     * The WAL record with this text is changed, the next time that it passes, and gets the checksum
     * that belongs to it then: as if the source had written it so.
     */
    void edit(String text, RecordEdit change) {
        edit = change;
        editMark = text.getBytes(StandardCharsets.US_ASCII);
    }

    /** Cuts what there is; while refusing, new connections end at once. */
    void refuse(boolean value) throws IOException {
        refusing = value;
        for (Socket socket : sockets) {
            socket.close();
        }
        sockets.clear();
    }

    /** So many bytes of the server's pass from now on, of all connections together. */
    void pass(long bytes) {
        passable.set(bytes);
    }

    /** Whether there was more than that. */
    boolean isExhausted() {
        return passable.get() <= 0;
    }

    /** How often something was damaged. */
    int damaged() {
        return damaged.get();
    }

    private void accept() {
        try {
            while (true) {
                pass(listener.accept());
            }
        } catch (IOException e) {
            // closed by the test
        }
    }

    private void pass(Socket client) throws IOException {
        if (refusing) {
            client.close();
            return;
        }
        Socket server;
        try {
            server = new Socket(InetAddress.getLoopbackAddress(), target);
        } catch (IOException e) {
            // the source does not run now
            client.close();
            return;
        }
        sockets.add(client);
        sockets.add(server);
        Thread.ofVirtual().start(() -> copy(client, server, false));
        Thread.ofVirtual().start(() -> copy(server, client, true));
    }

    private void copy(Socket from, Socket to, boolean looks) {
        byte[] buffer = new byte[1 << 16];
        int seen = 0;
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                count = looks ? editRecord(in, buffer, count) : count;
                seen = looks ? look(buffer, count, seen) : 0;
                long left = looks ? passable.getAndAdd(-count) : count;
                out.write(buffer, 0, Math.clamp(left, 0, count));
            }
        } catch (IOException e) {
            // one side has gone
        }
    }

    /** Returns how many bytes there are; reads on while the record is not whole. */
    private int editRecord(InputStream in, byte[] buffer, int read) throws IOException {
        byte[] text = editMark;
        int count = read;
        int at = text.length == 0 ? -1 : find(text, buffer, count);
        while (at >= 0) {
            for (int start = at - RECORD_HEADER; start >= 0; start--) {
                int length = LittleEndian.getInt(buffer, start);
                boolean whole =
                        buffer[start + RESOURCE_MANAGER] == HEAP
                                && length > at - start
                                && length <= count - start;
                if (whole && LittleEndian.getInt(buffer, start + CRC) == crc(buffer, start)) {
                    edit.change(buffer, at);
                    LittleEndian.putInt(buffer, start + CRC, crc(buffer, start));
                    damaged.incrementAndGet();
                    editMark = new byte[0];
                    return count;
                }
            }
            int more = in.read(buffer, count, buffer.length - count);
            if (more <= 0) {
                return count;
            }
            count += more;
        }
        return count;
    }

    /** The last place: an image of the page, which may hold the text too, comes before the row. */
    private static int find(byte[] text, byte[] buffer, int count) {
        for (int i = count - text.length; i >= 0; i--) {
            if (Arrays.equals(buffer, i, i + text.length, text, 0, text.length)) {
                return i;
            }
        }
        return -1;
    }

    /** As XLogInsertRecord computes it: what follows the header, then the header before xl_crc. */
    private static int crc(byte[] buffer, int start) {
        CRC32C crc = new CRC32C();
        int length = LittleEndian.getInt(buffer, start);
        crc.update(buffer, start + RECORD_HEADER, length - RECORD_HEADER);
        crc.update(buffer, start, CRC);
        return (int) crc.getValue();
    }

    /** Returns how many bytes at the end could be the text's beginning. */
    private int look(byte[] buffer, int count, int before) {
        byte[] text = wanted;
        int seen = before;
        for (int i = 0; i < count && text.length > 0; i++) {
            seen = buffer[i] == text[seen] ? seen + 1 : buffer[i] == text[0] ? 1 : 0;
            if (seen == text.length) {
                buffer[i] ^= 1;
                damaged.incrementAndGet();
                wanted = new byte[0];
                return 0;
            }
        }
        return text.length == 0 ? 0 : seen;
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
