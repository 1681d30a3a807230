package dev.walshadow.pipeline;

import dev.walshadow.pipeline.encode.ValueLimits;
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
 * @param recentValueBytes bound on large values that are kept for later versions of their rows; 0:
 *     none
 * @param toast where unchanged toasted columns get their values
 * @param valueLimits the largest value that arrives exact
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
        long recentValueBytes,
        ToastMode toast,
        ValueLimits valueLimits) {

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
                112L << 20,
                ToastMode.DESTINATION,
                ValueLimits.NONE);
    }

    /** What compression may add to the beginning of a value. */
    private static final int STORED_OVERHEAD = 1024;

    /** How many stored bytes of a value out of line are ever needed. */
    int storedValueBytes() {
        long limit = valueLimits.bytes();
        return (int) Math.min(Integer.MAX_VALUE, limit + limit / 4 + STORED_OVERHEAD);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
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
                recentValueBytes,
                toast,
                valueLimits);
    }

    public PipelineOptions withRecentValueBytes(long recentValueBytes) {
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
                recentValueBytes,
                toast,
                valueLimits);
    }

    public PipelineOptions withToast(ToastMode toast) {
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
                recentValueBytes,
                toast,
                valueLimits);
    }

    public PipelineOptions withValueLimits(ValueLimits valueLimits) {
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
                recentValueBytes,
                toast,
                valueLimits);
    }
}
