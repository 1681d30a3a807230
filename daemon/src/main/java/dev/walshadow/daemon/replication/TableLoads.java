package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.bootstrap.reload.LoadShape;
import dev.walshadow.bootstrap.reload.TableLoad;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.pipeline.LoadTicket;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.pipeline.SourceSnapshot;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
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
    private static final long ANEW_MILLIS = 500;
    private static final long READ_PATIENCE_NANOS = 5_000_000_000L;
    private static final long READ_POLL_MILLIS = 2;

    /**
     * Tables that can be read of what stands in for a source of which there is only the archive.
     */
    interface StandInTables {
        StandInTables NONE = (_, _) -> false;

        boolean test(int databaseOid, int relationOid);
    }

    private final SourceDatabase source;
    private final FollowedDatabases databases;
    private final int segmentSize;
    private final int sessions;
    private final RecentCommits commits;
    private final LongSupplier readTo;
    private final BiConsumer<LoadTicket, String> anew;
    private final Consumer<Throwable> fault;
    private final CompletableFuture<Pipeline> pipeline = new CompletableFuture<>();
    private final Semaphore places = new Semaphore(AT_ONCE);
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private final Set<LoadProgress> running = ConcurrentHashMap.newKeySet();
    private final AtomicLong rows = new AtomicLong();
    private volatile StandInTables standIn = StandInTables.NONE;
    private volatile boolean closed;

    /**
     * @param sessions that read one table
     * @param readTo how far {@code commits} have been read
     * @param anew asks for a later load of the same table, and says why
     * @param fault told what a load cannot mend: everything is to stop
     */
    TableLoads(
            SourceDatabase source,
            FollowedDatabases databases,
            int segmentSize,
            int sessions,
            RecentCommits commits,
            LongSupplier readTo,
            BiConsumer<LoadTicket, String> anew,
            Consumer<Throwable> fault) {
        this.readTo = readTo;
        this.anew = anew;
        this.fault = fault;
        this.source = source;
        this.databases = databases;
        this.segmentSize = segmentSize;
        this.sessions = sessions;
        this.commits = commits;
    }

    void use(Pipeline running) {
        pipeline.complete(running);
    }

    /** What the server in the source's stead has of users' tables from now on. */
    void readStandIn(StandInTables now) {
        standIn = now;
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
            if (source.isArchive()) {
                attemptOfStandIn(load, progress, into);
            } else {
                attempts(load, progress, into);
            }
        } catch (QuarantineException e) {
            into.loading().quarantine(load, e);
        }
    }

    /** The server stands still at the backup's end: what it refuses once it will refuse again. */
    private void attemptOfStandIn(LoadTicket load, LoadProgress progress, Pipeline into)
            throws InterruptedException {
        if (!standIn.test(load.shape().databaseOid(), load.shape().oid())) {
            throw unreadable(
                    load,
                    "its rows would have to be read from the source (" + load.reason() + ")",
                    null);
        }
        LOG.info("loading {} from the backup's end: {}", load.shape().label(), load.reason());
        try {
            if (!attempt(load, progress, into, new Once(load, progress)) && load.isWanted()) {
                throw unreadable(load, "its rows at the backup's end are of another shape", null);
            }
        } catch (SQLException e) {
            throw unreadable(
                    load, "its rows at the backup's end cannot be read: " + e.getMessage(), e);
        }
    }

    private static QuarantineException unreadable(
            LoadTicket load, String what, @Nullable Throwable cause) {
        return new QuarantineException(
                DaemonCodes.NO_SOURCE,
                load.shape().label()
                        + ": "
                        + what
                        + ", and there is no source but its archive: attach anew from a backup"
                        + " that is newer than this",
                cause);
    }

    /** No attempt follows on another. */
    private record Once(LoadTicket load, LoadProgress progress) implements TableLoad.Progress {
        @Override
        public void began(long estimatedRows) {
            progress.began(estimatedRows);
        }

        @Override
        public void advanced(long rows, long bytes) {
            progress.advanced(rows, bytes);
        }

        @Override
        public void waits(String reason) {
            throw unreadable(load, "its rows at the backup's end cannot be read: " + reason, null);
        }
    }

    private void attempts(LoadTicket load, LoadProgress progress, Pipeline into)
            throws InterruptedException {
        Backoff broken = new Backoff(RETRY_CEILING_MILLIS);
        Backoff opened = new Backoff(CHANGE_POLL_CEILING_MILLIS);
        OlderTransactions older = load.isAdded() ? new OlderTransactions(source) : null;
        Backoff differing = new Backoff(CHANGE_POLL_CEILING_MILLIS);
        LOG.info("loading {}: {}", load.shape().label(), load.reason());
        while (load.isWanted()) {
            try {
                if (older != null && !older.haveEnded()) {
                    progress.step("waiting for transactions from before the table was added");
                    opened.pause();
                    continue;
                }
                if (attempt(load, progress, into, progress)) {
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
            if (load.isBegun() && load.isWanted()) {
                // what is there is of one snapshot, and so is what was left out
                Thread.sleep(ANEW_MILLIS);
                anew.accept(load, "an earlier load of it was not finished");
                return;
            }
        }
    }

    /** False: the table is another one on the source by now, which the stream will tell. */
    private boolean attempt(
            LoadTicket load, LoadProgress progress, Pipeline into, TableLoad.Progress told)
            throws InterruptedException, SQLException {
        AtomicLong last = new AtomicLong();
        TableLoad.Outcome outcome;
        places.acquire();
        try {
            outcome = read(load, told, into, last);
        } finally {
            // what comes now waits for the watermark, which another load's table may hold
            places.release();
            if (!load.isBegun()) {
                into.loading().forgetChanges(load);
            }
        }
        if (!(outcome instanceof TableLoad.Outcome.Loaded(long count, long _))) {
            return false;
        }
        progress.step("waiting until everything is durable in ClickHouse");
        long position;
        try (Connection session = source.open()) {
            position = SourceDatabase.currentPosition(session, segmentSize);
        }
        if (into.loading().complete(load, last.get(), position)) {
            LOG.info("{} is loaded: {} rows", load.shape().label(), count);
        }
        return !load.isSpoiled();
    }

    /** Hands the table's rows over; {@code last} gets the number of the last of them. */
    private TableLoad.Outcome read(
            LoadTicket load, TableLoad.Progress progress, Pipeline into, AtomicLong last)
            throws InterruptedException, SQLException {
        LoadShape form = LoadShape.of(load.shape(), load.mapping());
        into.loading().begin(load, form.virtual(), form.mapping());
        return new TableLoad(
                        () -> databases.open(load.shape().databaseOid()),
                        TableLoad.Options.defaults(into.loading().valueLimit(load))
                                .withSessions(sessions)
                                .withChunks(into.keepsChunks()))
                .run(
                        load.shape(),
                        load.mapping(),
                        new LoadChanges(load, into),
                        chunk -> {
                            rows.addAndGet(chunk.recordCount());
                            return last.accumulateAndGet(
                                    into.loading().submit(load, chunk), Math::max);
                        },
                        progress);
    }

    /** What is done with a load's table's changes until its snapshot is known. */
    private final class LoadChanges implements TableLoad.Changes {
        private final LoadTicket load;
        private final Pipeline into;

        LoadChanges(LoadTicket load, Pipeline into) {
            this.load = load;
            this.into = into;
        }

        @Override
        public void keep() throws InterruptedException {
            into.loading().keepChanges(load);
        }

        @Override
        public long use(SourceSnapshot snapshot) throws InterruptedException {
            if (load.isInPlace() && !isRead(snapshot.insertPosition())) {
                return NO_POSITION;
            }
            long seen = commits.seenUpTo(snapshot);
            long kept = load.position();
            if (seen < kept || load.isSpoiled()) {
                return NO_POSITION;
            }
            // in place little may come a second time; else the less has to be known, the better
            long position = load.isInPlace() ? seen : kept;
            into.loading().useSnapshot(load, position, snapshot);
            return position;
        }

        /** Whether every commit that the snapshot can see has been read; waits for a while. */
        private boolean isRead(long insertPosition) throws InterruptedException {
            long end = SourceDatabase.recordEnd(insertPosition, segmentSize);
            long deadline = System.nanoTime() + READ_PATIENCE_NANOS;
            while (readTo.getAsLong() < end) {
                if (System.nanoTime() - deadline >= 0) {
                    return false;
                }
                Thread.sleep(READ_POLL_MILLIS);
            }
            return true;
        }

        @Override
        public void forget() {
            into.loading().forgetChanges(load);
        }
    }

    @Override
    public void close() {
        closed = true;
        threads.forEach(Thread::interrupt);
    }
}
