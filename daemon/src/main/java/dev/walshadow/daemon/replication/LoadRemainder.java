package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.bootstrap.load.BackupTransactions;
import dev.walshadow.bootstrap.load.DeferredDelivery;
import dev.walshadow.bootstrap.load.DeferredRows;
import dev.walshadow.bootstrap.load.KeptValues;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an initial load that is done leaves to go on beside the stream, until all transactions have
 * ended that were open at the backup's start: rows that wait for them, and the backup's values out
 * of line, since the beginning of a value that one of them writes may be there alone. Begun on the
 * pump's thread or before it runs.
 */
final class LoadRemainder {
    private static final Logger LOG = LoggerFactory.getLogger(LoadRemainder.class);
    private static final long POLL_MILLIS = 50;

    private final Assembly assembly;
    private final StateDirectory state;
    private final SourceDatabase source;
    private final Prepared prepared;
    private final List<DeferredRows> rows;

    LoadRemainder(Assembly assembly, StateDirectory state, SourceDatabase source, Prepared prepared)
            throws InterruptedException {
        this.assembly = assembly;
        this.state = state;
        this.source = source;
        this.prepared = prepared;
        this.rows =
                DatabaseLoaders.deferred(
                        state.deferred(),
                        prepared.identity().systemIdentifier(),
                        assembly.pipeline);
    }

    /**
     * Right behind the load, whose values the pipeline has.
     *
     * @param transactions those that were open at the backup's start
     * @param over called when the values are not needed any more
     * @param caughtUp called once no row waits for a transaction that has ended by now, and tables
     *     can be altered in place again, unless rows wait for others
     */
    void begin(BackupTransactions transactions, Runnable over, Runnable caughtUp)
            throws InterruptedException {
        if (rows.isEmpty() && hasSettled(transactions)) {
            assembly.pump.observe(null, null);
            end(over);
            assembly.pipeline.onlyLoad(false);
            caughtUp.run();
        } else {
            transactions.keep(state.openAtStart(), prepared.identity().systemIdentifier());
            follow(transactions, over, caughtUp);
        }
    }

    /** After a restart: takes up what {@link #begin} had begun. */
    void goOn() throws InterruptedException {
        Optional<BackupTransactions> kept =
                BackupTransactions.takeUp(
                        prepared.major(),
                        state.openAtStart(),
                        prepared.identity().systemIdentifier());
        if (kept.isPresent()) {
            List<KeptValues> values = takeUpValues(kept.get().startLsn());
            follow(kept.get(), () -> values.forEach(KeptValues::close), () -> {});
            return;
        }
        DatabaseLoaders.folders(state.deferred()).forEach(KeptValues::forget);
        if (rows.isEmpty()) {
            assembly.pump.observe(null, null);
        } else {
            follow(
                    new BackupTransactions(prepared.major(), rows.getFirst().snapshot()),
                    () -> {},
                    () -> {});
        }
    }

    private List<KeptValues> takeUpValues(long startLsn) {
        List<KeptValues> all = new ArrayList<>();
        for (Path folder : DatabaseLoaders.folders(state.deferred())) {
            KeptValues values =
                    KeptValues.open(folder, prepared.identity().systemIdentifier(), startLsn);
            assembly.pipeline.useBaselineToast(DatabaseLoaders.database(folder), values.values());
            all.add(values);
        }
        return all;
    }

    private void follow(BackupTransactions transactions, Runnable over, Runnable caughtUp)
            throws InterruptedException {
        for (DeferredRows each : rows) {
            assembly.pipeline.useBaselineToast(each.databaseOid(), each.values());
        }
        assembly.pump.observe(transactions::onRecord, null);
        assembly.pipeline.onlyLoad(!rows.isEmpty());
        if (!rows.isEmpty()) {
            LOG.info("rows of transactions that are still open wait for their end");
            assembly.pump.holdFloorAt(transactions::floor);
            assembly.keepShapes();
        }
        DeferredDelivery delivery =
                new DeferredDelivery(
                        rows,
                        transactions,
                        source::open,
                        session -> SourceDatabase.currentPosition(session, prepared.segmentSize()),
                        () -> {
                            if (rows.stream().allMatch(DeferredRows::isEmpty)) {
                                assembly.pipeline.onlyLoad(false);
                            }
                            caughtUp.run();
                        });
        assembly.runBeside(
                "deferred-rows",
                () -> {
                    delivery.run();
                    assembly.pipeline.onlyLoad(false);
                    if (awaitSettled(transactions)) {
                        transactions.ignore();
                        end(over);
                    }
                });
    }

    /** Values last, the file that says that they are needed first. */
    private void end(Runnable over) {
        assembly.pipeline.forgetBaselineToast();
        try {
            Files.deleteIfExists(state.openAtStart());
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE,
                    state.openAtStart() + " cannot be removed: " + e,
                    e);
        }
        over.run();
    }

    /** Whether what was open at the backup's start has ended and is durable. */
    private boolean hasSettled(BackupTransactions transactions) {
        long durable = assembly.pipeline.watermark().durableLsn();
        return Long.compareUnsigned(transactions.allEnded(), durable) <= 0;
    }

    /** Until then; false if we end. */
    private boolean awaitSettled(BackupTransactions transactions) {
        try {
            while (!hasSettled(transactions)) {
                Thread.sleep(POLL_MILLIS);
            }
            return !Thread.currentThread().isInterrupted();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
