package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationName;

/**
 * One table as status displays show it.
 *
 * @param reason why it is held or quarantined, else empty
 * @param positionLsn where it was quarantined, else 0
 * @param baselineLsn high half of the versions of its initial load, 0 while there is none
 * @param rows rows sent and acknowledged since the start of the process, tombstones included
 * @param tombstones of these
 * @param discardedRows changes dropped since it was quarantined
 * @param lastCommitLsn commit position of the newest change decoded for it
 * @param lastCommitMicros its commit time, PostgreSQL epoch
 */
public record TableStatus(
        int databaseOid,
        int relationOid,
        RelationName name,
        String targetDatabase,
        String targetTable,
        TableState state,
        String reason,
        long positionLsn,
        long baselineLsn,
        long rows,
        long tombstones,
        long discardedRows,
        long lastCommitLsn,
        long lastCommitMicros) {}
