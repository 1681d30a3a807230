package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.SourceLookup;
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

    private final FollowedDatabases databases;
    private final Map<Integer, Connection> sessions = new HashMap<>();

    SourceValues(FollowedDatabases databases) {
        this.databases = databases;
    }

    @Override
    public synchronized @Nullable List<@Nullable String> select(
            RelationDescriptor relation, Row row, List<Integer> columns)
            throws InterruptedException {
        String sql = sql(relation, row, columns);
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        while (true) {
            try {
                return ask(relation.databaseOid(), sql, columns.size());
            } catch (SQLException e) {
                if (databases.name(relation.databaseOid()) == null) {
                    return null; // and so is every row that was in it
                }
                LOG.warn("the source cannot be asked for a value: {}; trying again", e.toString());
                forget(relation.databaseOid());
                backoff.pause();
            }
        }
    }

    private @Nullable List<@Nullable String> ask(int database, String sql, int count)
            throws SQLException {
        Connection open = sessions.get(database);
        if (open == null) {
            open = databases.open(database);
            sessions.put(database, open);
        }
        try (Statement statement = open.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            if (!row.next()) {
                return null;
            }
            List<@Nullable String> values = new ArrayList<>(count);
            for (int i = 1; i <= count; i++) {
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
    private static String sql(RelationDescriptor relation, Row row, List<Integer> columns) {
        String selected =
                columns.stream()
                        .map(number -> identifier(name(relation, number)))
                        .map(c ->
                                "CASE WHEN " + c + " IS NOT NULL THEN format('%s', " + c + ") END")
                        .collect(Collectors.joining(", "));
        String condition =
                switch (row) {
                    case Key key -> condition(relation, key);
                    case Place place -> condition(place);
                };
        return "SELECT "
                + selected
                + " FROM ONLY "
                + identifier(relation.name().schema())
                + "."
                + identifier(relation.name().name())
                + " WHERE "
                + condition;
    }

    private static String condition(RelationDescriptor relation, Key key) {
        List<String> conditions = new ArrayList<>();
        for (int i = 0; i < key.columns().size(); i++) {
            String literal = "'" + key.values().get(i).replace("'", "''") + "'";
            conditions.add(identifier(name(relation, key.columns().get(i))) + " = " + literal);
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

    private static String name(RelationDescriptor relation, int number) {
        return relation.attributes().stream()
                .filter(attribute -> attribute.number() == number)
                .map(AttributeDescriptor::name)
                .findFirst()
                .orElseThrow();
    }

    private static String identifier(String name) {
        return "\"" + name.replace("\"", "\"\"") + "\"";
    }
}
