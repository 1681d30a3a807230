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

/**
 * Reads descriptors by SQL, from the source and from the shadow alike, with a constant number of
 * statements whatever the number of relations; {@link #read} takes one round trip. A read of
 * relations runs in one read-only REPEATABLE READ transaction, or in the caller's where autocommit
 * is off (its settings for the text of values then stay as set here until that transaction's end).
 * Without changing state; thread safe.
 */
public final class CatalogReader {
    private static final int FETCH_ROWS = 5000;

    private final boolean namesDatabase;

    /** For one database: relations' names go without it. */
    public CatalogReader() {
        this(false);
    }

    /**
     * @param namesDatabase relations' names have their database
     */
    public CatalogReader(boolean namesDatabase) {
        this.namesDatabase = namesDatabase;
    }

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
        return inTransaction(session, () -> everyRelation(session));
    }

    /**
     * The relations that these OIDs name. An index stands for its table, a TOAST relation for
     * itself and its owner, a table for itself and its TOAST relation. What is not returned is gone
     * (or temporary, or a relation without rows of its own).
     */
    public List<RelationDescriptor> read(Connection session, int[] oids) throws SQLException {
        return inTransaction(session, () -> namedRelations(session, oids));
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

    /** Of the session's database, those of users' tables. */
    public List<IndexInfo> indexes(Connection session) throws SQLException {
        return rows(
                session, CatalogQueries.INDEXES, row -> new IndexInfo(oid(row, 1), oid(row, 2)));
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

    /** A statement's body, how many columns it has, and who takes its rows. */
    private record Body(String sql, int columns, RowSink sink) {}

    private static List<Body> bodies(CatalogAssembly assembly) {
        return List.of(
                new Body(CatalogQueries.RELATIONS, 15, assembly::relation),
                new Body(CatalogQueries.ATTRIBUTES, 14, assembly::attribute),
                new Body(CatalogQueries.KEYS, 5, assembly::key),
                new Body(CatalogQueries.TYPES, 18, assembly::type),
                new Body(CatalogQueries.ENUM_LABELS, 3, assembly::enumLabel),
                new Body(CatalogQueries.ROW_ATTRIBUTES, 14, assembly::typeAttribute));
    }

    /** What {@link #namedRelations} asks; the same for every read, so that it is prepared once. */
    private static final String NAMED_RELATIONS = namedRelationsText();

    private static String namedRelationsText() {
        List<Body> bodies = bodies(new CatalogAssembly(false));
        return CatalogQueries.PIN_SETTINGS
                + ";\n"
                + CatalogQueries.PIN_PLANS
                + ";\n"
                + CatalogQueries.union(
                        bodies.stream().map(Body::sql).toList(),
                        bodies.stream().mapToInt(Body::columns).toArray());
    }

    /** One statement after the other, since a database's whole catalog is not for memory. */
    private List<RelationDescriptor> everyRelation(Connection session) throws SQLException {
        try (Statement pin = session.createStatement()) {
            pin.execute(CatalogQueries.PIN_SETTINGS);
        }
        CatalogAssembly assembly = new CatalogAssembly(namesDatabase);
        for (Body body : bodies(assembly)) {
            String sql = CatalogQueries.ALL + CatalogQueries.NEEDED + body.sql();
            each(session, sql, body.sink());
        }
        return assembly.build();
    }

    /** One text: the driver sends its statements together and prepares each once. */
    private List<RelationDescriptor> namedRelations(Connection session, int[] oids)
            throws SQLException {
        CatalogAssembly assembly = new CatalogAssembly(namesDatabase);
        List<Body> bodies = bodies(assembly);
        try (PreparedStatement statement = session.prepareStatement(NAMED_RELATIONS)) {
            statement.setString(1, CatalogQueries.oidArray(oids));
            statement.execute();
            statement.getMoreResults();
            if (!statement.getMoreResults()) {
                throw new SQLException("the catalog statement gave no rows, not even none");
            }
            int last = 0;
            try (ResultSet row = statement.getResultSet()) {
                while (row.next()) {
                    int body = row.getInt(CatalogQueries.COLUMNS + 1);
                    if (body < last) {
                        throw new SQLException("the catalog statement's rows are out of order");
                    }
                    last = body;
                    bodies.get(body).sink().accept(row);
                }
            }
        }
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
            return work.run();
        }
        session.setAutoCommit(false);
        try {
            try (Statement begin = session.createStatement()) {
                begin.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
            }
            return work.run();
        } finally {
            session.rollback();
            session.setAutoCommit(true);
        }
    }

    @FunctionalInterface
    private interface RowSink {
        void accept(ResultSet row) throws SQLException;
    }

    private static void each(Connection session, String sql, RowSink sink) throws SQLException {
        try (PreparedStatement statement = session.prepareStatement(sql)) {
            statement.setFetchSize(FETCH_ROWS);
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
        each(session, sql, row -> found.add(reader.read(row)));
        return found;
    }

    static int oid(ResultSet row, int column) throws SQLException {
        return (int) row.getLong(column);
    }

    static String string(ResultSet row, int column) throws SQLException {
        return Objects.requireNonNull(row.getString(column), "the catalog column is not null");
    }
}
