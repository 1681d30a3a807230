package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.pipeline.AckLedger.Hold;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A generation's {@link Opening} on its way: the generation before is drained, ClickHouse is
 * changed, then the rows that gathered meanwhile go on. Holds the watermark until then. Belongs to
 * the table's worker; only waiting for ClickHouse happens elsewhere.
 */
final class OpeningRun implements DecodeWorker.Pending {
    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final DecodeWorker worker;
    private final TargetTable table;
    private final Hold hold = new Hold();
    private boolean running;
    private boolean done;

    OpeningRun(DecodeWorker worker, TargetTable table, long sequence) {
        this.worker = worker;
        this.table = table;
        worker.services().stream().hold(hold, sequence);
    }

    @Override
    public long tend() throws InterruptedException {
        if (done) {
            return DONE;
        }
        if (running) {
            return Long.MAX_VALUE;
        }
        Opening opening = java.util.Objects.requireNonNull(table.opening());
        TargetTable previous = opening.previous();
        if (previous != null && !(isDrained(previous) && previous.succeed())) {
            return AGAIN_NANOS;
        }
        running = true;
        worker.steps().run("opening " + table.label(), () -> run(previous));
        return Long.MAX_VALUE;
    }

    private boolean isDrained(TargetTable previous) throws InterruptedException {
        if (!previous.isOpen()) {
            return false;
        }
        if (previous.isRefilled() && previous.isFollowed()) {
            if (!(table.opening() instanceof Opening.Load)) {
                return false; // until it has been exchanged
            }
            previous.abandon();
        } else if (previous.state() == TableState.LOADING || previous.isStaged()) {
            // the ledger says that it is loading: after a restart it would be loaded anew
            previous.abandon();
        }
        TableWriter writer = previous.writer;
        return writer == null || writer.drained();
    }

    private void run(@Nullable TargetTable previous) throws InterruptedException {
        if (previous != null) {
            previous.awaitSettled();
        }
        worker.services().ddl().prepare(table);
        if (previous != null) {
            previous.retire();
        }
        for (TargetTable member : table.members()) {
            member.awaitRetired();
        }
        TargetTable root = table.root();
        if (root != null) {
            root.awaitOpen();
        }
        QuarantineException refused = null;
        try {
            worker.services().ddl().open(table);
        } catch (QuarantineException e) {
            refused = e;
        }
        QuarantineException failure = refused;
        worker.mailbox().control(() -> opened(previous, failure));
    }

    private void opened(@Nullable TargetTable previous, @Nullable QuarantineException failure) {
        if (failure != null) {
            worker.services().failures().setAside(table, failure, table.fromPosition());
        }
        if (previous != null) {
            worker.retire(previous);
        }
        table.setOpen(true);
        done = true;
        if (worker.services().stream().release(hold)) {
            worker.services().progress().run();
        }
    }
}
