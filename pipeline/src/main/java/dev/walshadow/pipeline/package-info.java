/**
 * Committed transactions to ClickHouse rows: planner, decode workers, batches, inserters, and the
 * ledger that says how far everything is durable. Entry points: {@link
 * dev.walshadow.pipeline.Pipeline}, {@link dev.walshadow.pipeline.TargetTables}, {@link
 * dev.walshadow.pipeline.Quarantine}. This module alone knows both databases; it must not know
 * where WAL comes from, nor how a shadow is kept.
 */
@NullMarked
package dev.walshadow.pipeline;

import org.jspecify.annotations.NullMarked;
