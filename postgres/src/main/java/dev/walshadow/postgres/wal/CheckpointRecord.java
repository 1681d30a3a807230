package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;

/**
 * View over {@code XLOG_CHECKPOINT_SHUTDOWN} and {@code XLOG_CHECKPOINT_ONLINE}. Reused.
 *
 * <pre>
 * CheckPoint, 88 bytes
 *    0 u64 redo   8 u32 ThisTimeLineID   12 u32 PrevTimeLineID   16 u8 fullPageWrites
 *   20 i32 wal_level (18; padding before)   24 u64 nextXid (epoch in the high half)
 *   32 u32 nextOid   36 u32 nextMulti   40 u32 nextMultiOffset   44 u32 oldestXid
 *   48 u32 oldestXidDB   52 u32 oldestMulti   56 u32 oldestMultiDB   64 i64 time
 *   72 u32 oldestCommitTsXid   76 u32 newestCommitTsXid   80 u32 oldestActiveXid
 * </pre>
 *
 * <p>{@code XLOG_END_OF_RECOVERY} has its two timelines at the same places, behind a time.
 *
 * <p>Source: {@code src/include/catalog/pg_control.h}, {@code src/include/access/xlog_internal.h},
 * PostgreSQL 15-18.
 */
public final class CheckpointRecord {
    private static final int REDO = 0;
    public static final int TIMELINE = 8;
    public static final int PREVIOUS_TIMELINE = 12;
    private static final int NEXT_XID = 24;
    private static final int OLDEST_ACTIVE_XID = 80;
    private static final int LENGTH = 84;

    private byte[] bytes = new byte[0];
    private int start;
    private boolean shutdown;

    public void wrap(WalRecord record) {
        bytes = record.buffer();
        start = record.mainDataOffset();
        shutdown =
                (record.info() & XLogLayout.XLR_RMGR_INFO_MASK)
                        == XLogLayout.XLOG_CHECKPOINT_SHUTDOWN;
        if (record.mainDataLength() < LENGTH) {
            throw record.corrupt("a checkpoint is cut off");
        }
    }

    public boolean isShutdown() {
        return shutdown;
    }

    /** Where replay from this checkpoint begins. */
    public long redo() {
        return LittleEndian.getLong(bytes, start + REDO);
    }

    public int timeline() {
        return LittleEndian.getInt(bytes, start + TIMELINE);
    }

    public int previousTimeline() {
        return LittleEndian.getInt(bytes, start + PREVIOUS_TIMELINE);
    }

    /** With its epoch in the high half. */
    public long nextFullXid() {
        return LittleEndian.getLong(bytes, start + NEXT_XID);
    }

    public int oldestActiveXid() {
        return LittleEndian.getInt(bytes, start + OLDEST_ACTIVE_XID);
    }
}
