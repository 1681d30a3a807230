package dev.walshadow.daemon.replication;

import dev.walshadow.bootstrap.load.BaselineSink;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.ToastValues;

/** The initial load's way into the pipeline. */
record PipelineBaseline(Pipeline pipeline) implements BaselineSink {
    @Override
    public long submit(CommittedChanges rows) throws InterruptedException {
        return pipeline.submitBaseline(rows);
    }

    @Override
    public void await(long number) throws InterruptedException {
        pipeline.awaitBaseline(number);
    }

    @Override
    public void toastReady(ToastValues values) {
        pipeline.useBaselineToast(values);
    }

    @Override
    public void tableComplete(int databaseOid, int relationOid) throws InterruptedException {
        pipeline.baselineComplete(databaseOid, relationOid);
    }
}
