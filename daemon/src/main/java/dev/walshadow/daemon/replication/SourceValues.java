package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.catalog.RelationDescriptor;
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
    private static final long RETRY_CEILING_MILLIS = 5_000;

    /** Where the followed databases are now. */
    interface Databases {
        Connection open(int oid) throws SQLException;

        /** Dropped, and every row with it. */
        boolean isGone(int oid);
    }

    private final Databases databases;
    private final Map<Integer, Connection> sessions = new HashMap<>();

    SourceValues(Databases databases) {
        this.databases = databases;
    }

    @Override
    public synchronized @Nullable List<@Nullable String> select(
            RelationDescriptor relation, Row row, List<Integer> columns)
            throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        while (true) {
            try {
                return ask(session(relation.databaseOid()), relation.oid(), row, columns);
            } catch (SQLException e) {
                if (databases.isGone(relation.databaseOid())) {
                    return null;
                }
                LOG.warn("the source cannot be asked for a value: {}; trying again", e.toString());
                forget(relation.databaseOid());
                backoff.pause();
            }
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

    /** By the names that the table and its columns have now, which need not be those of the WAL. */
    private static @Nullable List<@Nullable String> ask(
            Connection session, int relationOid, Row row, List<Integer> columns)
            throws SQLException {
        RelationDescriptor now = current(session, relationOid);
        while (now != null) {
            String condition = condition(now, row);
            if (condition == null) {
                return null;
            }
            List<@Nullable String> values = query(session, sql(now, condition, columns), columns);
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
    private static String sql(
            RelationDescriptor relation, String condition, List<Integer> columns) {
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

    private static String printed(@Nullable String column) {
        return column == null
                ? "NULL" // dropped meanwhile: nobody will see it
                : "CASE WHEN " + column + " IS NOT NULL THEN format('%s', " + column + ") END";
    }

    /** Null if the table no longer has the columns to find the row by. */
    private static @Nullable String condition(RelationDescriptor relation, Row row) {
        return switch (row) {
            case Key key -> condition(relation, key);
            case Place place -> condition(place);
        };
    }

    private static @Nullable String condition(RelationDescriptor relation, Key key) {
        List<String> conditions = new ArrayList<>();
        for (int i = 0; i < key.columns().size(); i++) {
            String column = column(relation, key.columns().get(i));
            if (column == null) {
                return null;
            }
            conditions.add(column + " = '" + key.values().get(i).replace("'", "''") + "'");
        }
        return String.join(" AND ", conditions);
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
