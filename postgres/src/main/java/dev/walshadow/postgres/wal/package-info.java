/**
 * The write-ahead log of PostgreSQL 15-18, pure: layouts of pages and records, the flyweight over
 * one record ({@link dev.walshadow.postgres.wal.WalRecord}), typed views over the payloads that
 * walshadow needs, restoring of block images and rewriting of records. Knows nothing of where the
 * bytes come from or go to.
 */
@NullMarked
package dev.walshadow.postgres.wal;

import org.jspecify.annotations.NullMarked;
