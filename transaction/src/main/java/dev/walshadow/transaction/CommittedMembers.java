package dev.walshadow.transaction;

import java.util.Arrays;

/** The (sub)transactions that a commit record names: whose records count. Immutable. */
final class CommittedMembers {
    private final int topLevelXid;
    private final int[] subtransactions;

    /**
     * @param subtransactions taken over and sorted
     */
    CommittedMembers(int topLevelXid, int[] subtransactions) {
        this.topLevelXid = topLevelXid;
        this.subtransactions = subtransactions;
        Arrays.sort(subtransactions);
    }

    boolean contains(int xid) {
        return xid == topLevelXid || Arrays.binarySearch(subtransactions, xid) >= 0;
    }
}
