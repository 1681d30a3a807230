package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.pipeline.PipelineCodes;
import dev.walshadow.pipeline.SourceLookup;
import dev.walshadow.shadow.CatalogReader;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the source for single values, over one session per database that is kept while it works.
 * Thread safe; one question at a time.
 */
final class SourceValues implements SourceLookup {
    private static final Logger LOG = LoggerFactory.getLogger(SourceValues.class);
    private static final String INSUFFICIENT_PRIVILEGE = "42501";
    private static final String PROGRAM_LIMIT_EXCEEDED = "54000";
    private static final long RETRY_CEILING_MILLIS = 5_000;
    private static final long VISIBLE_CEILING_MILLIS = 1_000;

    /** Where the followed databases are now. */
    interface Databases {
        Connection open(int oid) throws SQLException;

        /** Dropped, and every row with it. */
        boolean isGone(int oid);
    }

    /** In front of a bytea's digits. */
    private static final int HEX_PREFIX = 2;

    private final Databases databases;
    private final int valueBytes;
    private final Map<Integer, Connection> sessions = new HashMap<>();
    private volatile @Nullable String waits;

    /**
     * @param valueBytes the largest value that is asked for
     */
    SourceValues(Databases databases, int valueBytes) {
        this.databases = databases;
        this.valueBytes = valueBytes;
    }

    @Override
    public synchronized @Nullable List<@Nullable String> select(
            RelationDescriptor relation, Place place, List<Integer> columns)
            throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        while (true) {
            try {
                Connection session = session(relation.databaseOid());
                List<@Nullable String> found = ask(session, relation.oid(), place, columns);
                if (found == null) {
                    awaitVisible(session, place.topXid());
                    found = ask(session, relation.oid(), place, columns);
                }
                waits = null;
                return found;
            } catch (SQLException e) {
                if (isUnprintable(e)) {
                    throw new QuarantineException(
                            PipelineCodes.OLD_VALUE_MISSING,
                            "the change leaves a toasted column of "
                                    + relation.label()
                                    + " unchanged, ClickHouse does not have its value, and the"
                                    + " source cannot print it: "
                                    + e.getMessage()
                                    + "; load the table anew",
                            e);
                }
                if (databases.isGone(relation.databaseOid())) {
                    waits = null;
                    return null;
                }
                String reason = reason(relation, e);
                waits = reason;
                LOG.warn("{}; trying again", reason);
                forget(relation.databaseOid());
                backoff.pause();
            }
        }
    }

    /** PostgreSQL prints no more than 1 GB: no bytea of more than 512 MB, say. */
    private static boolean isUnprintable(SQLException failure) {
        return PROGRAM_LIMIT_EXCEEDED.equals(failure.getSQLState())
                || String.valueOf(failure.getMessage())
                        .contains("invalid memory alloc request size");
    }

    /** Why an answer of the source is waited for; null while none is missing. */
    @Nullable String waits() {
        return waits;
    }

    private String reason(RelationDescriptor relation, SQLException failure) {
        if (!INSUFFICIENT_PRIVILEGE.equals(failure.getSQLState())) {
            return "the source cannot be asked for a value of "
                    + relation.label()
                    + ": "
                    + failure.getMessage();
        }
        String schema = identifier(relation.name().schema());
        String role = role(relation.databaseOid());
        return DaemonCodes.SOURCE_RIGHTS
                + " an UPDATE left values of "
                + relation.label()
                + " unchanged, and the source does not let its role read them: "
                + failure.getMessage()
                + "; run GRANT USAGE ON SCHEMA "
                + schema
                + " TO "
                + role
                + "; GRANT SELECT ON "
                + schema
                + "."
                + identifier(relation.name().name())
                + " TO "
                + role
                + ", and with row-level security ALTER ROLE "
                + role
                + " BYPASSRLS";
    }

    private String role(int database) {
        try {
            Connection open = sessions.get(database);
            return open == null ? "walshadow" : identifier(open.getMetaData().getUserName());
        } catch (SQLException e) {
            return "walshadow";
        }
    }

    private Connection session(int database) throws SQLException {
        Connection open = sessions.get(database);
        if (open == null) {
            open = databases.open(database);
            sessions.put(database, open);
        }
        return open;
    }

    /** A commit waits for synchronous standbys, say, before other sessions see it. */
    private static void awaitVisible(Connection session, int xid)
            throws SQLException, InterruptedException {
        Backoff backoff = new Backoff(VISIBLE_CEILING_MILLIS);
        while (isRunning(session, xid)) {
            backoff.pause();
        }
    }

    /** Differences of transaction ids are circular. */
    private static boolean isRunning(Connection session, int xid) throws SQLException {
        String sql =
                """
                SELECT (%1$d::bigint - pg_snapshot_xmax(s)::text::bigint) & 4294967295 < 2147483648
                    OR EXISTS (SELECT FROM pg_snapshot_xip(s) x
                        WHERE (%1$d::bigint - x::text::bigint) & 4294967295 = 0)
                FROM pg_current_snapshot() s\
                """
                        .formatted(xid);
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getBoolean(1);
        }
    }

    /** By the names that the table and its columns have now, which need not be those of the WAL. */
    private @Nullable List<@Nullable String> ask(
            Connection session, int relationOid, Place place, List<Integer> columns)
            throws SQLException {
        RelationDescriptor now = current(session, relationOid);
        while (now != null) {
            String sql = sql(now, condition(place), columns);
            List<@Nullable String> values = query(session, sql, columns);
            RelationDescriptor after = values != null ? now : current(session, relationOid);
            if (values != null || (after != null && after.name().equals(now.name()))) {
                return values;
            }
            now = after; // it was renamed in between
        }
        return null;
    }

    private static @Nullable RelationDescriptor current(Connection session, int oid)
            throws SQLException {
        for (RelationDescriptor found : new CatalogReader().read(session, new int[] {oid})) {
            if (found.oid() == oid) {
                return found;
            }
        }
        return null;
    }

    private static @Nullable List<@Nullable String> query(
            Connection session, String sql, List<Integer> columns) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            if (!row.next()) {
                return null;
            }
            List<@Nullable String> values = new ArrayList<>(columns.size());
            for (int i = 1; i <= columns.size(); i++) {
                values.add(row.getString(i));
            }
            return values;
        }
    }

    private void forget(int database) {
        Connection old = sessions.remove(database);
        if (old != null) {
            try {
                old.close();
            } catch (SQLException e) {
                LOG.debug("closing a broken session: {}", e.toString());
            }
        }
    }

    /** format('%s') prints by the type's output function, where a cast to text may not. */
    private String sql(RelationDescriptor relation, String condition, List<Integer> columns) {
        String selected =
                columns.stream()
                        .map(number -> printed(column(relation, number)))
                        .collect(Collectors.joining(", "));
        return "SELECT "
                + selected
                + " FROM ONLY "
                + identifier(relation.name().schema())
                + "."
                + identifier(relation.name().name())
                + " WHERE tableoid = "
                + Integer.toUnsignedString(relation.oid())
                + " AND "
                + condition;
    }

    /** A value beyond the limit is newer than what is asked for: it comes through the stream. */
    private String printed(@Nullable String column) {
        if (column == null) {
            return "NULL"; // dropped meanwhile: nobody will see it
        }
        String text = "format('%s', " + column + ")";
        return "CASE WHEN "
                + column
                + " IS DISTINCT FROM NULL AND pg_column_size("
                + column
                + ") <= "
                + valueBytes
                + " AND octet_length("
                + text
                + ") <= "
                + (2L * valueBytes + HEX_PREFIX)
                + " THEN "
                + text
                + " END";
    }

    private static String condition(Place place) {
        return "ctid = '(%d,%d)' AND xmin = '%s'"
                .formatted(
                        place.tid() >>> 16,
                        place.tid() & 0xFFFF,
                        Integer.toUnsignedString(place.xid()));
    }

    /** Quoted; null if it was dropped. */
    private static @Nullable String column(RelationDescriptor relation, int number) {
        return relation.attributes().stream()
                .filter(attribute -> attribute.number() == number && !attribute.dropped())
                .map(attribute -> identifier(attribute.name()))
                .findFirst()
                .orElse(null);
    }

    private static String identifier(String name) {
        return "\"" + name.replace("\"", "\"\"") + "\"";
    }
}
