/**
 * The shadow: a PostgreSQL beside the daemon that replays only the catalog part of the source's
 * WAL. {@link dev.walshadow.shadow.WalSender} feeds it, {@link dev.walshadow.shadow.ShadowCluster}
 * runs it, {@link dev.walshadow.shadow.ShadowSessions} and {@link
 * dev.walshadow.shadow.CatalogReader} read it. Knows nothing of ClickHouse, of the filter or of
 * where the WAL comes from.
 */
@NullMarked
package dev.walshadow.shadow;

import org.jspecify.annotations.NullMarked;
