package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.replication.ConnectionSettings;
import java.nio.file.Path;
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
    private static final String POSITION =
            "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
                    + " ELSE pg_current_wal_insert_lsn() END";

    /** Of a page's header and of the longer one at a segment's start. */
    private static final int SHORT_PAGE_HEADER = 24;

    /** invalid_catalog_name. */
    private static final String NO_SUCH_DATABASE = "3D000";

    private static final int LONG_PAGE_HEADER = 40;
    private static final int PAGE = 8192;

    private static final String MODE_ARCHIVE = "archive";

    private final ConnectionSettings settings;

    /** Where there is no source but its archive: that; else empty. */
    private final String archive;

    private volatile Supplier<List<String>> names = List::of;

    public SourceDatabase(ConnectionSettings settings) {
        this(settings, "");
    }

    private SourceDatabase(ConnectionSettings settings, String archive) {
        this.settings = settings;
        this.archive = archive;
    }

    static boolean isArchive(Configuration configuration) {
        return configuration.get(Settings.SOURCE_MODE).equals(MODE_ARCHIVE);
    }

    /**
     * The server that has the catalogs of a backup; where it does not run any more, nobody answers.
     *
     * @throws ConfigurationException if the configuration does not say enough
     */
    static SourceDatabase ofSeed(Configuration configuration, Path sockets, int port, String role) {
        List<String> names = configuration.get(Settings.SOURCE_DATABASES);
        if (names.isEmpty()) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "[source] mode is archive: say in [source] databases which to follow");
        }
        String database =
                names.stream().filter(name -> !name.contains("*")).findFirst().orElse("postgres");
        String text =
                "host="
                        + quoted(sockets.toString())
                        + " port="
                        + port
                        + " user="
                        + quoted(role)
                        + " sslmode=disable dbname="
                        + quoted(database);
        return new SourceDatabase(
                ConnectionSettings.parse(text),
                configuration.find(Settings.BACKUP_URL).orElse("no archive"));
    }

    private static String quoted(String value) {
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }

    /** What nobody answers to where there is no source but its archive. */
    public static SourceDatabase orNobody(Configuration configuration) {
        return isArchive(configuration)
                ? ofSeed(configuration, Path.of("/nowhere"), 1, "nobody")
                : of(configuration);
    }

    /** Whether there is no source but its archive. */
    boolean isArchive() {
        return !archive.isEmpty();
    }

    /** For people, without secrets. */
    String name() {
        return isArchive() ? archive : settings.toString();
    }

    /** A session on whatever database there is. */
    Connection openAny() throws SQLException {
        try {
            return open("postgres");
        } catch (SQLException e) {
            return open("template1");
        }
    }

    /** With the password of {@code [source] password_file}, if that is set. */
    public static SourceDatabase of(Configuration configuration) {
        if (isArchive(configuration)) {
            throw new ConfigurationException(
                    DaemonCodes.NO_SOURCE,
                    "[source] mode is archive, so there is no source to be asked; to compare with"
                            + " it, give --source-mode=stream and --source-url");
        }
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
     * end: the server's insert position may lie behind a page header that no record follows yet. Of
     * a standby, what it has replayed.
     */
    public static long currentPosition(Connection session, int segmentSize) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(POSITION)) {
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
