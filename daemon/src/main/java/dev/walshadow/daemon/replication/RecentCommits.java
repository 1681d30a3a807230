package dev.walshadow.daemon.replication;

import dev.walshadow.pipeline.SourceSnapshot;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.WalRecord;

/**
 * The last commits that the stream has brought: a commit can be in the WAL, and here, before a
 * snapshot of the source sees it. Written by the pump, asked by loads.
 */
final class RecentCommits {
    private static final int CAPACITY = 1 << 15;

    /** Somebody else who wants to know. */
    interface Told {
        /**
         * @param micros since 2000-01-01 UTC, by the source's clock
         */
        void committed(long position, long micros);
    }

    private final Told told;
    private final TransactionRecord end;
    private final int[] xids = new int[CAPACITY];
    private final long[] positions = new long[CAPACITY];
    private int count;
    private int next;

    /**
     * @param told of every commit, too
     */
    RecentCommits(int majorVersion, Told told) {
        this.told = told;
        end = new TransactionRecord(majorVersion);
    }

    void onRecord(WalRecord record) {
        if (record.resourceManager() != ResourceManager.TRANSACTION) {
            return;
        }
        end.wrap(record);
        if (end.isCommit()) {
            add(end.xid(), record.nextLsn());
            told.committed(record.nextLsn(), end.timestampMicros());
        }
    }

    private synchronized void add(int xid, long position) {
        xids[next] = xid;
        positions[next] = position;
        next = (next + 1) & (CAPACITY - 1);
        count = Math.min(count + 1, CAPACITY);
    }

    /** The position up to which the snapshot sees every one of these commits. */
    synchronized long seenUpTo(SourceSnapshot snapshot) {
        long position = snapshot.insertPosition();
        for (int i = 0; i < count; i++) {
            int at = (next - 1 - i) & (CAPACITY - 1);
            if (positions[at] <= position && snapshot.hides(xids[at])) {
                position = positions[at] - 1;
            }
        }
        return position;
    }
}
