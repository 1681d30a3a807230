package dev.walshadow.source;

import dev.walshadow.postgres.RelationLocator;

/**
 * A catalog whose storage has a relation number of the user range when the stream begins, as {@code
 * select oid, pg_relation_filenode(oid) from pg_class where oid < 16384 and
 * pg_relation_filenode(oid) >= 16384} says in each database.
 *
 * @param locator with the real tablespace (the database's default where pg_class says 0)
 * @param catalogOid OID of the catalog, or of its index or TOAST table
 */
public record CatalogSeed(RelationLocator locator, int catalogOid) {}
