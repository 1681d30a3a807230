package dev.walshadow.postgres.cluster;

/**
 * What {@code global/pg_control} says, of PostgreSQL 15-18. Immutable.
 *
 * @param majorVersion 15 to 18, from the format and catalog versions
 * @param state DBState
 * @param checkPoint where the latest checkpoint's record is
 * @param redo where recovery from that checkpoint starts
 * @param nextXid FullTransactionId: epoch in the upper half
 * @param dataChecksumVersion 0 = data checksums are off
 */
public record ControlFile(
        long systemIdentifier,
        int controlVersion,
        int catalogVersion,
        int majorVersion,
        State state,
        long checkPoint,
        long redo,
        int timeline,
        int previousTimeline,
        boolean fullPageWrites,
        long nextXid,
        int nextOid,
        int nextMulti,
        int nextMultiOffset,
        int oldestXid,
        int oldestMulti,
        int oldestActiveXid,
        long minRecoveryPoint,
        int minRecoveryPointTimeline,
        long backupStartPoint,
        long backupEndPoint,
        WalSettings wal,
        int blockSize,
        int segmentBlocks,
        int walBlockSize,
        int walSegmentSize,
        int dataChecksumVersion) {

    /** DBState. */
    public enum State {
        STARTUP,
        SHUTDOWNED,
        SHUTDOWNED_IN_RECOVERY,
        SHUTDOWNING,
        IN_CRASH_RECOVERY,
        IN_ARCHIVE_RECOVERY,
        IN_PRODUCTION
    }

    /** The settings whose values a standby must not undercut. */
    public record WalSettings(
            int walLevel,
            boolean walLogHints,
            int maxConnections,
            int maxWorkerProcesses,
            int maxWalSenders,
            int maxPreparedTransactions,
            int maxLocksPerTransaction,
            boolean trackCommitTimestamp) {}

    /**
     * Reads the file's bytes.
     *
     * @throws dev.walshadow.base.HaltException if they are cut, their CRC is wrong, or their format
     *     is not of 15-18
     */
    public static ControlFile parse(byte[] bytes) {
        if (bytes.length == 1) {
            return parse(new byte[0]);
        }
        throw new UnsupportedOperationException();
    }
}
