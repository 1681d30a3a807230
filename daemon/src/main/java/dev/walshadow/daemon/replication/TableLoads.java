package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.bootstrap.reload.LoadShape;
import dev.walshadow.bootstrap.reload.TableLoad;
import dev.walshadow.pipeline.LoadTicket;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.postgres.Lsn;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings tables' rows from the source while the stream goes on: a few at a time, each until it is
 * done or overtaken by another change of the table.
 */
final class TableLoads implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TableLoads.class);
    private static final int AT_ONCE = 2;
    private static final long RETRY_CEILING_MILLIS = 5_000;
    private static final long CHANGE_POLL_CEILING_MILLIS = 200;

    private final SourceDatabase source;
    private final FollowedDatabases databases;
    private final int segmentSize;
    private final RecentCommits commits;
    private final Consumer<Throwable> fault;
    private final CompletableFuture<Pipeline> pipeline = new CompletableFuture<>();
    private final Semaphore places = new Semaphore(AT_ONCE);
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private final Set<LoadProgress> running = ConcurrentHashMap.newKeySet();
    private final AtomicLong rows = new AtomicLong();
    private volatile boolean closed;

    /**
     * @param fault told what a load cannot mend: everything is to stop
     */
    TableLoads(
            SourceDatabase source,
            FollowedDatabases databases,
            int segmentSize,
            RecentCommits commits,
            Consumer<Throwable> fault) {
        this.fault = fault;
        this.source = source;
        this.databases = databases;
        this.segmentSize = segmentSize;
        this.commits = commits;
    }

    void use(Pipeline running) {
        pipeline.complete(running);
    }

    /** Rows loaded by this process. */
    long rows() {
        return rows.get();
    }

    /** Those that are under way or wait for their turn. */
    Collection<LoadProgress> running() {
        return running.stream().filter(load -> load.ticket().isWanted()).toList();
    }

    /** Begins a load; returns at once. */
    void wanted(LoadTicket load) {
        LoadProgress progress = new LoadProgress(load);
        running.add(progress);
        Thread thread =
                Thread.ofVirtual()
                        .name("load " + load.shape().label())
                        .unstarted(() -> {
                            try {
                                run(load, progress);
                            } catch (InterruptedException e) {
                                Thread.currentThread().interrupt(); // closing
                            } catch (RuntimeException | Error e) {
                                if (!closed) {
                                    fault.accept(e);
                                }
                            } finally {
                                running.remove(progress);
                                threads.remove(Thread.currentThread());
                            }
                        });
        threads.add(thread);
        if (!closed) {
            thread.start();
        }
    }

    private void run(LoadTicket load, LoadProgress progress) throws InterruptedException {
        Pipeline into;
        try {
            into = pipeline.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
        try {
            attempts(load, progress, into);
        } catch (QuarantineException e) {
            into.quarantine(load, e);
        }
    }

    private void attempts(LoadTicket load, LoadProgress progress, Pipeline into)
            throws InterruptedException {
        Backoff broken = new Backoff(RETRY_CEILING_MILLIS);
        Backoff differing = new Backoff(CHANGE_POLL_CEILING_MILLIS);
        LOG.info(
                "loading {} as of {}: {}",
                load.shape().label(),
                Lsn.format(load.position()),
                load.reason());
        while (load.isWanted()) {
            try {
                if (attempt(load, progress, into)) {
                    return;
                }
                progress.step("waiting for a later change of the table to come through the stream");
                differing.pause();
            } catch (SQLException e) {
                progress.step("interrupted: " + e.getMessage());
                LOG.warn(
                        "loading {} was interrupted and begins anew: {}",
                        load.shape().label(),
                        e.getMessage());
                broken.pause();
            }
        }
    }

    /** False: the table is another one on the source by now, which the stream will tell. */
    private boolean attempt(LoadTicket load, LoadProgress progress, Pipeline into)
            throws InterruptedException, SQLException {
        long[] last = new long[1];
        TableLoad.Outcome outcome;
        places.acquire();
        try {
            outcome = read(load, progress, into, last);
        } finally {
            // what comes now waits for the watermark, which another load's table may hold
            places.release();
        }
        if (!(outcome instanceof TableLoad.Outcome.Loaded(long count, long _))) {
            return false;
        }
        progress.step("waiting until everything is durable in ClickHouse");
        long position;
        try (Connection session = source.open()) {
            position = SourceDatabase.currentPosition(session, segmentSize);
        }
        if (into.completeLoad(load, last[0], position)) {
            LOG.info("{} is loaded: {} rows", load.shape().label(), count);
        }
        return true;
    }

    /** Hands the table's rows over; {@code last} gets the number of the last of them. */
    private TableLoad.Outcome read(
            LoadTicket load, LoadProgress progress, Pipeline into, long[] last)
            throws InterruptedException, SQLException {
        LoadShape form = LoadShape.of(load.shape(), load.mapping());
        into.beginLoad(load, form.virtual(), form.mapping());
        return new TableLoad(
                        () -> databases.open(load.shape().databaseOid()),
                        TableLoad.Options.defaults())
                .run(
                        load.shape(),
                        load.mapping(),
                        load.position(),
                        (xmin, xmax, inProgress) ->
                                commits.areSeen(load.position(), xmax, inProgress),
                        chunk -> {
                            rows.addAndGet(chunk.recordCount());
                            last[0] = into.submitLoad(load, chunk);
                            return last[0];
                        },
                        progress);
    }

    @Override
    public void close() {
        closed = true;
        threads.forEach(Thread::interrupt);
    }
}
