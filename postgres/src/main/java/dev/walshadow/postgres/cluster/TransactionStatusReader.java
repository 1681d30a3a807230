package dev.walshadow.postgres.cluster;

/**
 * How transactions ended, from {@code pg_xact}: two bits per XID, four XIDs per byte, the lowest
 * first. Source: {@code src/backend/access/transam/clog.c}, PostgreSQL 15-18. Not thread safe.
 */
public final class TransactionStatusReader {
    public static final int IN_PROGRESS = 0;
    public static final int COMMITTED = 1;
    public static final int ABORTED = 2;

    /** A subtransaction whose parent was committing: its parent's status decides. */
    public static final int SUB_COMMITTED = 3;

    /** There is no such page: the XID is older or newer than what the files cover. */
    public static final int UNKNOWN = -1;

    private static final int XIDS_PER_BYTE = 4;
    private static final int XIDS_PER_PAGE = SlruSegments.PAGE_SIZE * XIDS_PER_BYTE;
    private static final int FIRST_NORMAL_XID = 3;

    private final SlruSegments segments;

    public TransactionStatusReader(SlruSegments segments) {
        this.segments = segments;
    }

    /** The status; bootstrap and frozen XIDs are committed, the invalid one (0) is aborted. */
    public int status(int xid) {
        if (Integer.compareUnsigned(xid, FIRST_NORMAL_XID) < 0) {
            return xid == 0 ? ABORTED : COMMITTED;
        }
        long number = Integer.toUnsignedLong(xid);
        long page = number / XIDS_PER_PAGE;
        byte[] segment = segments.segmentOf(page);
        int inPage = (int) (number % XIDS_PER_PAGE);
        int at = SlruSegments.pageStart(page) + inPage / XIDS_PER_BYTE;
        if (at >= segment.length) {
            return UNKNOWN;
        }
        return segment[at] >>> (2 * (inPage % XIDS_PER_BYTE)) & 3;
    }
}
