/**
 * The client side of PostgreSQL's replication protocol: one connection setting for SQL and
 * replication ({@link dev.walshadow.source.replication.ConnectionSettings}), a small socket client
 * ({@link dev.walshadow.source.replication.ReplicationConnection}) and the live WAL source on top
 * of it ({@link dev.walshadow.source.replication.LiveWalSource}). Knows no WAL format: bytes and
 * positions only.
 */
@NullMarked
package dev.walshadow.source.replication;

import org.jspecify.annotations.NullMarked;
