package dev.walshadow.daemon.replication;

import dev.walshadow.bootstrap.load.BaselineSink;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.ToastValues;

/** The initial load's way into the pipeline, for one database. */
record PipelineBaseline(Pipeline pipeline, int databaseOid) implements BaselineSink {
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
        pipeline.useBaselineToast(databaseOid, values);
    }

    @Override
    public void tableComplete(int database, int relationOid) throws InterruptedException {
        pipeline.baselineComplete(database, relationOid);
    }
}
