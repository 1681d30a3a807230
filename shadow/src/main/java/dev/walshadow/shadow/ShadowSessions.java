package dev.walshadow.shadow;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.RetryException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.newsclub.net.unix.AFUNIXSocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * SQL sessions on the shadow, over its Unix socket. Only inside holds (I14): nothing may be
 * published or replayed while a session starts, runs a statement or has a transaction open. {@link
 * #read} keeps to that by itself. Thread safe.
 */
public final class ShadowSessions {
    private static final Logger LOG = LoggerFactory.getLogger(ShadowSessions.class);
    private static final int EVENT_TRIGGER_SETTING_MAJOR = 17;
    private static final long RETRY_CEILING_MILLIS = 1000;

    /** invalid_authorization_specification: no such role, or it may not log in any more. */
    private static final String ROLE_PROBLEM = "28000";

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
                    + " -c default_transaction_deferrable=off -c role=none -c jit=off"
                    + " -c max_parallel_workers_per_gather=0 -c client_encoding=UTF8";

    private final ShadowCluster cluster;
    private final WalSender sender;
    private final Supplier<List<String>> roles;
    private volatile @Nullable String lastRole;

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
        SQLException refused = null;
        String known = lastRole;
        if (known != null) {
            try {
                return open(database, known);
            } catch (SQLException e) {
                refused = passOnUnlessRoleProblem(e);
            }
        }
        for (String role : roles.get()) {
            try {
                Connection session = open(database, role);
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

    private Connection open(String database, String role) throws SQLException {
        Path socket = cluster.socketDirectory().resolve(".s.PGSQL." + cluster.port());
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
        return DriverManager.getConnection("jdbc:postgresql:///", properties);
    }

    private void learnLocale(SQLException e) {
        Matcher locale = UNKNOWN_LOCALE.matcher(String.valueOf(e.getMessage()));
        if (locale.find() && cluster.addLocale(locale.group(1))) {
            LOG.info(
                    "this host lacks the locale {} of a source database; the shadow gets a"
                            + " stand-in and is restarted",
                    locale.group(1));
        }
    }

    /**
     * Waits until {@code lsn}, the published position, has been applied, reads in one read-only
     * transaction, and repeats the whole when the shadow restarted meanwhile. The caller publishes
     * nothing until this returns.
     *
     * @param stall gives up when there is no progress for so long
     * @throws RetryException with the last failure when it gives up
     */
    public <T> T read(long lsn, String database, Duration stall, Reading<T> reading)
            throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        long deadline = System.nanoTime() + stall.toNanos();
        while (true) {
            long connection = sender.awaitApplied(lsn, stall);
            SQLException failure;
            try {
                T result = readOnce(database, reading);
                if (sender.connectionNumber() == connection) {
                    return result;
                }
                failure = null;
            } catch (SQLException e) {
                failure = e;
            }
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

    private <T> T readOnce(String database, Reading<T> reading) throws SQLException {
        try (Connection session = open(database)) {
            session.setAutoCommit(false);
            try (Statement begin = session.createStatement()) {
                begin.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
            }
            T result = reading.read(session);
            session.rollback();
            return result;
        }
    }
}
