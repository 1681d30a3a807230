package dev.walshadow.shadow;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.RelationLocator;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Reads descriptors by SQL, from the source and from the shadow alike, with a constant number of
 * statements whatever the number of relations. A read of relations runs in one read-only REPEATABLE
 * READ transaction, or in the caller's where autocommit is off (its settings for the text of values
 * then stay as set here until that transaction's end). Without state; thread safe.
 */
public final class CatalogReader {
    private static final int FETCH_ROWS = 5000;

    @FunctionalInterface
    private interface RowReader<T> {
        T read(ResultSet row) throws SQLException;
    }

    @FunctionalInterface
    private interface Work<T> {
        T run() throws SQLException;
    }

    /**
     * All ordinary and partitioned tables, materialized views and TOAST relations of the session's
     * database that are neither temporary nor PostgreSQL's own (OID below 16384).
     */
    public List<RelationDescriptor> readAll(Connection session) throws SQLException {
        return inTransaction(session, () -> relations(session, CatalogQueries.ALL_RELATIONS, null));
    }

    /**
     * The relations that these OIDs name. An index stands for its table, a TOAST relation for
     * itself and its owner, a table for itself and its TOAST relation. What is not returned is gone
     * (or temporary, or a relation without rows of its own).
     */
    public List<RelationDescriptor> read(Connection session, int[] oids) throws SQLException {
        String named = CatalogQueries.oidArray(oids);
        return inTransaction(
                session, () -> relations(session, CatalogQueries.NAMED_RELATIONS, named));
    }

    public List<DatabaseInfo> databases(Connection session) throws SQLException {
        return rows(session, CatalogQueries.DATABASES, CatalogReader::database);
    }

    public List<NamespaceInfo> namespaces(Connection session) throws SQLException {
        return rows(
                session,
                CatalogQueries.NAMESPACES,
                row -> new NamespaceInfo(oid(row, 1), string(row, 2)));
    }

    /** Of the session's database, shared ones included: the filter's seed. */
    public List<RewrittenCatalog> rewrittenCatalogs(Connection session) throws SQLException {
        return rows(
                session,
                CatalogQueries.REWRITTEN_CATALOGS,
                row ->
                        new RewrittenCatalog(
                                oid(row, 1),
                                new RelationLocator(oid(row, 2), oid(row, 3), oid(row, 4))));
    }

    /** The name of the bootstrap superuser (OID 10), which may have been renamed. */
    public String bootstrapRole(Connection session) throws SQLException {
        return rows(session, CatalogQueries.BOOTSTRAP_ROLE, row -> string(row, 1)).getFirst();
    }

    /** Superusers that may log in, the bootstrap one (OID 10) first if it is among them. */
    public List<String> superusers(Connection session) throws SQLException {
        return rows(session, CatalogQueries.SUPERUSERS, row -> string(row, 1));
    }

    private static List<RelationDescriptor> relations(
            Connection session, String sql, @Nullable String named) throws SQLException {
        CatalogAssembly assembly = new CatalogAssembly();
        each(session, sql, named, assembly::relation);
        String relations = assembly.relationOids();
        each(session, CatalogQueries.ATTRIBUTES, relations, assembly::attribute);
        each(session, CatalogQueries.KEYS, relations, assembly::key);
        each(session, CatalogQueries.TYPES, assembly.typeOids(), assembly::type);
        return assembly.build();
    }

    private static DatabaseInfo database(ResultSet row) throws SQLException {
        return new DatabaseInfo(
                oid(row, 1),
                string(row, 2),
                string(row, 3),
                oid(row, 4),
                row.getBoolean(5),
                row.getBoolean(6),
                string(row, 7),
                string(row, 8));
    }

    private static <T> T inTransaction(Connection session, Work<T> work) throws SQLException {
        if (!session.getAutoCommit()) {
            pinSettings(session);
            return work.run();
        }
        session.setAutoCommit(false);
        try {
            try (Statement begin = session.createStatement()) {
                begin.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
            }
            pinSettings(session);
            return work.run();
        } finally {
            session.rollback();
            session.setAutoCommit(true);
        }
    }

    private static void pinSettings(Connection session) throws SQLException {
        try (PreparedStatement set =
                session.prepareStatement("SELECT pg_catalog.set_config(?, ?, true)")) {
            for (int i = 0; i < CatalogQueries.SETTINGS.length; i += 2) {
                set.setString(1, CatalogQueries.SETTINGS[i]);
                set.setString(2, CatalogQueries.SETTINGS[i + 1]);
                set.execute();
            }
        }
    }

    @FunctionalInterface
    private interface RowSink {
        void accept(ResultSet row) throws SQLException;
    }

    private static void each(
            Connection session, String sql, @Nullable String parameter, RowSink sink)
            throws SQLException {
        try (PreparedStatement statement = session.prepareStatement(sql)) {
            statement.setFetchSize(FETCH_ROWS);
            if (parameter != null) {
                statement.setString(1, parameter);
            }
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    sink.accept(row);
                }
            }
        }
    }

    private static <T> List<T> rows(Connection session, String sql, RowReader<T> reader)
            throws SQLException {
        List<T> found = new ArrayList<>();
        each(session, sql, null, row -> found.add(reader.read(row)));
        return found;
    }

    static int oid(ResultSet row, int column) throws SQLException {
        return (int) row.getLong(column);
    }

    static String string(ResultSet row, int column) throws SQLException {
        return Objects.requireNonNull(row.getString(column), "the catalog column is not null");
    }
}
