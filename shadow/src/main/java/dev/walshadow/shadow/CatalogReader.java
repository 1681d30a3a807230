package dev.walshadow.shadow;

import dev.walshadow.catalog.RelationDescriptor;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/**
 * Reads descriptors by SQL, from the source and from the shadow alike, with a constant number of
 * statements whatever the number of relations.
 */
@SuppressWarnings("DoNotCallSuggester")
public final class CatalogReader {
    /** All ordinary, partitioned, TOAST relations and materialized views that are not temporary. */
    public List<RelationDescriptor> readAll(Connection session) throws SQLException {
        throw new UnsupportedOperationException();
    }

    /**
     * The relations that these OIDs name. An index stands for its table, a TOAST relation for
     * itself and its owner, a table for itself and its TOAST relation. Absent ones are gone.
     */
    public List<RelationDescriptor> read(Connection session, int[] oids) throws SQLException {
        throw new UnsupportedOperationException();
    }

    public List<DatabaseInfo> databases(Connection session) throws SQLException {
        throw new UnsupportedOperationException();
    }

    public List<NamespaceInfo> namespaces(Connection session) throws SQLException {
        throw new UnsupportedOperationException();
    }

    /** Of the session's database, shared ones included: the filter's seed. */
    public List<RewrittenCatalog> rewrittenCatalogs(Connection session) throws SQLException {
        throw new UnsupportedOperationException();
    }

    /** The name of the bootstrap superuser (OID 10), which may have been renamed. */
    public String bootstrapRole(Connection session) throws SQLException {
        throw new UnsupportedOperationException();
    }
}
