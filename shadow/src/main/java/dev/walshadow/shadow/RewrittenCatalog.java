package dev.walshadow.shadow;

import dev.walshadow.postgres.RelationLocator;

/**
 * A system relation whose storage got a new number from VACUUM FULL, CLUSTER, REINDEX or a mapping
 * change: the filter keeps its records.
 *
 * @param relationOid below 16384
 * @param locator where it is stored now; its number is 16384 or above
 */
public record RewrittenCatalog(int relationOid, RelationLocator locator) {}
