/**
 * Reads object stores: backups and archived WAL that a backup tool put there. {@code
 * docs/backup.md}.
 */
@NullMarked
package dev.walshadow.source.store;

import org.jspecify.annotations.NullMarked;
