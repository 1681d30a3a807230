/**
 * Raw WAL records per transaction until its commit: arenas in bounded memory, spill files, joining
 * of subtransactions, TOAST chunks of the same transaction. Entry point {@link
 * dev.walshadow.transaction.TransactionBuffer}; what comes out is {@link
 * dev.walshadow.transaction.CommittedChanges}. Decodes no tuple and knows no target.
 */
@NullMarked
package dev.walshadow.transaction;

import org.jspecify.annotations.NullMarked;
