package dev.walshadow.shadow;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.RetryException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.newsclub.net.unix.AFUNIXSocketFactory;
import org.postgresql.PGConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * SQL sessions on the shadow, over its Unix socket. Only inside holds (I14): nothing may be
 * published or replayed while a session starts, runs a statement or has a transaction open. {@link
 * #read} keeps to that by itself.
 *
 * <p>One session per database stays connected between reads, idle and outside any transaction: its
 * caches are warm and its statements prepared. PostgreSQL wakes an idle session that has fallen
 * half of the invalidation queue (2,048 messages) behind, and the session then reads catalogs while
 * WAL is replayed; {@link #invalidates} ends it before that. Thread safe.
 */
public final class ShadowSessions implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ShadowSessions.class);
    private static final int EVENT_TRIGGER_SETTING_MAJOR = 17;
    private static final long RETRY_CEILING_MILLIS = 1000;

    /** From the end of replay to accepting connections; it takes milliseconds or very long. */
    private static final Duration HOT_STANDBY_PATIENCE = Duration.ofSeconds(1);

    /** Half of what wakes an idle session (CLEANUP_MIN in sinvaladt.c, 15-18). */
    private static final long INVALIDATIONS_LIMIT = 1024;

    private static final long EXIT_LIMIT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long EXIT_POLL_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

    /** invalid_authorization_specification: no such role, or it may not log in any more. */
    private static final String ROLE_PROBLEM = "28000";

    /** There is no such database, or it allows no connections. */
    private static final Set<String> UNUSABLE_DATABASE = Set.of("3D000", "55000");

    private static final Pattern UNKNOWN_LOCALE =
            Pattern.compile("LC_(?:COLLATE|CTYPE) \"([^\"]+)\", *which is not recognized");

    /**
     * What a startup packet sets outranks ALTER DATABASE and ALTER ROLE, whose settings the shadow
     * has from the source.
     */
    private static final String OVERRIDES =
            "-c search_path=pg_catalog -c session_preload_libraries= -c local_preload_libraries="
                    + " -c statement_timeout=0 -c lock_timeout=0"
                    + " -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0"
                    + " -c default_transaction_isolation=repeatable\\ read"
                    + " -c default_transaction_read_only=on"
                    + " -c default_transaction_deferrable=off -c role=none -c jit=off"
                    + " -c max_parallel_workers_per_gather=0 -c client_encoding=UTF8"
                    + " -c enable_indexscan=on -c enable_indexonlyscan=on"
                    + " -c enable_nestloop=on";

    private final ShadowCluster cluster;
    private final WalSender sender;
    private final Supplier<List<String>> roles;
    private volatile @Nullable String lastRole;
    private final ReentrantLock lock = new ReentrantLock();

    /** By database; guarded by {@link #lock}. */
    private final Map<String, Idle> idle = new HashMap<>();

    private long invalidations;

    /**
     * @param receiver the walreceiver's connection during its last read
     * @param invalidations how many had been announced then
     */
    private record Idle(Connection session, long receiver, long invalidations) {}

    /** What a read does with its session. */
    @FunctionalInterface
    public interface Reading<T> {
        T read(Connection session) throws SQLException;
    }

    /**
     * @param roles superusers' names, best first: {@link CatalogReader#superusers} of the source.
     *     Asked at first, and when the role in use has been renamed or may not log in any more
     */
    public ShadowSessions(ShadowCluster cluster, WalSender sender, Supplier<List<String>> roles) {
        this.cluster = cluster;
        this.sender = sender;
        this.roles = roles;
    }

    /** A session, for the caller to close before anything more is published. */
    public Connection open(String database) throws SQLException {
        return open(database, cluster.port());
    }

    private Connection open(String database, int port) throws SQLException {
        SQLException refused = null;
        String known = lastRole;
        if (known != null) {
            try {
                return open(database, known, port);
            } catch (SQLException e) {
                refused = passOnUnlessRoleProblem(e);
            }
        }
        for (String role : roles.get()) {
            try {
                Connection session = open(database, role, port);
                lastRole = role;
                return session;
            } catch (SQLException e) {
                refused = passOnUnlessRoleProblem(e);
            }
        }
        throw refused != null
                ? refused
                : new SQLException("there is no superuser to read the shadow with");
    }

    private SQLException passOnUnlessRoleProblem(SQLException e) throws SQLException {
        learnLocale(e);
        if (!ROLE_PROBLEM.equals(e.getSQLState())) {
            throw e;
        }
        return e;
    }

    private Connection open(String database, String role, int port) throws SQLException {
        Path socket = cluster.socketDirectory().resolve(".s.PGSQL." + port);
        Properties properties = new Properties();
        properties.setProperty("user", role);
        properties.setProperty("socketFactory", AFUNIXSocketFactory.FactoryArg.class.getName());
        properties.setProperty("socketFactoryArg", socket.toString());
        properties.setProperty("sslmode", "disable");
        properties.setProperty("gssEncMode", "disable");
        properties.setProperty("ApplicationName", "walshadow");
        properties.setProperty(
                "options",
                cluster.majorVersion() >= EVENT_TRIGGER_SETTING_MAJOR
                        ? OVERRIDES + " -c event_triggers=off"
                        : OVERRIDES);
        properties.setProperty("PGDBNAME", database);
        properties.setProperty("prepareThreshold", "1");
        return DriverManager.getConnection("jdbc:postgresql:///", properties);
    }

    /** The locale for whose lack a server has refused a connection; null: it was something else. */
    public static @Nullable String unknownLocale(SQLException e) {
        Matcher locale = UNKNOWN_LOCALE.matcher(String.valueOf(e.getMessage()));
        return locale.find() ? locale.group(1) : null;
    }

    private void learnLocale(SQLException e) {
        String locale = unknownLocale(e);
        if (locale != null && cluster.addLocale(locale)) {
            LOG.info(
                    "this host lacks the locale {} of a source database; the shadow gets a"
                            + " stand-in and is restarted",
                    locale);
        }
    }

    /**
     * Waits until {@code lsn}, the published position, has been applied, reads in one read-only
     * transaction, and repeats the whole when the shadow restarted meanwhile. A shadow that replays
     * but accepts no connections is read through a {@link PromotedCopy}. The caller publishes
     * nothing until this returns.
     *
     * @param stall gives up when there is no progress for so long
     * @throws RetryException with the last failure when it gives up
     */
    public <T> T read(long lsn, String database, Duration stall, Reading<T> reading)
            throws InterruptedException {
        return read(lsn, List.of(database), stall, reading);
    }

    /**
     * The same in any one of these databases, the first that is there: some of them may have
     * another name by now.
     *
     * @param databases not empty
     */
    public <T> T read(long lsn, List<String> databases, Duration stall, Reading<T> reading)
            throws InterruptedException {
        int next = 0;
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        long deadline = System.nanoTime() + stall.toNanos();
        while (true) {
            String database = databases.get(next);
            long receiver = sender.awaitApplied(lsn, stall);
            Connection kept = take(database, receiver);
            SQLException failure = null;
            try {
                if (kept == null && !cluster.awaitHotStandby(HOT_STANDBY_PATIENCE)) {
                    return readPromoted(lsn, database, stall, reading);
                }
                T result = readOnce(kept, database, receiver, reading);
                if (sender.connectionNumber() == receiver) {
                    return result;
                }
            } catch (SQLException e) {
                if (kept != null) {
                    LOG.debug("the idle session is of no use any more: {}", e.toString());
                    continue;
                }
                if (UNUSABLE_DATABASE.contains(String.valueOf(e.getSQLState()))
                        && next + 1 < databases.size()) {
                    next++;
                    continue;
                }
                failure = e;
            }
            next = 0;
            LOG.info(
                    "reading the shadow again: {}",
                    failure == null ? "it restarted" : failure.toString());
            if (System.nanoTime() - deadline >= 0) {
                throw new RetryException(
                        ShadowCodes.SESSION,
                        "cannot read database "
                                + database
                                + " of the shadow: "
                                + (failure == null ? "it restarts" : failure.getMessage())
                                + "; its log is in "
                                + cluster.socketDirectory(),
                        failure);
            }
            backoff.pause();
        }
    }

    /** The shadow knows everything up to {@code lsn} but accepts no connections. */
    private <T> T readPromoted(long lsn, String database, Duration stall, Reading<T> reading)
            throws SQLException, InterruptedException {
        LOG.info(
                "the shadow was restarted while a transaction with many subtransactions is open,"
                        + " and accepts no connections before that ends: a promoted copy is read");
        long started = System.nanoTime();
        try (PromotedCopy copy = cluster.promotedCopy(lsn, stall);
                Connection session = open(database, copy.port())) {
            session.setAutoCommit(false);
            T result = reading.read(session);
            session.rollback();
            LOG.info(
                    "the promoted copy answered after {} ms",
                    TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started));
            return result;
        }
    }

    private <T> T readOnce(
            @Nullable Connection kept, String database, long receiver, Reading<T> reading)
            throws SQLException {
        Connection session = kept == null ? open(database) : kept;
        boolean done = false;
        try {
            session.setAutoCommit(false);
            if (kept != null) {
                requireDatabase(session, database);
            }
            T result = reading.read(session);
            session.rollback();
            done = true;
            return result;
        } finally {
            if (done) {
                keep(database, session, receiver);
            } else {
                end(session);
            }
        }
    }

    /** Databases can exchange their names; a session stays with the database itself. */
    private static void requireDatabase(Connection session, String database) throws SQLException {
        try (PreparedStatement statement = session.prepareStatement("SELECT current_database()");
                ResultSet row = statement.executeQuery()) {
            if (!row.next() || !database.equals(row.getString(1))) {
                throw new SQLException("the database has been renamed");
            }
        }
    }

    /** The idle session, if the server is the same as when it was last used. */
    private @Nullable Connection take(String database, long receiver) {
        Idle found;
        lock.lock();
        try {
            found = idle.remove(database);
        } finally {
            lock.unlock();
        }
        if (found == null || found.receiver() == receiver) {
            return found == null ? null : found.session();
        }
        end(found.session());
        return null;
    }

    private void keep(String database, Connection session, long receiver) {
        Idle replaced;
        lock.lock();
        try {
            replaced = idle.put(database, new Idle(session, receiver, invalidations));
        } finally {
            lock.unlock();
        }
        if (replaced != null) {
            end(replaced.session());
        }
    }

    /**
     * WAL pump, before it publishes bytes whose replay sends so many invalidation messages: ends
     * idle sessions that would be woken by them.
     */
    public void invalidates(long messages) {
        endIdle(messages, INVALIDATIONS_LIMIT);
    }

    /** Ends the idle sessions. */
    @Override
    public void close() {
        endIdle(0, -1);
    }

    private void endIdle(long messages, long limit) {
        List<Connection> ended = new ArrayList<>();
        lock.lock();
        try {
            invalidations += messages;
            idle.values()
                    .removeIf(each -> {
                        boolean over = invalidations - each.invalidations() > limit;
                        if (over) {
                            ended.add(each.session());
                        }
                        return over;
                    });
        } finally {
            lock.unlock();
        }
        ended.forEach(ShadowSessions::end);
    }

    /** Returns when the server's process for the session is gone. */
    private static void end(Connection session) {
        int pid = 0;
        try {
            pid = session.unwrap(PGConnection.class).getBackendPID();
            session.close();
        } catch (SQLException e) {
            LOG.debug("closing a session on the shadow: {}", e.toString());
        }
        long deadline = System.nanoTime() + EXIT_LIMIT_NANOS;
        while (pid != 0 && ProcessHandle.of(pid).isPresent()) {
            if (System.nanoTime() - deadline >= 0) {
                LOG.warn("the shadow's process {} does not end with its session", pid);
                return;
            }
            LockSupport.parkNanos(EXIT_POLL_NANOS);
        }
    }
}
