package dev.walshadow.source;

import dev.walshadow.postgres.RelationLocator;

/**
 * A catalog whose storage has a relation number of the user range when the stream begins, as {@link
 * #QUERY} says in each database.
 *
 * @param locator with the real tablespace (the database's default where pg_class says 0)
 * @param catalogOid OID of the catalog, or of its index or TOAST table
 */
public record CatalogSeed(RelationLocator locator, int catalogOid) {
    /**
     * To run in every database: tablespace OID, database OID (0 for shared catalogs), relation
     * number, catalog OID.
     */
    public static final String QUERY =
            "select case when c.reltablespace = 0 then d.dattablespace else c.reltablespace end,"
                    + " case when c.relisshared then 0 else d.oid end,"
                    + " pg_relation_filenode(c.oid), c.oid"
                    + " from pg_catalog.pg_class c, pg_catalog.pg_database d"
                    + " where d.datname = pg_catalog.current_database() and c.oid < 16384"
                    + " and pg_catalog.pg_relation_filenode(c.oid) >= 16384";
}
