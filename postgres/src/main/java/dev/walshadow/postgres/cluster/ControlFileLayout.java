package dev.walshadow.postgres.cluster;

/**
 * {@code global/pg_control}: ControlFileData, padded with zeros to 8192 bytes.
 *
 * <pre>
 *   0 u64 system_identifier          136 u64 minRecoveryPoint
 *   8 u32 pg_control_version         144 u32 minRecoveryPointTLI
 *  12 u32 catalog_version_no         152 u64 backupStartPoint
 *  16 u32 state (DBState)            160 u64 backupEndPoint
 *  24 i64 time                       168 u8  backupEndRequired
 *  32 u64 checkPoint                 172 i32 wal_level
 *  40     checkPointCopy:            176 u8  wal_log_hints
 *  40 u64 redo                       180 i32 MaxConnections
 *  48 u32 ThisTimeLineID             184 i32 max_worker_processes
 *  52 u32 PrevTimeLineID             188 i32 max_wal_senders
 *  56 u8  fullPageWrites             192 i32 max_prepared_xacts
 *  60 i32 wal_level (17+)            196 i32 max_locks_per_xact
 *  64 u64 nextXid (with epoch)       200 u8  track_commit_timestamp
 *  72 u32 nextOid                    204 u32 maxAlign
 *  76 u32 nextMulti                  208 f64 floatFormat, 1234567.0
 *  80 u32 nextMultiOffset            216 u32 blcksz
 *  84 u32 oldestXid                  220 u32 relseg_size
 *  88 u32 oldestXidDB                224 u32 xlog_blcksz
 *  92 u32 oldestMulti                228 u32 xlog_seg_size
 *  96 u32 oldestMultiDB              232 u32 nameDataLen
 * 104 i64 time                       236 u32 indexMaxKeys
 * 112 u32 oldestCommitTsXid          240 u32 toast_max_chunk_size
 * 116 u32 newestCommitTsXid          244 u32 loblksize
 * 120 u32 oldestActiveXid            248 u8  float8ByVal
 * 128 u64 unloggedLSN                252 u32 data_checksum_version
 *                                    256 u8[32] mock_authentication_nonce; 18: u8 default char
 *                                        signedness in front of it, so it starts at 257
 *                                    288 u32 crc (18: 292): CRC32C of everything before it
 * </pre>
 *
 * Source: {@code src/include/catalog/pg_control.h}, PostgreSQL 15-18.
 */
final class ControlFileLayout {
    static final int SYSTEM_IDENTIFIER = 0;
    static final int CONTROL_VERSION = 8;
    static final int CATALOG_VERSION = 12;
    static final int STATE = 16;
    static final int CHECK_POINT = 32;
    static final int REDO = 40;
    static final int TIMELINE = 48;
    static final int PREVIOUS_TIMELINE = 52;
    static final int FULL_PAGE_WRITES = 56;
    static final int NEXT_XID = 64;
    static final int NEXT_OID = 72;
    static final int NEXT_MULTI = 76;
    static final int NEXT_MULTI_OFFSET = 80;
    static final int OLDEST_XID = 84;
    static final int OLDEST_MULTI = 92;
    static final int OLDEST_ACTIVE_XID = 120;
    static final int MIN_RECOVERY_POINT = 136;
    static final int MIN_RECOVERY_POINT_TIMELINE = 144;
    static final int BACKUP_START_POINT = 152;
    static final int BACKUP_END_POINT = 160;
    static final int WAL_LEVEL = 172;
    static final int WAL_LOG_HINTS = 176;
    static final int MAX_CONNECTIONS = 180;
    static final int MAX_WORKER_PROCESSES = 184;
    static final int MAX_WAL_SENDERS = 188;
    static final int MAX_PREPARED_XACTS = 192;
    static final int MAX_LOCKS_PER_XACT = 196;
    static final int TRACK_COMMIT_TIMESTAMP = 200;
    static final int FLOAT_FORMAT = 208;
    static final int BLOCK_SIZE = 216;
    static final int SEGMENT_BLOCKS = 220;
    static final int WAL_BLOCK_SIZE = 224;
    static final int WAL_SEGMENT_SIZE = 228;
    static final int DATA_CHECKSUM_VERSION = 252;
    static final int CRC = 288;
    static final int CRC_18 = 292;

    static final int VERSION_13_TO_16 = 1300;
    static final int VERSION_17 = 1700;
    static final int VERSION_18 = 1800;

    /** FLOATFORMAT_VALUE, which shows that byte order and floating point are as expected. */
    static final double FLOAT_FORMAT_VALUE = 1_234_567.0;

    private ControlFileLayout() {}
}
