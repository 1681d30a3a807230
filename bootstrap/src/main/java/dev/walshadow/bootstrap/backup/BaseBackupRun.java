package dev.walshadow.bootstrap.backup;

import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.source.replication.BaseBackupOptions;
import dev.walshadow.source.replication.BaseBackupSink;
import dev.walshadow.source.replication.ReplicationConnection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Streams one base backup: lays the shadow's data directory, hands the user relations' heap files
 * on, drops the rest. One pass, nothing is stored twice, memory is bounded by the connection's
 * buffer; a sink that blocks holds the server back. All on the caller's thread.
 */
public final class BaseBackupRun {
    /**
     * @param dataDirectory the shadow's; empty or absent before the run
     * @param systemIdentifier of the source, written into the marker
     * @param rewrittenCatalogs catalogs, their indexes and TOAST tables with relation numbers of
     *     16384 and above (VACUUM FULL of a catalog gives them such): kept as catalog files. Looked
     *     into per file, so {@link BackupListener#started} may still add to it
     * @param maxRateKilobytes per second; 0 = unlimited
     */
    public record Options(
            Path dataDirectory,
            long systemIdentifier,
            Set<RelationLocator> rewrittenCatalogs,
            String label,
            int maxRateKilobytes) {}

    private BaseBackupRun() {}

    /**
     * Takes the backup. On return the shadow's files are durable; the incomplete marker is there
     * until {@link ShadowMarkers#complete}. After a failure the data directory is INCOMPLETE.
     */
    public static BackupOutcome run(
            ReplicationConnection connection,
            Options options,
            HeapFileSink heapFiles,
            BackupListener listener)
            throws InterruptedException {
        ShadowMarkers.begin(options.dataDirectory(), options.systemIdentifier());
        try (DirectoryLander lander = new DirectoryLander(options.dataDirectory())) {
            FileRouter router = new FileRouter(options.rewrittenCatalogs());
            Sink sink = new Sink(new EntrySorter(router, lander, heapFiles), listener);
            connection.baseBackup(
                    new BaseBackupOptions(options.label(), true, options.maxRateKilobytes()), sink);
            lander.finish();
            return sink.outcome();
        }
    }

    /** The stream's consumer. */
    private static final class Sink implements BaseBackupSink {
        private static final long PROGRESS_NANOS = 50_000_000;

        private final EntrySorter sorter;
        private final BackupListener listener;
        private List<Tablespace> tablespaces = List.of();
        private @Nullable TarReader archive;
        private long startLsn;
        private long endLsn;
        private int timeline;
        private long bytes;
        private long bytesExpected;
        private long startedNanos;
        private long reportedNanos;

        Sink(EntrySorter sorter, BackupListener listener) {
            this.sorter = sorter;
            this.listener = listener;
        }

        BackupOutcome outcome() {
            return new BackupOutcome(
                    startLsn, endLsn, timeline, bytes, sorter.filesKept(), sorter.filesTapped());
        }

        @Override
        public void start(long lsn, int timeline, List<Tablespace> tablespaces)
                throws InterruptedException {
            this.startLsn = lsn;
            this.timeline = timeline;
            this.tablespaces = tablespaces;
            for (Tablespace tablespace : tablespaces) {
                bytesExpected += Math.max(0, tablespace.kilobytes()) * 1024;
            }
            listener.started(lsn, timeline);
            startedNanos = System.nanoTime();
            reportedNanos = startedNanos;
            report();
        }

        @Override
        public void archive(String name, String path) {
            finishArchive();
            sorter.tablespace(oid(name));
            archive = new TarReader(name, sorter);
        }

        private int oid(String name) {
            for (Tablespace tablespace : tablespaces) {
                String expected =
                        tablespace.oid() == 0
                                ? "base.tar"
                                : Integer.toUnsignedString(tablespace.oid()) + ".tar";
                if (expected.equals(name)) {
                    return tablespace.oid();
                }
            }
            throw new RetryException(
                    BackupCodes.BROKEN_STREAM,
                    "the base backup brings an archive "
                            + name
                            + " that belongs to none of its tablespaces "
                            + tablespaces);
        }

        @Override
        public void data(byte[] data, int offset, int length) throws InterruptedException {
            TarReader reader = archive;
            if (reader == null) {
                throw new RetryException(
                        BackupCodes.BROKEN_STREAM, "the base backup brings bytes of no archive");
            }
            reader.push(data, offset, length);
            bytes += length;
            if (System.nanoTime() - reportedNanos >= PROGRESS_NANOS) {
                report();
            }
        }

        private void report() {
            reportedNanos = System.nanoTime();
            listener.progress(
                    new BackupProgress(
                            bytes,
                            Math.max(bytes, bytesExpected),
                            Duration.ofNanos(reportedNanos - startedNanos)));
        }

        @Override
        public void end(long lsn, int timeline) {
            finishArchive();
            endLsn = lsn;
            bytesExpected = bytes;
            report();
        }

        private void finishArchive() {
            if (archive != null) {
                archive.finish();
                archive = null;
            }
        }
    }
}
