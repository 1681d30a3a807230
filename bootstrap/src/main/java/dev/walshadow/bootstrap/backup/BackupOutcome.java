package dev.walshadow.bootstrap.backup;

/**
 * A finished base backup.
 *
 * @param startLsn B: redo position; the shadow recovers from here
 * @param endLsn E: with the WAL up to here the copy is consistent
 * @param bytes of the stream, tar headers included
 * @param filesKept laid into the shadow's data directory
 * @param filesTapped handed to the {@link dev.walshadow.bootstrap.HeapFileSink}
 */
public record BackupOutcome(
        long startLsn, long endLsn, int timeline, long bytes, int filesKept, int filesTapped) {}
