package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.replication.ConnectionSettings;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Properties;
import java.util.function.Supplier;

/** SQL sessions on the source. Reads only. */
public final class SourceDatabase {
    /** Of a page's header and of the longer one at a segment's start. */
    private static final int SHORT_PAGE_HEADER = 24;

    /** invalid_catalog_name. */
    private static final String NO_SUCH_DATABASE = "3D000";

    private static final int LONG_PAGE_HEADER = 40;
    private static final int PAGE = 8192;

    private final ConnectionSettings settings;
    private volatile Supplier<List<String>> names = List::of;

    public SourceDatabase(ConnectionSettings settings) {
        this.settings = settings;
    }

    /** With the password of {@code [source] password_file}, if that is set. */
    public static SourceDatabase of(Configuration configuration) {
        ConnectionSettings settings =
                ConnectionSettings.parse(configuration.get(Settings.SOURCE_URL));
        return new SourceDatabase(
                configuration
                        .find(Settings.SOURCE_PASSWORD_FILE)
                        .map(file -> settings.withPassword(PasswordFiles.firstLine(file)))
                        .orElse(settings));
    }

    public ConnectionSettings settings() {
        return settings;
    }

    /** What else to connect to when the database of the url is not there under its name. */
    void useNames(Supplier<List<String>> newNames) {
        names = newNames;
    }

    /** A session on the database of the url, or on another if that has been renamed or dropped. */
    public Connection open() throws SQLException {
        try {
            return open(settings);
        } catch (SQLException e) {
            if (NO_SUCH_DATABASE.equals(e.getSQLState())) {
                for (String name : names.get()) {
                    try {
                        return open(name);
                    } catch (SQLException other) {
                        e.addSuppressed(other);
                    }
                }
            }
            throw e;
        }
    }

    /**
     * The same, for a question that is asked once: neither the connection nor an answer is waited
     * for beyond the deadline.
     */
    Connection openUntil(long deadlineNanos) throws SQLException {
        long left = Math.max(1, (deadlineNanos - System.nanoTime()) / 1_000_000);
        int millis = (int) Math.min(left, settings.connectTimeoutMillis());
        Properties properties = settings.jdbcProperties();
        properties.setProperty("loginTimeout", Double.toString(millis / 1000.0));
        properties.setProperty("connectTimeout", Integer.toString(millis / 1000 + 1));
        properties.setProperty("socketTimeout", Integer.toString(millis / 1000 + 1));
        Connection session = open(settings, properties);
        session.setNetworkTimeout(
                Runnable::run,
                (int) Math.max(1, Math.min(left, (deadlineNanos - System.nanoTime()) / 1_000_000)));
        return session;
    }

    private static Connection open(ConnectionSettings to) throws SQLException {
        return open(to, to.jdbcProperties());
    }

    /** Rows that row-level security would hide are an error: they must not look deleted. */
    private static Connection open(ConnectionSettings to, Properties properties)
            throws SQLException {
        Connection session = DriverManager.getConnection(to.jdbcUrl(), properties);
        try (Statement statement = session.createStatement()) {
            statement.execute("SET row_security = off");
            return session;
        } catch (SQLException e) {
            session.close();
            throw e;
        }
    }

    /** A session on another database of the same server. */
    public Connection open(String database) throws SQLException {
        return open(settings.withDatabase(database));
    }

    /** Opens for preflight: a failure is one message with its remedy. */
    public Connection openOrExplain() {
        try {
            return open();
        } catch (SQLException e) {
            throw new ConfigurationException(
                    DaemonCodes.SOURCE_UNREACHABLE,
                    "the source "
                            + settings
                            + " cannot be used: "
                            + e.getMessage()
                            + "; check [source] url, the password and pg_hba.conf",
                    e);
        }
    }

    /**
     * The WAL position behind everything that has committed by now, brought to where a record can
     * end: the server's insert position may lie behind a page header that no record follows yet.
     */
    public static long currentPosition(Connection session, int segmentSize) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_current_wal_insert_lsn()")) {
            row.next();
            return recordEnd(Lsn.parse(row.getString(1)), segmentSize);
        }
    }

    /** Whether data pages have checksums. */
    static boolean hasChecksums(Connection session) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SHOW data_checksums")) {
            row.next();
            return row.getString(1).equals("on");
        }
    }

    /** Now, in microseconds since 2000-01-01 UTC. */
    static long postgresMicrosNow() {
        return ChronoUnit.MICROS.between(Instant.parse("2000-01-01T00:00:00Z"), Instant.now());
    }

    static long recordEnd(long lsn, int segmentSize) {
        long inPage = lsn % PAGE;
        long inSegment = lsn & (segmentSize - 1L);
        int header = inSegment < PAGE ? LONG_PAGE_HEADER : SHORT_PAGE_HEADER;
        return inPage <= header ? lsn - inPage : lsn;
    }
}
