package dev.walshadow.bootstrap.reload;

import dev.walshadow.bootstrap.load.BaselineChunk;
import dev.walshadow.bootstrap.reload.LoadSession.EnumLabel;
import dev.walshadow.bootstrap.reload.TableLoad.Consumers;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.value.SendForm;
import dev.walshadow.postgres.value.SendForms;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * Reads all rows that one snapshot shows of a table: by one session, or of a large table by several
 * that share the snapshot, each a range of blocks at a time. Used once.
 */
final class SnapshotRead {
    /**
     * What is read.
     *
     * @param now the table as it is named under the lock
     * @param labels of the enums involved
     */
    record Table(
            LoadShape shape,
            RelationDescriptor now,
            List<EnumLabel> labels,
            BaselineChunk.Origin origin) {}

    private final TableLoad.Sessions sessions;
    private final Table table;
    private final TableLoad.Options options;
    private final Consumers consumers;
    private final List<Thread> threads = new ArrayList<>();

    // of all sessions; guarded by this
    private long rows;
    private long bytes;

    SnapshotRead(
            TableLoad.Sessions sessions,
            Table table,
            TableLoad.Options options,
            Consumers consumers) {
        this.sessions = sessions;
        this.table = table;
        this.options = options;
        this.consumers = consumers;
    }

    /**
     * Returns the number of rows.
     *
     * @param session has the table's lock and the snapshot, until everything has been read
     */
    long run(LoadSession session) throws SQLException, InterruptedException {
        BlockRanges ranges = ranges(session);
        List<FutureTask<Boolean>> others = new ArrayList<>();
        try {
            if (ranges.count() > 1) {
                String snapshot = session.exportSnapshot();
                for (long i = 1; i < Math.min(options.sessions(), ranges.count()); i++) {
                    others.add(begin(snapshot, ranges));
                }
            }
            read(session, ranges);
            for (FutureTask<Boolean> other : others) {
                other.get();
            }
            synchronized (this) {
                return rows;
            }
        } catch (ExecutionException e) {
            throw TableLoad.unwrapped(e);
        } finally {
            ranges.end();
            threads.forEach(Thread::interrupt);
            threads.forEach(TableLoad::joinUninterruptibly);
        }
    }

    private BlockRanges ranges(LoadSession session) throws SQLException {
        boolean inBlocks = table.now().kind() == 'r' && options.sessions() > 1;
        return inBlocks
                ? new BlockRanges(session.blocks(table.now().oid()), options.rangeBlocks())
                : new BlockRanges(1, 1);
    }

    private FutureTask<Boolean> begin(String snapshot, BlockRanges ranges) {
        FutureTask<Boolean> task =
                new FutureTask<>(() -> {
                    boolean done = false;
                    try (LoadSession session = LoadSession.open(sessions)) {
                        int timeout = options.lockTimeoutMillis();
                        // somebody may wait for the lock, and we for him: then the others read all
                        if (session.share(snapshot, table.now(), timeout)) {
                            read(session, ranges);
                            session.rollback();
                        }
                        done = true;
                    } finally {
                        if (!done) {
                            ranges.end();
                        }
                    }
                    return true;
                });
        threads.add(Thread.ofVirtual().name("load " + table.now().label() + " beside").start(task));
        return task;
    }

    private void read(LoadSession session, BlockRanges ranges)
            throws SQLException, InterruptedException {
        String encoding = session.useStoredEncoding();
        for (BlockRanges.Range range = ranges.next(); range != null; range = ranges.next()) {
            TableCopy copy =
                    new TableCopy(
                            table.shape(),
                            forms(),
                            table.origin(),
                            options,
                            new Consumers(consumers.changes(), consumers.rows(), new Share()));
            copy.run(
                    session.copy(
                            CopySql.copy(
                                    table.now(), table.shape(), encoding, options.limit(), range)));
            session.copied();
        }
    }

    private List<SendForm> forms() {
        List<SendForm> forms = new ArrayList<>();
        for (LoadShape.Column column : table.shape().columns()) {
            SendForm scalar = column.form();
            if (scalar == null) {
                scalar =
                        new EnumLabels(
                                table.labels().stream()
                                        .filter(label -> label.typeOid() == column.typeOid())
                                        .map(EnumLabel::stored)
                                        .toList());
            }
            forms.add(
                    column.array()
                            ? SendForms.array(
                                    scalar, column.elementLength(), column.elementAlignment())
                            : Objects.requireNonNull(scalar));
        }
        return forms;
    }

    /** One COPY's part of the progress. */
    private final class Share implements TableLoad.Progress {
        private long ownRows;
        private long ownBytes;

        @Override
        public void began(long estimatedRows) {}

        @Override
        public void advanced(long rowsSoFar, long bytesSoFar) {
            synchronized (SnapshotRead.this) {
                rows += rowsSoFar - ownRows;
                bytes += bytesSoFar - ownBytes;
                ownRows = rowsSoFar;
                ownBytes = bytesSoFar;
                consumers.progress().advanced(rows, bytes);
            }
        }

        @Override
        public void waits(String reason) {}
    }
}
