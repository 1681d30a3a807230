package dev.walshadow.shadow;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.SystemCommands;
import dev.walshadow.postgres.value.DatumRenderer;
import dev.walshadow.postgres.value.ForeignType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server of the shadow's binaries with an empty cluster, which prints values of types that no
 * codec knows. Its data directory is made anew when the first such type is met, and removed at the
 * end; nothing of the source is in it. A value may crash it: it is started again, and the question
 * is asked once more before the value is refused.
 *
 * <p>Thread safe: one question at a time.
 */
public final class ScratchCluster implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ScratchCluster.class);
    private static final Duration START_LIMIT = Duration.ofMinutes(2);
    private static final int POLL_MILLIS = 10;
    private static final int SHOWN_BYTES = 64;

    private final Options options;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, ScratchSession> sessions = new HashMap<>();
    private @Nullable Path binDirectory;
    private @Nullable Path socketDirectory;
    private @Nullable ServerProcess server;
    private boolean absent;

    /**
     * @param dataDirectory made and removed here
     * @param runDirectory of the Unix socket and the log
     * @param binDirectory holds {@code postgres} and {@code initdb} of the source's major
     * @param port names the socket only
     * @param user as of {@link ShadowCluster.Options}
     */
    public record Options(
            Path dataDirectory,
            Path runDirectory,
            Supplier<Path> binDirectory,
            int port,
            @Nullable String user) {}

    /** Touches nothing. */
    public ScratchCluster(Options options) {
        this.options = options;
    }

    /**
     * @param encoding of the source's database, by PostgreSQL's name
     */
    public DatumRenderer renderer(String encoding) {
        return new DatumRenderer() {
            @Override
            public boolean renders(ForeignType type) {
                return ScratchCluster.this.renders(encoding, type);
            }

            @Override
            public List<byte[]> render(ForeignType type, List<byte[]> datums) {
                return ScratchCluster.this.render(encoding, type, datums);
            }
        };
    }

    private boolean renders(String encoding, ForeignType type) {
        if (!type.library().startsWith("$libdir/") || type.library().contains("..")) {
            return false;
        }
        lock.lock();
        try {
            if (absent || !Files.isExecutable(binDirectory().resolve("initdb"))) {
                return false;
            }
            return session(encoding).knows(type);
        } catch (SQLException | IOException | RetryException e) {
            LOG.warn("the scratch server does not start, so it prints no values: {}", e.toString());
            absent = true;
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** A server that cannot be had is the table's misfortune, not that of the others. */
    private List<byte[]> render(String encoding, ForeignType type, List<byte[]> datums) {
        lock.lock();
        try {
            return ask(encoding, type, datums);
        } catch (IOException | RetryException e) {
            throw new QuarantineException(
                    ShadowCodes.SCRATCH_START,
                    "the scratch server, which prints values of "
                            + type.library()
                            + ", cannot be started: "
                            + e.getMessage(),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RetryException(
                    ShadowCodes.SCRATCH_START, "interrupted while printing values", e);
        } finally {
            lock.unlock();
        }
    }

    /** Once more after a failure that was not the values' own; then one by one, to name it. */
    private List<byte[]> ask(String encoding, ForeignType type, List<byte[]> datums)
            throws IOException, InterruptedException {
        SQLException failure = null;
        for (int i = 0; i < 2; i++) {
            try {
                return session(encoding).render(type, datums);
            } catch (SQLException e) {
                failure = e;
                if (!lostConnection(e)) {
                    break;
                }
                LOG.warn("the scratch server ended while it printed values: {}", e.getMessage());
                closeSessions();
            }
        }
        if (datums.size() > 1) {
            for (byte[] datum : datums) {
                ask(encoding, type, List.of(datum));
            }
        }
        throw refused(type, datums.getFirst(), failure);
    }

    private static QuarantineException refused(
            ForeignType type, byte[] datum, @Nullable SQLException failure) {
        String bytes = HexFormat.of().formatHex(datum, 0, Math.min(SHOWN_BYTES, datum.length));
        return new QuarantineException(
                ShadowCodes.SCRATCH_VALUE,
                "PostgreSQL's own "
                        + type.function()
                        + " of "
                        + type.library()
                        + " does not print the value with the bytes "
                        + bytes
                        + (datum.length > SHOWN_BYTES ? "... (" + datum.length + ")" : "")
                        + ": "
                        + (failure == null ? "" : failure.getMessage())
                        + "; exclude the column in the configuration, or mend the value and resync"
                        + " the table",
                failure);
    }

    /** Class 08 and 57: a crash ends every session. */
    private static boolean lostConnection(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        return state.startsWith("08") || state.startsWith("57");
    }

    private ScratchSession session(String encoding)
            throws IOException, InterruptedException, SQLException {
        Path socket = start();
        ScratchSession known = sessions.get(encoding);
        if (known == null) {
            known = ScratchSession.open(socket, encoding);
            sessions.put(encoding, known);
        }
        return known;
    }

    /** Returns the socket of a server that accepts connections. */
    private Path start() throws IOException, InterruptedException {
        ServerProcess running = server;
        Path directory = socketDirectory;
        if (running == null || directory == null || !running.alive()) {
            closeSessions();
            directory = lay();
            running = launch();
            server = running;
        }
        long deadline = System.nanoTime() + START_LIMIT.toNanos();
        while (!running.acceptsConnections()) {
            if (running.awaitEnd(POLL_MILLIS)) {
                throw new RetryException(
                        ShadowCodes.SCRATCH_START,
                        "the scratch server does not start: " + running.obituary());
            }
            if (System.nanoTime() - deadline >= 0) {
                throw new RetryException(
                        ShadowCodes.SCRATCH_START,
                        "the scratch server accepts no connections; its log is " + logFile());
            }
        }
        return directory.resolve(".s.PGSQL." + options.port());
    }

    private Path binDirectory() {
        Path known = binDirectory;
        if (known == null) {
            known = options.binDirectory().get();
            binDirectory = known;
        }
        return known;
    }

    private Path logFile() {
        return options.runDirectory().resolve("scratch.log");
    }

    /** Makes an empty cluster where there may be the rest of an earlier one. */
    private Path lay() throws IOException, InterruptedException {
        ServerUser user = ServerUser.of(options.user());
        Path sockets = RuntimeDirectory.prepare(options.runDirectory(), user);
        socketDirectory = sockets;
        remove();
        user.ownDirectory(options.dataDirectory());
        user.requireEnterable(options.dataDirectory());
        SystemCommands.Result made =
                SystemCommands.run(
                        user.command(
                                List.of(
                                        binDirectory().resolve("initdb").toString(),
                                        "--pgdata=" + options.dataDirectory(),
                                        "--username=" + ScratchSession.USER,
                                        "--auth=trust",
                                        "--encoding=SQL_ASCII",
                                        "--locale=C",
                                        "--no-sync")));
        if (made.exitCode() != 0) {
            throw new RetryException(
                    ShadowCodes.SCRATCH_START,
                    "initdb of the scratch server failed: " + made.output().strip());
        }
        Path configuration = options.dataDirectory().resolve("postgresql.auto.conf");
        Files.writeString(
                configuration,
                """
                listen_addresses = ''
                unix_socket_directories = '%s'
                port = %d
                max_connections = 20
                shared_buffers = '4MB'
                max_wal_senders = 0
                wal_level = minimal
                fsync = off
                autovacuum = off
                jit = off
                """
                        .formatted(sockets, options.port()));
        user.own(configuration);
        return sockets;
    }

    private ServerProcess launch() throws IOException {
        ServerLog log = new ServerLog(logFile());
        log.bound();
        return ServerProcess.start(
                binDirectory(), options.dataDirectory(), ServerUser.of(options.user()), log, null);
    }

    private void remove() throws IOException, InterruptedException {
        if (!Files.exists(options.dataDirectory())) {
            return;
        }
        ServerProcess.endOrphan(options.dataDirectory());
        try (Stream<Path> files = Files.walk(options.dataDirectory())) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private void closeSessions() {
        sessions.values().forEach(ScratchSession::close);
        sessions.clear();
    }

    /** Ends the server and removes its files; a later question starts it anew. */
    @Override
    public void close() {
        lock.lock();
        try {
            closeSessions();
            ServerProcess running = server;
            server = null;
            if (running != null) {
                running.signal("QUIT");
                running.stop();
                remove();
            }
        } catch (IOException e) {
            LOG.warn("cannot remove {}: {}", options.dataDirectory(), e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }
}
