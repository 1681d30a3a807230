package dev.walshadow.daemon.replication;

import dev.walshadow.bootstrap.load.BaselineSink;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.ToastValues;
import java.time.Duration;

/**
 * The initial load's way into the pipeline, for one database.
 *
 * @param ofEnded what is submitted are rows of transactions that were open at the backup's start
 *     and have ended: they come after what their commit did to their table, and have the shape that
 *     it gave it. The rows of the backup itself wait for nothing: the watermark waits for them.
 */
record PipelineBaseline(Pipeline pipeline, int databaseOid, boolean ofEnded)
        implements BaselineSink {
    private static final Duration CHECK = Duration.ofSeconds(1);

    @Override
    public long submit(CommittedChanges rows) throws InterruptedException {
        boolean reached = !ofEnded;
        while (!reached) {
            reached = pipeline.awaitDurable(rows.commitPosition(), CHECK);
        }
        return pipeline.submitBaseline(rows);
    }

    @Override
    public boolean wantsChunks() {
        return pipeline.keepsChunks();
    }

    @Override
    public int valueBytes() {
        return pipeline.storedValueBytes();
    }

    @Override
    public void await(long number) throws InterruptedException {
        pipeline.awaitBaseline(number);
    }

    @Override
    public void toastReady(ToastValues values) {
        pipeline.useBaselineToast(databaseOid, values);
    }

    @Override
    public void tableComplete(int database, int relationOid) throws InterruptedException {
        pipeline.baselineComplete(database, relationOid);
    }
}
