package dev.walshadow.bootstrap.backup;

import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.source.replication.ReplicationConnection;
import java.nio.file.Path;
import java.util.Set;

/** Streams one base backup. */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString"})
public final class BaseBackupRun {
    /**
     * @param dataDirectory the shadow's; empty or absent before the run
     * @param systemIdentifier of the source, written into the markers
     * @param rewrittenCatalogs catalogs and their indexes with relation numbers of 16384 and above
     *     (VACUUM FULL of a catalog gives them such): kept as catalog files
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
     * Takes the backup. On return the shadow's files are durable, the incomplete marker is still
     * there: the caller removes it by {@link ShadowMarkers#complete}.
     */
    public static BackupOutcome run(
            ReplicationConnection connection,
            Options options,
            HeapFileSink heapFiles,
            BackupListener listener)
            throws InterruptedException {
        throw new UnsupportedOperationException("" + connection + options + heapFiles + listener);
    }
}
