package dev.walshadow.pipeline;

import dev.walshadow.base.MemoryBudget;
import dev.walshadow.clickhouse.ClickHouseClient;
import org.jspecify.annotations.Nullable;

/**
 * What the pieces of one pipeline share.
 *
 * @param stream ledger of committed transactions: the watermark
 * @param baseline ledger of the initial load, apart so that neither waits for the other
 * @param queueMemory bounds planned, not yet decoded records
 * @param batchMemory bounds open and sealed batches
 * @param gate shut while ClickHouse is to be left alone
 * @param mirror null: the chunks of TOAST relations are not kept
 * @param progress called after durable progress, outside of locks
 */
record Services(
        PipelineOptions options,
        ClickHouseClient client,
        AckLedger stream,
        AckLedger baseline,
        MemoryBudget queueMemory,
        MemoryBudget batchMemory,
        PipelineMetrics metrics,
        PipelineEvents events,
        TableFailures failures,
        TargetReachability reachability,
        FatalFailure fatal,
        Runnable progress,
        @Nullable SourceLookup lookup,
        BaselineToast baselineToast,
        RecentValues recentValues,
        @Nullable ChunkMirror mirror,
        TargetDdl ddl,
        TargetGate gate) {}
