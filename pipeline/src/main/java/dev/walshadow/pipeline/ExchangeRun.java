package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.pipeline.AckLedger.Hold;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Puts a table's complete staging table in the target's place: nothing of the table is on its way
 * meanwhile. Belongs to the table's worker. Where the staging table is filled from the WAL, this
 * holds the watermark until the exchange is done: after a kill the rows come again.
 */
final class ExchangeRun implements DecodeWorker.Pending {
    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final DecodeWorker worker;
    private final TargetTable table;

    /** True: exchanged; false: a later generation has taken over. */
    private final CompletableFuture<Boolean> result;

    private final Hold hold = new Hold();

    /** Rows up to this commit position must be in the staging table. */
    private final long filledFrom;

    private boolean closing;
    private boolean running;

    private ExchangeRun(
            DecodeWorker worker,
            TargetTable table,
            long filledFrom,
            CompletableFuture<Boolean> result) {
        this.worker = worker;
        this.table = table;
        this.filledFrom = filledFrom;
        this.result = result;
    }

    /** All rows of the load, and what happened on the source meanwhile, are durable. */
    static ExchangeRun ofLoad(
            DecodeWorker worker, TargetTable table, CompletableFuture<Boolean> result) {
        return new ExchangeRun(worker, table, 0, result);
    }

    /** All rows of the commit that refills the table have been handed to the worker. */
    static ExchangeRun ofRefill(DecodeWorker worker, TargetTable table, long sequence) {
        ExchangeRun run =
                new ExchangeRun(worker, table, table.fromPosition(), new CompletableFuture<>());
        worker.services().stream().hold(run.hold, sequence);
        return run;
    }

    @Override
    public long tend() {
        if (result.isDone()) {
            return DONE;
        }
        if (running) {
            return Long.MAX_VALUE;
        }
        if (!closing && !isFilled()) {
            return AGAIN_NANOS;
        }
        if (table.isAbandoned() || !table.isFollowed()) {
            table.setOpen(true);
            finish(false);
            return DONE;
        }
        closing = true;
        table.setOpen(false);
        TableWriter writer = table.writer;
        if (writer != null && !writer.paused()) {
            return AGAIN_NANOS;
        }
        running = true;
        worker.steps().run("exchange " + table.label(), this::run);
        return Long.MAX_VALUE;
    }

    private void run() throws InterruptedException {
        table.awaitSettled();
        QuarantineException refused = null;
        try {
            worker.services().ddl().exchange(table);
        } catch (QuarantineException e) {
            refused = e;
        }
        QuarantineException failure = refused;
        worker.mailbox().control(() -> exchanged(failure));
    }

    private void exchanged(@Nullable QuarantineException failure) {
        if (failure != null) {
            worker.services().failures().setAside(table, failure, table.fromPosition());
        }
        table.setOpen(true);
        finish(failure == null);
    }

    private boolean isFilled() {
        if (filledFrom == 0 || !table.isFollowed()) {
            return filledFrom == 0 || table.isOpen();
        }
        TableWriter writer = table.writer;
        return table.isOpen() && (writer == null || writer.hasPassed(filledFrom));
    }

    private void finish(boolean exchanged) {
        result.complete(exchanged);
        if (hold.isSet() && worker.services().stream().release(hold)) {
            worker.services().progress().run();
        }
    }
}
