/**
 * Reads base backups that wal-g put into an object store: sentinels, tar partitions, deltas.
 * Formats are those of wal-g ({@code internal/databases/postgres}, Apache-2.0); {@code
 * docs/backup.md}.
 */
@NullMarked
package dev.walshadow.bootstrap.walg;

import org.jspecify.annotations.NullMarked;
