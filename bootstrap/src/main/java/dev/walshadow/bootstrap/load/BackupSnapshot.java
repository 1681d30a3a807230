package dev.walshadow.bootstrap.load;

import java.util.Arrays;

/**
 * Which transactions had what said about them before the backup's start (design: R and nextXid).
 * Immutable.
 */
public final class BackupSnapshot {
    private final long startLsn;
    private final int nextXid;
    private final int oldestRunningXid;
    private final boolean overflowed;
    private final int[] members;

    /**
     * @param overflowed the list of running transactions has no subtransactions: every transaction
     *     from {@code oldestRunningXid} on is a member
     * @param members any order
     */
    BackupSnapshot(
            long startLsn, int nextXid, int oldestRunningXid, boolean overflowed, int[] members) {
        this.startLsn = startLsn;
        this.nextXid = nextXid;
        this.oldestRunningXid = oldestRunningXid;
        this.overflowed = overflowed;
        this.members = members.clone();
        Arrays.sort(this.members);
    }

    /** B. */
    public long startLsn() {
        return startLsn;
    }

    public int nextXid() {
        return nextXid;
    }

    /** At or above nextXid, modulo 2^32: whatever it did is in the WAL from B on. */
    boolean isLater(int xid) {
        return xid - nextXid >= 0;
    }

    /** In R: it may have changed rows before B and ended after it. */
    boolean isOpen(int xid) {
        return overflowed && xid - oldestRunningXid >= 0 && !isLater(xid)
                || Arrays.binarySearch(members, xid) >= 0;
    }
}
