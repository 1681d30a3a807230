/**
 * From the pages of a base backup to baseline rows: which tuple versions existed at the backup's
 * start ({@link dev.walshadow.bootstrap.load.BackupTransactions}, {@link
 * dev.walshadow.bootstrap.load.PageWalker}), which wait for their transactions' end ({@link
 * dev.walshadow.bootstrap.load.DeferredStore}), TOAST values whatever the order of files ({@link
 * dev.walshadow.bootstrap.load.ToastStore}). Knows nothing of ClickHouse. Reasoning: {@code
 * docs/bootstrap.md}.
 */
@NullMarked
package dev.walshadow.bootstrap.load;

import org.jspecify.annotations.NullMarked;
