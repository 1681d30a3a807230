package dev.walshadow.source.replication;

/**
 * A permanent physical slot.
 *
 * @param created made by this call
 * @param restartLsn the source keeps WAL from here on
 */
public record SlotState(boolean created, long restartLsn) {}
