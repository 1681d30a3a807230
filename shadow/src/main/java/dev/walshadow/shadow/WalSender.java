package dev.walshadow.shadow;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the filtered WAL to the shadow's walreceiver over a Unix socket, the way a primary's
 * walsender would: handshake without authentication, IDENTIFY_SYSTEM, TIMELINE_HISTORY,
 * START_REPLICATION. The socket is open to everybody who can enter its directory, which is the
 * shadow user's own (0700).
 *
 * <p>{@link #publish} only copies into memory and wakes; each connection's thread takes what it
 * needs from there or, for complete segments, from the archive. Nothing beyond the published
 * position leaves (I2), and frames end at page or record ends only, since PostgreSQL's reader may
 * misread a page-crossing record that is cut elsewhere.
 *
 * <p>{@link #publish} and {@link #segmentComplete} belong to the WAL pump's thread; everything else
 * is thread safe.
 */
public final class WalSender implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WalSender.class);
    private static final int CONNECTIONS_LIMIT = 16;
    private static final long FIRST_ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long LAST_ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Options options;
    private final PublishedWal wal;
    private final ServerSocketChannel listener;
    private final Path socket;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition progress = lock.newCondition();
    private final Deque<SenderConnection> connections = new ArrayDeque<>();
    private @Nullable SenderConnection current;
    private int lastNumber;
    private long lastApplied;
    private long lastFlushed;
    private boolean closed;

    /**
     * @param systemIdentifier the source's, as IDENTIFY_SYSTEM reports it
     * @param startLsn where publishing starts (segment aligned); complete segments below it are
     *     read from the archive
     * @param archiveDirectory filtered segments and timeline history files
     * @param socketDirectory where {@code .s.PGSQL.<port>} is made; exists, see {@link
     *     RuntimeDirectory}
     * @param port names the socket only
     * @param serverVersion what the startup handshake reports, e.g. {@code 17.6}
     */
    public record Options(
            long systemIdentifier,
            int timeline,
            int segmentSize,
            long startLsn,
            Path archiveDirectory,
            Path socketDirectory,
            int port,
            String serverVersion) {}

    /** Listens at once; walreceivers that come before the first bytes wait for them. */
    public WalSender(Options options) {
        this.options = options;
        this.wal =
                new PublishedWal(
                        options.timeline(),
                        options.segmentSize(),
                        options.startLsn(),
                        options.archiveDirectory());
        this.socket = options.socketDirectory().resolve(".s.PGSQL." + options.port());
        this.listener = bind(socket);
        Thread.ofPlatform().daemon().name("wal-sender-listener").start(this::accept);
    }

    Options options() {
        return options;
    }

    PublishedWal wal() {
        return wal;
    }

    private static ServerSocketChannel bind(Path socket) {
        try {
            Files.deleteIfExists(socket);
            ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            listener.bind(UnixDomainSocketAddress.of(socket));
            Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
            return listener;
        } catch (IOException e) {
            throw new ConfigurationException(
                    ShadowCodes.SENDER_BIND,
                    "cannot listen for the shadow on "
                            + socket
                            + " ("
                            + e.getMessage()
                            + "); its directory must exist, be writable and the path be at most"
                            + " 107 bytes long",
                    e);
        }
    }

    private void accept() {
        while (true) {
            try {
                SocketChannel channel = listener.accept();
                Thread.ofVirtual().name("wal-sender-connection").start(register(channel));
            } catch (IOException e) {
                if (!isClosed()) {
                    LOG.error("the WAL sender cannot accept connections any more", e);
                }
                return;
            }
        }
    }

    private SenderConnection register(SocketChannel channel) {
        lock.lock();
        try {
            SenderConnection connection = new SenderConnection(this, channel, ++lastNumber);
            if (closed) {
                connection.close();
            }
            connections.add(connection);
            if (connections.size() > CONNECTIONS_LIMIT) {
                evict();
            }
            return connection;
        } finally {
            lock.unlock();
        }
    }

    /** Makes room: the oldest client that does not stream, else the oldest of all. */
    private void evict() {
        SenderConnection oldest =
                connections.stream()
                        .filter(connection -> !connection.streaming())
                        .findFirst()
                        .orElse(connections.getFirst());
        connections.remove(oldest);
        oldest.close();
    }

    /** Called by a connection that begins to stream: from now on it speaks for the shadow. */
    void streams(SenderConnection connection) {
        lock.lock();
        try {
            current = connection;
            progress.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Called by a connection after each status report. */
    void reported() {
        lock.lock();
        try {
            if (current != null) {
                lastApplied = current.appliedLsn();
                lastFlushed = current.flushedLsn();
            }
            progress.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void ended(SenderConnection connection) {
        lock.lock();
        try {
            connections.remove(connection);
            if (current == connection) {
                current = null;
            }
            progress.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Pump thread: bytes that continue exactly at {@link #publishedLsn()} and end at a record's or
     * a page's end. Never waits for a client.
     */
    public void publish(long startLsn, byte[] bytes, int offset, int length) {
        wal.append(startLsn, bytes, offset, length);
    }

    /** Pump thread: the segment that starts here is durable in the archive now. */
    public void segmentComplete(long segmentStartLsn) {
        wal.drop(segmentStartLsn);
    }

    public long publishedLsn() {
        return wal.publishedLsn();
    }

    /**
     * The apply position that the shadow reported last; 0 before its first report. After a crash of
     * the shadow it can move back.
     */
    public long appliedLsn() {
        lock.lock();
        try {
            return lastApplied;
        } finally {
            lock.unlock();
        }
    }

    /** The flush position that the shadow reported last; 0 before its first report. */
    public long flushedLsn() {
        lock.lock();
        try {
            return lastFlushed;
        } finally {
            lock.unlock();
        }
    }

    /** True while a walreceiver streams. */
    public boolean connected() {
        return connectionNumber() != 0;
    }

    /** Number of the streaming connection, from 1; 0 while none streams. */
    public long connectionNumber() {
        lock.lock();
        try {
            return current == null ? 0 : current.number();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until the connected walreceiver reports that {@code lsn} (a record's end) has been
     * applied, asking it meanwhile. The wait has no limit as long as the shadow gets on.
     *
     * @return the connection's number: a read that follows is valid only if {@link
     *     #connectionNumber()} still answers the same after it (I14)
     * @throws RetryException when neither the apply nor the flush position moved for {@code stall}
     */
    public long awaitApplied(long lsn, Duration stall) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long ask = FIRST_ASK_NANOS;
            long flushed = -1;
            long applied = -1;
            long deadline = System.nanoTime() + stall.toNanos();
            while (true) {
                SenderConnection connection = current;
                if (connection != null && connection.appliedLsn() >= lsn) {
                    return connection.number();
                }
                if (lastApplied != applied || lastFlushed != flushed) {
                    applied = lastApplied;
                    flushed = lastFlushed;
                    deadline = System.nanoTime() + stall.toNanos();
                }
                if (System.nanoTime() - deadline >= 0) {
                    throw stalled(lsn, stall);
                }
                if (connection != null) {
                    connection.requestReply();
                }
                progress.awaitNanos(ask);
                ask = Math.min(2 * ask, LAST_ASK_NANOS);
            }
        } finally {
            lock.unlock();
        }
    }

    private RetryException stalled(long lsn, Duration stall) {
        return new RetryException(
                ShadowCodes.APPLY_STALLED,
                "expected the shadow to apply WAL up to "
                        + Lsn.format(lsn)
                        + ", found it at "
                        + Lsn.format(lastApplied)
                        + " (flushed "
                        + Lsn.format(lastFlushed)
                        + ", published "
                        + Lsn.format(publishedLsn())
                        + ", walreceiver "
                        + (current == null ? "not connected" : "connected")
                        + ") without progress for "
                        + stall.toSeconds()
                        + " s; the shadow's log says why");
    }

    /** The value of {@code primary_conninfo}. */
    public String connectionInfo() {
        return "host='"
                + options.socketDirectory().toString().replace("\\", "\\\\").replace("'", "\\'")
                + "' port="
                + options.port()
                + " user=walshadow application_name=walshadow_shadow sslmode=disable";
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    /** Ends all connections and removes the socket. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            connections.forEach(SenderConnection::close);
        } finally {
            lock.unlock();
        }
        try {
            listener.close();
            Files.deleteIfExists(socket);
        } catch (IOException e) {
            LOG.warn("closing the WAL sender's socket {}: {}", socket, e.toString());
        }
    }
}
