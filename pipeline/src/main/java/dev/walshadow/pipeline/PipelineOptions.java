package dev.walshadow.pipeline;

import java.nio.file.Path;
import java.time.Duration;

/**
 * How the pipeline runs. Start from {@link #defaults} and change with the {@code with} methods.
 *
 * @param systemIdentifier of the source cluster
 * @param stateDirectory holds {@code quarantine} and {@code waiting/}; exists
 * @param durableLsn transactions at or below it are skipped: they are durable since an earlier run
 * @param decodeWorkers threads that turn tuples into columns, at least 1
 * @param inserters concurrent inserts into ClickHouse, at least 1
 * @param batchRows rows at which a batch is sealed
 * @param batchBytes bytes at which a batch is sealed
 * @param batchAge age at which a batch is sealed under load; widens with the number of open tables
 * @param idleSealInterval least time between two early seals of one table
 * @param queueBytes bound on planned, not yet decoded records, over all workers
 * @param memoryBytes bound on open and sealed batches together
 * @param deferredMemoryBytes bound on records in memory that wait for an old value; more goes to
 *     disk
 * @param resolveToast false: mode {@code disabled}, unchanged toasted columns arrive as NULL
 */
public record PipelineOptions(
        long systemIdentifier,
        Path stateDirectory,
        long durableLsn,
        int decodeWorkers,
        int inserters,
        int batchRows,
        long batchBytes,
        Duration batchAge,
        Duration idleSealInterval,
        long queueBytes,
        long memoryBytes,
        long deferredMemoryBytes,
        boolean resolveToast) {

    public static PipelineOptions defaults(long systemIdentifier, Path stateDirectory) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                0,
                2,
                4,
                262_144,
                32L << 20,
                Duration.ofSeconds(1),
                Duration.ofMillis(20),
                64L << 20,
                256L << 20,
                32L << 20,
                true);
    }

    public PipelineOptions withDurableLsn(long durableLsn) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withDecodeWorkers(int decodeWorkers) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withInserters(int inserters) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withBatchRows(int batchRows) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withBatchBytes(long batchBytes) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withBatchAge(Duration batchAge) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withIdleSealInterval(Duration idleSealInterval) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withQueueBytes(long queueBytes) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withMemoryBytes(long memoryBytes) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withDeferredMemoryBytes(long deferredMemoryBytes) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }

    public PipelineOptions withResolveToast(boolean resolveToast) {
        return new PipelineOptions(
                systemIdentifier,
                stateDirectory,
                durableLsn,
                decodeWorkers,
                inserters,
                batchRows,
                batchBytes,
                batchAge,
                idleSealInterval,
                queueBytes,
                memoryBytes,
                deferredMemoryBytes,
                resolveToast);
    }
}
