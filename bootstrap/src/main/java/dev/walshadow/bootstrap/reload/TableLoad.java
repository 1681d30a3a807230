package dev.walshadow.bootstrap.reload;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.load.BaselineChunk;
import dev.walshadow.bootstrap.reload.LoadSession.EnumLabel;
import dev.walshadow.bootstrap.reload.LoadSession.Snapshot;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.pipeline.SourceSnapshot;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.transaction.CommittedChanges;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/**
 * Loads one table from the source: takes a snapshot that sees every commit up to a position, and
 * hands the table's rows on as baseline records of that position. The rows are those of the
 * snapshot, so they may have changes of later commits; whoever applies the changes is told which.
 * Without state; each {@link #run} has its own session. Reasoning: {@code docs/reload.md}.
 */
public final class TableLoad {
    /** How a load ended. */
    public sealed interface Outcome {
        /**
         * @param insertPosition the source's WAL insert position taken after the snapshot: every
         *     commit that the snapshot sees ends at or below it. It may lie behind the header of a
         *     page that holds no record yet.
         */
        record Loaded(long rows, long insertPosition) implements Outcome {}

        /**
         * The table has another shape on the source by now: wait for its change in the stream. Rows
         * may have been handed on, which are to be discarded.
         */
        record ShapeDiffers(String difference) implements Outcome {}

        /** No such table any more. */
        record Gone() implements Outcome {}
    }

    /** Takes the rows. */
    public interface Rows {
        /**
         * Blocks under back-pressure. Gets chunks of about {@link Options#chunkBytes}. Called by as
         * many threads as there are sessions.
         */
        long submit(CommittedChanges rows) throws InterruptedException;
    }

    /** The table's changes, which go on beside the load; called by the loading thread. */
    public interface Changes {
        /** An answer of {@link #use}: not with this snapshot. */
        long NO_POSITION = -1;

        /** A snapshot is about to be taken; which changes it will not see is not known yet. */
        void keep() throws InterruptedException;

        /**
         * The rows of this snapshot are about to be read, unless the answer says otherwise.
         *
         * @return the commit position of the rows: the snapshot sees every commit up to it
         */
        long use(SourceSnapshot snapshot) throws InterruptedException;

        /** The snapshot was not used; there will be another attempt, whose snapshot sees more. */
        void forget();
    }

    /** Told how far a load is; by as many threads as there are sessions. */
    public interface Progress {
        /**
         * Rows are about to come.
         *
         * @param estimatedRows by the source's statistics, -1 if unknown
         */
        void began(long estimatedRows);

        /** Handed on so far: rows, and the bytes in which the source sent them. */
        void advanced(long rows, long bytes);

        /** A new attempt will be made shortly. */
        void waits(String reason);

        /** Tells nobody. */
        Progress NONE =
                new Progress() {
                    @Override
                    public void began(long estimatedRows) {}

                    @Override
                    public void advanced(long rows, long bytes) {}

                    @Override
                    public void waits(String reason) {}
                };
    }

    /**
     * Opens sessions on the followed database. Where its encoding is not UTF8 they must have
     * pgjdbc's {@code allowEncodingChanges}, as {@code ConnectionSettings} gives it.
     */
    public interface Sessions {
        Connection open() throws SQLException;
    }

    /**
     * @param lockTimeoutMillis how long one attempt waits for the table's lock
     * @param firstPauseMillis before the second attempt; doubles up to {@code lastPauseMillis}
     * @param chunkBytes of rows that are handed on at once; a larger row is a chunk of its own
     * @param limit of values
     * @param sessions that read one table at the same time, if it has several ranges of blocks
     * @param rangeBlocks what a session reads at a time
     * @param chunks the chunks of the table's TOAST relation are wanted, behind its rows
     */
    public record Options(
            int lockTimeoutMillis,
            int firstPauseMillis,
            int lastPauseMillis,
            int chunkBytes,
            ValueLimit limit,
            int sessions,
            int rangeBlocks,
            boolean chunks) {
        /** 64 MB, so that many tables are one range. */
        private static final int RANGE_BLOCKS = 8192;

        /** One session. */
        public Options(
                int lockTimeoutMillis,
                int firstPauseMillis,
                int lastPauseMillis,
                int chunkBytes,
                ValueLimit limit) {
            this(
                    lockTimeoutMillis,
                    firstPauseMillis,
                    lastPauseMillis,
                    chunkBytes,
                    limit,
                    1,
                    RANGE_BLOCKS,
                    false);
        }

        public static Options defaults(ValueLimit limit) {
            return new Options(5_000, 50, 2_000, 1 << 20, limit);
        }

        public Options withSessions(int count) {
            return withSessions(count, rangeBlocks);
        }

        Options withSessions(int count, int blocks) {
            return new Options(
                    lockTimeoutMillis,
                    firstPauseMillis,
                    lastPauseMillis,
                    chunkBytes,
                    limit,
                    count,
                    blocks,
                    chunks);
        }

        public Options withChunks(boolean wanted) {
            return new Options(
                    lockTimeoutMillis,
                    firstPauseMillis,
                    lastPauseMillis,
                    chunkBytes,
                    limit,
                    sessions,
                    rangeBlocks,
                    wanted);
        }
    }

    /** Where rows and news of a run go. */
    record Consumers(Changes changes, Rows rows, Progress progress) {}

    private static final String INSUFFICIENT_PRIVILEGE = "42501";
    private static final String PROGRAM_LIMIT_EXCEEDED = "54000";
    private static final String DATA_CORRUPTED = "XX001";
    private static final String INDEX_CORRUPTED = "XX002";

    /** What a new attempt would not change. */
    private static final Set<String> LASTING =
            Set.of(INSUFFICIENT_PRIVILEGE, PROGRAM_LIMIT_EXCEEDED, DATA_CORRUPTED, INDEX_CORRUPTED);

    private final Sessions sessions;
    private final Options options;

    public TableLoad(Sessions sessions, Options options) {
        this.sessions = sessions;
        this.options = options;
    }

    /**
     * Loads the table. Interrupting the caller ends the load and closes its session.
     *
     * @param shape for which {@code mapping} was made
     * @throws SQLException the source cannot be asked or was lost: begin anew
     * @throws QuarantineException the table cannot be loaded as it is mapped, or the source refuses
     */
    public Outcome run(
            RelationDescriptor shape,
            TableMapping mapping,
            Changes changes,
            Rows rows,
            Progress progress)
            throws InterruptedException, SQLException {
        Run run =
                new Run(
                        shape,
                        LoadShape.of(shape, mapping),
                        new Consumers(changes, rows, progress));
        // an interrupt ends blocking I/O of virtual threads only
        FutureTask<Outcome> task = new FutureTask<>(run::run);
        Thread thread = Thread.ofVirtual().name("load " + shape.label()).start(task);
        try {
            return task.get();
        } catch (ExecutionException e) {
            throw unwrapped(e);
        } finally {
            thread.interrupt();
            joinUninterruptibly(thread);
        }
    }

    static void joinUninterruptibly(Thread thread) {
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    static IllegalStateException unwrapped(ExecutionException failure)
            throws InterruptedException, SQLException {
        switch (failure.getCause()) {
            case SQLException e -> throw e;
            case InterruptedException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null -> throw new IllegalStateException(failure);
            default -> throw new IllegalStateException(failure);
        }
    }

    /** One run; on its own thread. */
    private final class Run {
        private final RelationDescriptor shape;
        private final LoadShape load;
        private final Consumers consumers;

        Run(RelationDescriptor shape, LoadShape load, Consumers consumers) {
            this.shape = shape;
            this.load = load;
            this.consumers = consumers;
        }

        Outcome run() throws SQLException, InterruptedException {
            try (LoadSession session = LoadSession.open(sessions)) {
                Set<Long> awaited = session.waitingForStandby();
                long pause = options.firstPauseMillis();
                while (true) {
                    Outcome outcome = attempt(session, awaited);
                    if (outcome != null) {
                        return outcome;
                    }
                    consumers.changes().forget();
                    session.rollback();
                    Thread.sleep(pause);
                    pause = Math.min(pause * 2, options.lastPauseMillis());
                }
            } catch (SQLException e) {
                if (LASTING.contains(e.getSQLState())) {
                    throw new QuarantineException(
                            BootstrapCodes.LOAD_REFUSED,
                            shape.label() + " cannot be loaded: the source says: " + e.getMessage(),
                            e);
                }
                throw e;
            }
        }

        /**
         * Null: once more.
         *
         * @param awaited transactions that a snapshot must see, since they may have committed at or
         *     below the position; those that wait for a standby later have committed later
         */
        private @Nullable Outcome attempt(LoadSession session, Set<Long> awaited)
                throws SQLException, InterruptedException {
            RelationName name = session.name(shape.oid());
            if (name == null) {
                return new Outcome.Gone();
            }
            Boolean readable = lock(session, name);
            if (readable == null) {
                return again("the table is locked or was renamed");
            }
            consumers.changes().keep();
            Snapshot snapshot = session.snapshot(name, shape.oid());
            if (!snapshot.sameTable()) {
                return again("the table was renamed");
            }
            if (snapshot.hidesAny(awaited)) {
                return again("a committed transaction waits for a synchronous standby");
            }
            RelationDescriptor now = session.shape(shape.oid());
            if (now == null) {
                return new Outcome.Gone();
            }
            String difference = LoadComparison.differs(shape, now);
            if (difference != null) {
                return new Outcome.ShapeDiffers(difference);
            }
            checkCasts(session);
            long position = consumers.changes().use(snapshot.visible());
            if (position == Changes.NO_POSITION) {
                return again("a commit up to the load's position is not visible yet");
            }
            return readable
                    ? copy(session, snapshot, now, position)
                    : new Outcome.Loaded(0, snapshot.visible().insertPosition());
        }

        /** Null: it cannot be had; false: it has no content (a view WITH NO DATA). */
        private @Nullable Boolean lock(LoadSession session, RelationName name) throws SQLException {
            int timeout = options.lockTimeoutMillis();
            if (shape.kind() == 'm') {
                return session.lockView(name, timeout);
            }
            return session.lock(name, timeout) ? Boolean.TRUE : null;
        }

        private @Nullable Outcome again(String reason) {
            consumers.progress().waits(reason);
            return null;
        }

        private Outcome copy(
                LoadSession session, Snapshot snapshot, RelationDescriptor now, long position)
                throws SQLException, InterruptedException {
            session.useStoredEncoding(); // COPY sends labels in it
            Set<Integer> enums = enums();
            List<EnumLabel> labels = session.labels(enums);
            BaselineChunk.Origin origin =
                    new BaselineChunk.Origin(
                            0, shape.databaseOid(), position, position, snapshot.micros());
            consumers.progress().began(snapshot.rows());
            SnapshotRead.Table table = new SnapshotRead.Table(load, now, labels, origin);
            long rows;
            try {
                rows = new SnapshotRead(sessions, table, options, consumers).run(session);
            } catch (EnumLabels.UnknownLabelException e) {
                return new Outcome.ShapeDiffers(String.valueOf(e.getMessage()));
            }
            if (options.chunks() && now.toastRelationOid() != 0) {
                copyChunks(session, now, origin);
            }
            session.rollback();
            // labels are read with whatever catalog is current, not with the snapshot
            if (!texts(session.labels(enums)).equals(texts(labels))) {
                return new Outcome.ShapeDiffers("the labels of an enum changed during the load");
            }
            return new Outcome.Loaded(rows, snapshot.visible().insertPosition());
        }

        private void copyChunks(
                LoadSession session, RelationDescriptor now, BaselineChunk.Origin origin)
                throws SQLException, InterruptedException {
            RelationDescriptor toast = session.shape(now.toastRelationOid());
            if (toast != null) { // the table is locked
                ChunkCopy copy =
                        new ChunkCopy(toast, origin, options.chunkBytes(), consumers.rows());
                copy.run(session.copy(copy.sql()));
                session.copied();
            }
        }

        private static List<String> texts(List<EnumLabel> labels) {
            return labels.stream().map(EnumLabel::text).toList();
        }

        private Set<Integer> enums() {
            Set<Integer> enums = new HashSet<>();
            for (TypeDescriptor type : shape.types()) {
                if (type.kind() == 'e') {
                    enums.add(type.oid());
                }
            }
            return enums;
        }

        private void checkCasts(LoadSession session) throws SQLException {
            Set<Integer> cast = new HashSet<>();
            for (LoadShape.Column column : load.columns()) {
                if (column.asked() == LoadShape.Asked.ARRAY_OUTPUT) {
                    cast.add(column.typeOid());
                }
            }
            List<String> others = session.otherCasts(cast);
            if (!others.isEmpty()) {
                throw new QuarantineException(
                        BootstrapCodes.LOAD_COLUMN,
                        shape.label()
                                + ": arrays of "
                                + others.getFirst()
                                + " cannot be loaded, since its cast to text is not its output;"
                                + " map the column to String");
            }
        }
    }
}
