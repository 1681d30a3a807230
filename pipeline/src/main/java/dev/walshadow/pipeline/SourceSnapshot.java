package dev.walshadow.pipeline;

import java.util.Arrays;

/**
 * Which transactions a snapshot of the source sees. Xids are compared on a circle of 32 bits: what
 * commits while the snapshot is of interest lies within half of it. Immutable.
 */
public final class SourceSnapshot {
    private final int xmax;
    private final int[] inProgress;
    private final long insertPosition;

    /**
     * @param xmax behind the newest xid that had ended: this one and later ones are not seen,
     *     whether they run or not
     * @param inProgress top-level xids before it that were running
     * @param insertPosition the source's WAL insert position taken after the snapshot: every commit
     *     that it sees ends at or below it. It may lie behind the header of a page that holds no
     *     record yet
     */
    public SourceSnapshot(int xmax, int[] inProgress, long insertPosition) {
        this.xmax = xmax;
        this.inProgress = inProgress.clone();
        this.insertPosition = insertPosition;
        Arrays.sort(this.inProgress);
    }

    /** Whether the snapshot takes this top-level transaction for running. */
    public boolean hides(int xid) {
        return xid - xmax >= 0 || Arrays.binarySearch(inProgress, xid) >= 0;
    }

    /** Every commit that the snapshot sees ends here or before. */
    public long insertPosition() {
        return insertPosition;
    }
}
