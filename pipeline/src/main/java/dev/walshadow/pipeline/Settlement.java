package dev.walshadow.pipeline;

/** What happens to a batch that ClickHouse has answered, or that nobody wants any more. */
final class Settlement implements Inserters.Outcome {
    private final Services services;
    private final Runnable wake;

    /**
     * @param wake makes workers look whether something can move on
     */
    Settlement(Services services, Runnable wake) {
        this.services = services;
        this.wake = wake;
    }

    @Override
    public void acknowledged(Batch batch) {
        int rows = batch.block.rows();
        PipelineMetrics metrics = services.metrics();
        metrics.batches.increment();
        metrics.batchBytes.add(batch.bytes());
        metrics.rows.add(rows);
        metrics.tombstones.add(batch.tombstones);
        metrics.baselineRows.add(batch.baselineRows);
        batch.table.rows.add(rows);
        batch.table.tombstones.add(batch.tombstones);
        settle(batch);
    }

    @Override
    public void discarded(Batch batch) {
        int rows = batch.block.rows();
        services.metrics().discardedRows.add(rows);
        batch.table.discardedRows.add(rows);
        settle(batch);
    }

    private void settle(Batch batch) {
        batch.table.batchSettled();
        letGo(services, batch);
        wake.run();
    }

    /** The batch's memory and holds go back. */
    static void letGo(Services services, Batch batch) {
        services.batchMemory().release(batch.bytesReserved);
        boolean progress = false;
        if (batch.streamHold.isSet()) {
            progress = services.stream().release(batch.streamHold);
        }
        if (batch.baselineHold.isSet()) {
            progress |= services.baseline().release(batch.baselineHold);
        }
        TableWriter writer = batch.table.writer;
        if (writer != null) {
            writer.recycle(batch.block);
        }
        if (progress) {
            services.progress().run();
        }
    }
}
