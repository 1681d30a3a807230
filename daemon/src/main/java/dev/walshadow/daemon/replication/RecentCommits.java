package dev.walshadow.daemon.replication;

import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.WalRecord;

/**
 * The last commits that the stream has brought: a commit can be in the WAL, and here, before a
 * snapshot of the source sees it. Written by the pump, asked by loads.
 */
final class RecentCommits {
    private static final int CAPACITY = 1 << 15;

    private final TransactionRecord end;
    private final int[] xids = new int[CAPACITY];
    private final long[] positions = new long[CAPACITY];
    private int count;
    private int next;

    RecentCommits(int majorVersion) {
        end = new TransactionRecord(majorVersion);
    }

    void onRecord(WalRecord record) {
        if (record.resourceManager() != ResourceManager.TRANSACTION) {
            return;
        }
        end.wrap(record);
        if (end.isCommit()) {
            add(end.xid(), record.nextLsn());
        }
    }

    private synchronized void add(int xid, long position) {
        xids[next] = xid;
        positions[next] = position;
        next = (next + 1) & (CAPACITY - 1);
        count = Math.min(count + 1, CAPACITY);
    }

    /**
     * Whether a snapshot sees every one of these commits up to {@code position}.
     *
     * @param xmax first xid that the snapshot does not know
     * @param inProgress xids that it takes for running
     */
    synchronized boolean areSeen(long position, long xmax, long[] inProgress) {
        for (int i = 0; i < count; i++) {
            int at = (next - 1 - i) & (CAPACITY - 1);
            if (positions[at] <= position && isHidden(xids[at], xmax, inProgress)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isHidden(int xid, long xmax, long[] inProgress) {
        if (xid - (int) xmax >= 0) {
            return true;
        }
        for (long running : inProgress) {
            if ((int) running == xid) {
                return true;
            }
        }
        return false;
    }
}
