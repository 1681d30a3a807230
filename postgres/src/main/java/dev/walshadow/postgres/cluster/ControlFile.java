package dev.walshadow.postgres.cluster;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.PostgresCodes;
import java.util.zip.CRC32C;

/**
 * What {@code global/pg_control} says, of PostgreSQL 15-18. Immutable. XIDs, OIDs and multixacts
 * are unsigned 32-bit values in ints.
 *
 * @param majorVersion 15 to 18, from the catalog version
 * @param checkPoint where the latest checkpoint's record is
 * @param redo where recovery from that checkpoint starts
 * @param timeline of that checkpoint
 * @param nextXid FullTransactionId: epoch in the upper half
 * @param minRecoveryPoint a standby is consistent from here on; 0 on a primary
 * @param backupStartPoint not 0 while recovery from a base backup has not reached its end
 * @param segmentBlocks blocks per file of a relation
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

    /** DBState, in its order. */
    public enum State {
        STARTUP,
        SHUTDOWNED,
        SHUTDOWNED_IN_RECOVERY,
        SHUTDOWNING,
        IN_CRASH_RECOVERY,
        IN_ARCHIVE_RECOVERY,
        IN_PRODUCTION
    }

    /**
     * Settings as of the last start or change; a standby must not undercut the numbers.
     *
     * @param walLevel 0 minimal, 1 replica, 2 logical
     */
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
     * @throws HaltException if they are cut, their CRC is wrong, or their format is not of 15-18
     */
    public static ControlFile parse(byte[] bytes) {
        if (bytes.length < ControlFileLayout.CRC_18 + 4) {
            throw malformed(
                    "at least " + (ControlFileLayout.CRC_18 + 4) + " bytes, found " + bytes.length);
        }
        int controlVersion = LittleEndian.getInt(bytes, ControlFileLayout.CONTROL_VERSION);
        int crcAt =
                switch (controlVersion) {
                    case ControlFileLayout.VERSION_13_TO_16, ControlFileLayout.VERSION_17 ->
                            ControlFileLayout.CRC;
                    case ControlFileLayout.VERSION_18 -> ControlFileLayout.CRC_18;
                    default ->
                            throw unsupported(
                                    "pg_control version 1300, 1700 or 1800", "" + controlVersion);
                };
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, crcAt);
        int stored = LittleEndian.getInt(bytes, crcAt);
        if ((int) crc.getValue() != stored) {
            throw malformed(
                    "CRC 0x"
                            + Long.toHexString(crc.getValue())
                            + ", found 0x"
                            + Integer.toHexString(stored));
        }
        long floatBits = LittleEndian.getLong(bytes, ControlFileLayout.FLOAT_FORMAT);
        if (Double.longBitsToDouble(floatBits) != ControlFileLayout.FLOAT_FORMAT_VALUE) {
            throw malformed("a little-endian machine's floating-point format");
        }
        return read(bytes, controlVersion);
    }

    private static ControlFile read(byte[] bytes, int controlVersion) {
        int catalogVersion = LittleEndian.getInt(bytes, ControlFileLayout.CATALOG_VERSION);
        int state = LittleEndian.getInt(bytes, ControlFileLayout.STATE);
        if (state < 0 || state >= State.values().length) {
            throw malformed("a state of 0 to 6, found " + state);
        }
        return new ControlFile(
                LittleEndian.getLong(bytes, ControlFileLayout.SYSTEM_IDENTIFIER),
                controlVersion,
                catalogVersion,
                majorVersion(catalogVersion),
                State.values()[state],
                LittleEndian.getLong(bytes, ControlFileLayout.CHECK_POINT),
                LittleEndian.getLong(bytes, ControlFileLayout.REDO),
                LittleEndian.getInt(bytes, ControlFileLayout.TIMELINE),
                LittleEndian.getInt(bytes, ControlFileLayout.PREVIOUS_TIMELINE),
                bytes[ControlFileLayout.FULL_PAGE_WRITES] != 0,
                LittleEndian.getLong(bytes, ControlFileLayout.NEXT_XID),
                LittleEndian.getInt(bytes, ControlFileLayout.NEXT_OID),
                LittleEndian.getInt(bytes, ControlFileLayout.NEXT_MULTI),
                LittleEndian.getInt(bytes, ControlFileLayout.NEXT_MULTI_OFFSET),
                LittleEndian.getInt(bytes, ControlFileLayout.OLDEST_XID),
                LittleEndian.getInt(bytes, ControlFileLayout.OLDEST_MULTI),
                LittleEndian.getInt(bytes, ControlFileLayout.OLDEST_ACTIVE_XID),
                LittleEndian.getLong(bytes, ControlFileLayout.MIN_RECOVERY_POINT),
                LittleEndian.getInt(bytes, ControlFileLayout.MIN_RECOVERY_POINT_TIMELINE),
                LittleEndian.getLong(bytes, ControlFileLayout.BACKUP_START_POINT),
                LittleEndian.getLong(bytes, ControlFileLayout.BACKUP_END_POINT),
                readSettings(bytes),
                LittleEndian.getInt(bytes, ControlFileLayout.BLOCK_SIZE),
                LittleEndian.getInt(bytes, ControlFileLayout.SEGMENT_BLOCKS),
                LittleEndian.getInt(bytes, ControlFileLayout.WAL_BLOCK_SIZE),
                LittleEndian.getInt(bytes, ControlFileLayout.WAL_SEGMENT_SIZE),
                LittleEndian.getInt(bytes, ControlFileLayout.DATA_CHECKSUM_VERSION));
    }

    private static WalSettings readSettings(byte[] bytes) {
        return new WalSettings(
                LittleEndian.getInt(bytes, ControlFileLayout.WAL_LEVEL),
                bytes[ControlFileLayout.WAL_LOG_HINTS] != 0,
                LittleEndian.getInt(bytes, ControlFileLayout.MAX_CONNECTIONS),
                LittleEndian.getInt(bytes, ControlFileLayout.MAX_WORKER_PROCESSES),
                LittleEndian.getInt(bytes, ControlFileLayout.MAX_WAL_SENDERS),
                LittleEndian.getInt(bytes, ControlFileLayout.MAX_PREPARED_XACTS),
                LittleEndian.getInt(bytes, ControlFileLayout.MAX_LOCKS_PER_XACT),
                bytes[ControlFileLayout.TRACK_COMMIT_TIMESTAMP] != 0);
    }

    /** The catalog versions of the released majors, which minor releases do not change. */
    private static int majorVersion(int catalogVersion) {
        return switch (catalogVersion) {
            case 202209061 -> 15;
            case 202307071 -> 16;
            case 202406281 -> 17;
            case 202506291 -> 18;
            default ->
                    throw unsupported(
                            "the catalog version of PostgreSQL 15, 16, 17 or 18",
                            "" + catalogVersion);
        };
    }

    private static HaltException malformed(String expected) {
        return new HaltException(
                PostgresCodes.MALFORMED_CONTROL_FILE,
                "malformed global/pg_control: expected "
                        + expected
                        + ". The file is cut or damaged: check the data directory with"
                        + " pg_controldata.");
    }

    private static HaltException unsupported(String expected, String found) {
        return new HaltException(
                PostgresCodes.UNSUPPORTED_CLUSTER,
                "unsupported cluster: expected "
                        + expected
                        + " in global/pg_control, found "
                        + found
                        + ". walshadow follows released PostgreSQL 15 to 18.");
    }
}
