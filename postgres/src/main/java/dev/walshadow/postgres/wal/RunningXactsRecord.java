package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;

/**
 * View over {@code XLOG_RUNNING_XACTS} of {@link ResourceManager#STANDBY}. Reused.
 *
 * <pre>
 *    0 i32 xcnt   4 i32 subxcnt   8 u8 subxid_overflow   12 u32 nextXid
 *   16 u32 oldestRunningXid   20 u32 latestCompletedXid   24 u32 xids[xcnt + subxcnt]
 * </pre>
 *
 * Source: {@code src/include/storage/standbydefs.h}, PostgreSQL 15-18.
 */
public final class RunningXactsRecord {
    /** Info values of {@link ResourceManager#STANDBY}. */
    public static final int XLOG_STANDBY_LOCK = 0x00;

    public static final int XLOG_RUNNING_XACTS = 0x10;
    public static final int XLOG_INVALIDATIONS = 0x20;

    private static final int XCNT = 0;
    private static final int SUBXCNT = 4;
    private static final int OVERFLOW = 8;
    private static final int NEXT_XID = 12;
    private static final int OLDEST_RUNNING_XID = 16;
    private static final int LATEST_COMPLETED_XID = 20;
    private static final int XIDS = 24;

    private byte[] bytes = new byte[0];
    private int start;

    public void wrap(WalRecord record) {
        bytes = record.buffer();
        start = record.mainDataOffset();
        int length = record.mainDataLength();
        if (length < XIDS
                || xidCount() < 0
                || subxidCount() < 0
                || ((long) xidCount() + subxidCount()) * Integer.BYTES > length - XIDS) {
            throw record.corrupt("a list of running transactions is cut off");
        }
    }

    public int xidCount() {
        return LittleEndian.getInt(bytes, start + XCNT);
    }

    public int subxidCount() {
        return LittleEndian.getInt(bytes, start + SUBXCNT);
    }

    /** If true, no subtransaction is listed at all. */
    public boolean subxidsOverflowed() {
        return bytes[start + OVERFLOW] != 0;
    }

    public int nextXid() {
        return LittleEndian.getInt(bytes, start + NEXT_XID);
    }

    /** Every transaction before this one has ended. */
    public int oldestRunningXid() {
        return LittleEndian.getInt(bytes, start + OLDEST_RUNNING_XID);
    }

    public int latestCompletedXid() {
        return LittleEndian.getInt(bytes, start + LATEST_COMPLETED_XID);
    }

    /** i below {@link #xidCount}: top-level transactions; then the subtransactions. */
    public int xid(int i) {
        return LittleEndian.getInt(bytes, start + XIDS + i * Integer.BYTES);
    }
}
