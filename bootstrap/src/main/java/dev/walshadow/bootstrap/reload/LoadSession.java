package dev.walshadow.bootstrap.reload;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.SourceSnapshot;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.shadow.CatalogReader;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyOut;

/** One session on the followed database, set up so that values arrive as they are stored. */
final class LoadSession implements AutoCloseable {
    private static final String UNDEFINED_TABLE = "42P01";
    private static final String INVALID_SCHEMA_NAME = "3F000";
    private static final String WRONG_OBJECT_TYPE = "42809";
    private static final String LOCK_NOT_AVAILABLE = "55P03";
    private static final String DEADLOCK_DETECTED = "40P01";

    /** The table is not there under this name, or could not be locked in time. */
    private static final Set<String> TRY_AGAIN =
            Set.of(
                    UNDEFINED_TABLE,
                    INVALID_SCHEMA_NAME,
                    WRONG_OBJECT_TYPE,
                    LOCK_NOT_AVAILABLE,
                    DEADLOCK_DETECTED);

    /**
     * Rows that row security would hide are an error. No timeouts: under back-pressure a load may
     * last. The text of values as elsewhere (see CatalogReader). Settings that this version does
     * not know are left out.
     */
    private static final String SET_UP =
            """
            SELECT pg_catalog.set_config(v.name, v.value, false)
            FROM (VALUES
                ('search_path', 'pg_catalog'),
                ('row_security', 'off'),
                ('statement_timeout', '0'),
                ('transaction_timeout', '0'),
                ('idle_in_transaction_session_timeout', '0'),
                ('datestyle', 'ISO, MDY'),
                ('intervalstyle', 'postgres'),
                ('timezone', 'UTC'),
                ('extra_float_digits', '1'),
                ('bytea_output', 'hex'),
                ('lc_monetary', 'C'),
                ('jit', 'off'),
                ('max_parallel_workers_per_gather', '0')) v(name, value)
            WHERE EXISTS (SELECT 1 FROM pg_catalog.pg_settings s
                          WHERE lower(s.name) = v.name)\
            """;

    private static final String NAME =
            """
            SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
            JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = ?::pg_catalog.int8::pg_catalog.oid\
            """;

    /**
     * 1 the snapshot, 2 the insert position, 3 microseconds since 2000, 4 whether the locked name
     * is the wanted table, 5 its rows by the statistics. The snapshot is taken before the statement
     * runs, so the insert position lies behind it. A standby's snapshot does not list who is
     * running, so that is asked of each; its position is that of the replay, which must stand
     * still.
     */
    private static final String SNAPSHOT =
            """
            SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_snapshot()::text
                   ELSE (SELECT pg_snapshot_xmin(s) || ':' || pg_snapshot_xmax(s) || ':'
                                || coalesce((SELECT string_agg(x::text, ',')
                                             FROM generate_series(
                                                    pg_snapshot_xmin(s)::text::int8,
                                                    pg_snapshot_xmax(s)::text::int8 - 1) x
                                             WHERE pg_xact_status(x::text::xid8) = 'in progress'),
                                            '')
                         FROM pg_current_snapshot() s) END,
                   CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                   ELSE pg_current_wal_insert_lsn() END,
                   (extract(epoch FROM clock_timestamp() - timestamptz '2000-01-01 00:00+00')
                    * 1000000)::int8,
                   EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                           WHERE n.nspname = ? AND c.relname = ? AND c.oid = ?::int8::oid),
                   coalesce((SELECT reltuples FROM pg_class WHERE oid = ?::int8::oid), -1)::int8\
            """;

    /** Transactions that have committed but stay invisible until a standby answers. */
    private static final String WAITING_FOR_STANDBY =
            """
            SELECT backend_xid::text::int8 FROM pg_stat_activity
            WHERE wait_event = 'SyncRep' AND backend_xid IS NOT NULL\
            """;

    private static final String LABELS =
            """
            SELECT enumtypid::int8, oid::int8, textsend(enumlabel::text), xmin::text
            FROM pg_enum WHERE enumtypid = ANY (?::oid[]) ORDER BY oid\
            """;

    private static final String STORED_ENCODING =
            "SELECT set_config('client_encoding', getdatabaseencoding()::text, true)";

    private static final String BLOCKS =
            "SELECT pg_relation_size(?::int8::oid) / current_setting('block_size')::int8";

    /** Types that a cast to text does not print by their output function. */
    private static final String CASTS =
            """
            SELECT castsource::regtype::text FROM pg_cast
            WHERE casttarget = 25 AND castmethod <> 'i' AND castsource = ANY (?::oid[])\
            """;

    /**
     * @param rows -1 if unknown
     */
    record Snapshot(SourceSnapshot visible, long micros, boolean sameTable, long rows) {
        /** Whether the snapshot takes one of these for running. */
        boolean hidesAny(Set<Long> xids) {
            return xids.stream().anyMatch(xid -> visible.hides(xid.intValue()));
        }
    }

    /**
     * A row of pg_enum.
     *
     * @param text its OID and the xid that wrote it: unchanged, the row is
     */
    record EnumLabel(int typeOid, EnumLabels.Label stored, String text) {}

    private final TableLoad.Sessions sessions;
    private final Connection connection;
    private @Nullable ViewLock viewLock;
    private boolean broken;

    private LoadSession(TableLoad.Sessions sessions, Connection connection) {
        this.sessions = sessions;
        this.connection = connection;
    }

    static LoadSession open(TableLoad.Sessions sessions) throws SQLException {
        LoadSession session = new LoadSession(sessions, sessions.open());
        boolean ready = false;
        try {
            session.connection.setAutoCommit(true);
            try (Statement statement = session.connection.createStatement()) {
                statement.execute(SET_UP);
            }
            ready = true;
            return session;
        } finally {
            if (!ready) {
                session.abort();
            }
        }
    }

    /** Outside any transaction; null if there is no such table. */
    @Nullable RelationName name(int oid) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(NAME)) {
            statement.setLong(1, Integer.toUnsignedLong(oid));
            try (ResultSet row = statement.executeQuery()) {
                return row.next() ? new RelationName(text(row, 1), text(row, 2)) : null;
            }
        }
    }

    /** Xids without epoch; outside any transaction. */
    Set<Long> waitingForStandby() throws SQLException {
        Set<Long> xids = new HashSet<>();
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(WAITING_FOR_STANDBY)) {
            while (row.next()) {
                xids.add(row.getLong(1));
            }
        }
        return xids;
    }

    /**
     * Begins the transaction and locks the table before there is a snapshot; false if the table
     * could not be had. Neither statement takes one (PlannedStmtRequiresSnapshot, pquery.c).
     */
    boolean lock(RelationName name, int timeoutMillis) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
            statement.execute("SET LOCAL lock_timeout = " + timeoutMillis);
            statement.execute(CopySql.lock(name));
            statement.execute("SET LOCAL lock_timeout = 0");
            return true;
        } catch (SQLException e) {
            if (TRY_AGAIN.contains(e.getSQLState())) {
                return false;
            }
            throw e;
        }
    }

    /**
     * The same with the snapshot that another session has exported, which holds the table's lock,
     * so that the name stays the table's.
     */
    boolean share(String snapshot, RelationDescriptor table, int timeoutMillis)
            throws SQLException {
        if (!lock(table.name(), timeoutMillis)) {
            return false;
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET TRANSACTION SNAPSHOT '" + snapshot + "'");
        }
        return true;
    }

    /** For {@link #share} while this session's transaction lasts. */
    String exportSnapshot() throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_export_snapshot()")) {
            row.next();
            return text(row, 1);
        }
    }

    /** Of the main fork. */
    long blocks(int oid) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(BLOCKS)) {
            statement.setLong(1, Integer.toUnsignedLong(oid));
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    /**
     * The same for a materialized view.
     *
     * @return null if the view could not be had; false if it has no content that could be read
     */
    @Nullable Boolean lockView(RelationName name, int timeoutMillis) throws SQLException {
        ViewLock lock = viewLock;
        if (lock == null) {
            lock = ViewLock.open(sessions);
            viewLock = lock;
        }
        boolean readable;
        try {
            readable = lock.take(name, timeoutMillis);
        } catch (SQLException e) {
            if (TRY_AGAIN.contains(e.getSQLState())) {
                return null;
            }
            throw e;
        }
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        }
        return readable;
    }

    Snapshot snapshot(RelationName name, int oid) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(SNAPSHOT)) {
            statement.setString(1, name.schema());
            statement.setString(2, name.name());
            statement.setLong(3, Integer.toUnsignedLong(oid));
            statement.setLong(4, Integer.toUnsignedLong(oid));
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                String[] parts = text(row, 1).split(":", -1);
                String[] running = parts[2].isEmpty() ? new String[0] : parts[2].split(",", -1);
                int[] inProgress = new int[running.length];
                for (int i = 0; i < running.length; i++) {
                    inProgress[i] = xid(running[i]);
                }
                return new Snapshot(
                        new SourceSnapshot(xid(parts[1]), inProgress, Lsn.parse(text(row, 2))),
                        row.getLong(3),
                        row.getBoolean(4),
                        row.getLong(5));
            }
        }
    }

    private static String text(ResultSet row, int column) throws SQLException {
        return Objects.requireNonNull(row.getString(column), "the column is not null");
    }

    /** Without the epoch. */
    private static int xid(String full) {
        return (int) Long.parseUnsignedLong(full);
    }

    /** The table as it is under the lock; null if it is gone. */
    @Nullable RelationDescriptor shape(int oid) throws SQLException {
        for (RelationDescriptor found : new CatalogReader().read(connection, new int[] {oid})) {
            if (found.oid() == oid) {
                return found;
            }
        }
        return null;
    }

    /**
     * From now to the transaction's end text arrives as it is stored: in the database's encoding,
     * which is returned. The driver goes on to send statements in UTF-8.
     */
    String useStoredEncoding() throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(STORED_ENCODING)) {
            row.next();
            return text(row, 1);
        }
    }

    /** All labels of these enums, in the client's encoding. */
    List<EnumLabel> labels(Set<Integer> types) throws SQLException {
        List<EnumLabel> labels = new ArrayList<>();
        if (types.isEmpty()) {
            return labels;
        }
        try (PreparedStatement statement = connection.prepareStatement(LABELS)) {
            statement.setString(1, oids(types));
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    byte[] label = Objects.requireNonNull(row.getBytes(3));
                    labels.add(
                            new EnumLabel(
                                    (int) row.getLong(1),
                                    new EnumLabels.Label((int) row.getLong(2), label),
                                    row.getString(2) + " " + row.getString(4)));
                }
            }
        }
        return labels;
    }

    /** Those of the types whose cast to text is not their output function. */
    List<String> otherCasts(Set<Integer> types) throws SQLException {
        List<String> found = new ArrayList<>();
        if (types.isEmpty()) {
            return found;
        }
        try (PreparedStatement statement = connection.prepareStatement(CASTS)) {
            statement.setString(1, oids(types));
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    found.add(text(row, 1));
                }
            }
        }
        return found;
    }

    private static String oids(Set<Integer> types) {
        StringBuilder text = new StringBuilder("{");
        for (int oid : new TreeSet<>(types)) {
            text.append(text.length() == 1 ? "" : ",").append(Integer.toUnsignedLong(oid));
        }
        return text.append('}').toString();
    }

    CopyOut copy(String sql) throws SQLException {
        broken = true;
        return connection.unwrap(PGConnection.class).getCopyAPI().copyOut(sql);
    }

    /** The copy has been read to its end: the session can go on. */
    void copied() {
        broken = false;
    }

    /** Ends the transaction and with it the lock. */
    void rollback() throws SQLException {
        connection.rollback();
        connection.setAutoCommit(true);
        if (viewLock != null) {
            viewLock.release();
        }
    }

    private void abort() throws SQLException {
        connection.abort(Runnable::run);
    }

    /** A session with an unfinished copy is cut off: the server sees its client gone. */
    @Override
    public void close() throws SQLException {
        if (viewLock != null) {
            viewLock.close();
        }
        if (broken) {
            abort();
        } else {
            connection.close();
        }
    }
}
