package dev.walshadow.bootstrap.backup;

import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.HeapFileSink;
import java.util.OptionalLong;

/** Where a base backup comes from: the source itself, or an object store that holds one. */
public interface BackupSource {
    /**
     * Takes the backup: lays the shadow's data directory, hands the heap files of user relations
     * on, drops the rest. All on the caller's thread; a sink that blocks holds the backup back. On
     * return the shadow's files are durable; the incomplete marker is there until {@link
     * ShadowMarkers#complete}. After a failure the data directory is INCOMPLETE.
     */
    BackupOutcome run(
            BaseBackupRun.Options options, HeapFileSink heapFiles, BackupListener listener)
            throws InterruptedException;

    /**
     * A WAL position that every page of the backup was copied before: E of a backup that is
     * finished. Empty for one that is being taken.
     */
    OptionalLong copiedBefore();
}
