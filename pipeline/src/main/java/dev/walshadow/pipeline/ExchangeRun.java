package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Puts a table's complete staging table in the target's place: nothing of the table is on its way
 * meanwhile. Belongs to the table's worker.
 */
final class ExchangeRun implements DecodeWorker.Pending {
    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final DecodeWorker worker;
    private final TargetTable table;

    /** True: exchanged; false: a later generation has taken over. */
    private final CompletableFuture<Boolean> result;

    private boolean running;

    ExchangeRun(DecodeWorker worker, TargetTable table, CompletableFuture<Boolean> result) {
        this.worker = worker;
        this.table = table;
        this.result = result;
    }

    @Override
    public long tend() {
        if (result.isDone()) {
            return DONE;
        }
        if (running) {
            return Long.MAX_VALUE;
        }
        if (table.isAbandoned() || !table.isFollowed()) {
            table.setOpen(true);
            result.complete(false);
            return DONE;
        }
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
        result.complete(failure == null);
    }
}
