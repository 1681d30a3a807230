package dev.walshadow.postgres.wal;

/**
 * Payloads of {@link ResourceManager#TRANSACTION}.
 *
 * <pre>
 * COMMIT, ABORT, COMMIT_PREPARED, ABORT_PREPARED: i64 xact_time, then in this order
 *   [u32 xinfo                                     if xl_info has XLOG_XACT_HAS_INFO]
 *   [u32 dbId, u32 tsId                            if HAS_DBINFO]
 *   [i32 n, u32 xid * n                            if HAS_SUBXACTS]
 *   [i32 n, RelFileLocator * n                     if HAS_RELFILELOCATORS]
 *   [i32 n, stats item * n                         if HAS_DROPPED_STATS]
 *        stats item: i32 kind, u32 dboid, u32 objoid (15-17); u32 objid_lo, u32 objid_hi (18)
 *   [i32 n, SharedInvalidationMessage * n          if HAS_INVALS, never in aborts]
 *   [u32 xid of the prepared transaction           if HAS_TWOPHASE]
 *   [gid, NUL-terminated, unpadded                 if HAS_GID]
 *   [u64 origin lsn, i64 origin timestamp          if HAS_ORIGIN, unaligned]
 *
 * PREPARE: xl_xact_prepare, 72 bytes
 *    0 u32 magic   4 u32 total_len   8 u32 xid   12 u32 database   16 i64 prepared_at
 *   24 u32 owner  28 i32 nsubxacts  32 i32 ncommitrels  36 i32 nabortrels
 *   40 i32 ncommitstats  44 i32 nabortstats  48 i32 ninvalmsgs  52 u8 initfileinval
 *   54 u16 gidlen (with NUL)  56 u64 origin_lsn  64 i64 origin_timestamp
 *   then, each padded to 8: gid, subxids, commitrels, abortrels, commitstats, abortstats, invalmsgs
 *
 * ASSIGNMENT: u32 xtop, i32 nsubxacts, u32 xsub * n
 * INVALIDATIONS: i32 nmsgs, SharedInvalidationMessage * n
 *
 * SharedInvalidationMessage, 16 bytes
 *    0 i8 id      >= 0: catcache id; -1 catalog; -2 relcache; -3 smgr; -4 relmap; -5 snapshot;
 *                 -6 relsync (18)
 *    4 u32 dbId   (smgr: locator at 4)
 *    8 u32 catcache: hash value; catalog: catId; relcache, snapshot, relsync: relId (0 = all)
 * </pre>
 *
 * Source: {@code src/include/access/xact.h}, {@code src/include/storage/sinval.h}, {@code
 * src/backend/access/rmgrdesc/xactdesc.c}, PostgreSQL 15-18. 18 widened the stats item.
 */
public final class TransactionRecordLayout {
    public static final int XLOG_XACT_COMMIT = 0x00;
    public static final int XLOG_XACT_PREPARE = 0x10;
    public static final int XLOG_XACT_ABORT = 0x20;
    public static final int XLOG_XACT_COMMIT_PREPARED = 0x30;
    public static final int XLOG_XACT_ABORT_PREPARED = 0x40;
    public static final int XLOG_XACT_ASSIGNMENT = 0x50;
    public static final int XLOG_XACT_INVALIDATIONS = 0x60;
    public static final int XLOG_XACT_OPMASK = 0x70;
    public static final int XLOG_XACT_HAS_INFO = 0x80;

    public static final int XACT_XINFO_HAS_DBINFO = 1;
    public static final int XACT_XINFO_HAS_SUBXACTS = 1 << 1;
    public static final int XACT_XINFO_HAS_RELFILELOCATORS = 1 << 2;
    public static final int XACT_XINFO_HAS_INVALS = 1 << 3;
    public static final int XACT_XINFO_HAS_TWOPHASE = 1 << 4;
    public static final int XACT_XINFO_HAS_ORIGIN = 1 << 5;
    public static final int XACT_XINFO_HAS_AE_LOCKS = 1 << 6;
    public static final int XACT_XINFO_HAS_GID = 1 << 7;
    public static final int XACT_XINFO_HAS_DROPPED_STATS = 1 << 8;

    static final int PREPARE_XID = 8;
    static final int PREPARE_DATABASE = 12;
    static final int PREPARE_TIME = 16;
    static final int PREPARE_OWNER = 24;
    static final int PREPARE_SUBXACTS = 28;
    static final int PREPARE_COMMIT_RELATIONS = 32;
    static final int PREPARE_ABORT_RELATIONS = 36;
    static final int PREPARE_COMMIT_STATS = 40;
    static final int PREPARE_ABORT_STATS = 44;
    static final int PREPARE_MESSAGES = 48;
    static final int PREPARE_GID_LENGTH = 54;
    static final int PREPARE_ORIGIN_LSN = 56;
    static final int PREPARE_ORIGIN_TIME = 64;
    static final int PREPARE_LENGTH = 72;

    static final int STATS_ITEM_LENGTH_15 = 12;
    static final int STATS_ITEM_LENGTH_18 = 16;

    public static final int MESSAGE_LENGTH = 16;
    static final int MESSAGE_DATABASE = 4;
    static final int MESSAGE_OBJECT = 8;
    public static final int SHAREDINVALCATALOG_ID = -1;
    public static final int SHAREDINVALRELCACHE_ID = -2;
    public static final int SHAREDINVALSMGR_ID = -3;
    public static final int SHAREDINVALRELMAP_ID = -4;
    public static final int SHAREDINVALSNAPSHOT_ID = -5;
    public static final int SHAREDINVALRELSYNC_ID = -6;

    private TransactionRecordLayout() {}
}
