package dev.walshadow.pipeline;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.transaction.CommittedChanges;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Loads of single tables from the source, while the stream goes on: each is asked for by a {@link
 * LoadTicket}, and then {@link #begin}, {@link #keepChanges}, {@link #useSnapshot}, {@link #submit}
 * for its rows and {@link #complete} follow. Any thread.
 */
public final class TableLoading {
    private static final long CHECK_MILLIS = 200;

    private final Pipeline pipeline;
    private final Services services;
    private final TargetTables tables;

    TableLoading(Pipeline pipeline, Services services, TargetTables tables) {
        this.pipeline = pipeline;
        this.services = services;
        this.tables = tables;
    }

    /**
     * The rows of this load come in this form.
     *
     * @param shape of the rows
     * @param mapping with the columns of the ticket's, each with the conversion of the rows' form
     */
    public void begin(LoadTicket load, RelationDescriptor shape, TableMapping mapping) {
        RowEncoder encoder =
                RowEncoder.compile(
                        shape,
                        mapping,
                        tables.encoding(shape),
                        services.options().valueLimits().of(shape.name()));
        load.table().loadEncoder = encoder;
    }

    /**
     * A snapshot of the source is about to be taken for this load: the table's changes are kept
     * from now on. It must see every commit up to {@link LoadTicket#position}.
     */
    public void keepChanges(LoadTicket load) throws InterruptedException {
        TargetTable table = load.table();
        // what the worker has left out before was of commits that have been handed over
        onWorker(
                table,
                (_, done) -> {
                    long least = table.fromPosition() - 1;
                    table.requireLoadFilter().keep(Math.max(least, pipeline.handedOver()));
                    done.complete(true);
                });
    }

    /** No snapshot was taken after {@link #keepChanges}: nothing needs to be kept for now. */
    public void forgetChanges(LoadTicket load) {
        load.table().requireLoadFilter().leaveOut();
        pipeline.wake();
    }

    /**
     * The rows that come are those of this snapshot. What else it sees is left out from now on.
     *
     * @param position of the rows; the snapshot sees every commit up to it
     */
    public void useSnapshot(LoadTicket load, long position, SourceSnapshot snapshot) {
        Invariant.check(position >= load.position(), "the rows contain what was left out");
        load.table().requireLoadFilter().use(position, snapshot);
        pipeline.wake();
    }

    private interface WorkerStep {
        void run(DecodeWorker worker, CompletableFuture<Boolean> done);
    }

    private boolean onWorker(TargetTable table, WorkerStep step) throws InterruptedException {
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        DecodeWorker worker = pipeline.worker(table);
        worker.mailbox().control(() -> step.run(worker, done));
        while (true) {
            try {
                return done.get(CHECK_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                services.fatal().check();
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** How large values of the load's table may be. */
    public ValueLimit valueLimit(LoadTicket load) {
        return services.options().valueLimits().of(load.shape().name());
    }

    /** Rows of a load, of its position; as {@link Pipeline#submitBaseline}. */
    public long submit(LoadTicket load, CommittedChanges rows) throws InterruptedException {
        return pipeline.submitBaseline(rows, load.table());
    }

    /**
     * All rows of the load have been submitted: waits until they, and what happened on the source
     * meanwhile, are durable, then puts them in the target's place.
     *
     * @param lastRows what {@link #submit} gave last, 0 if there were no rows
     * @param sourcePosition a position of the source from after the rows were read
     * @return false if the load was overtaken by another change of the table, or is spoiled
     */
    public boolean complete(LoadTicket load, long lastRows, long sourcePosition)
            throws InterruptedException {
        pipeline.awaitBaseline(lastRows);
        TargetTable table = load.table();
        table.setBaselineLsn(load.position());
        table.loaded();
        pipeline.wake();
        while (load.isWanted()
                && !pipeline.awaitDurable(sourcePosition, Duration.ofMillis(CHECK_MILLIS))) {
            services.fatal().check();
            if (load.isSpoiled()) {
                return false;
            }
        }
        return !load.isSpoiled()
                && onWorker(
                        table,
                        (worker, result) ->
                                worker.begin(ExchangeRun.ofLoad(worker, table, result)));
    }

    /** The load cannot be done: its table is set aside. */
    public void quarantine(LoadTicket load, QuarantineException failure) {
        services.failures().setAside(load.table(), failure, load.table().fromPosition());
        pipeline.wake();
    }
}
