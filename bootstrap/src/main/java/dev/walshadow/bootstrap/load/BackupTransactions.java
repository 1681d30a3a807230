package dev.walshadow.bootstrap.load;

import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.RunningXactsRecord;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.WalRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Learns from the WAL from B on which transactions were open at B, and how they end.
 *
 * <p>The first XLOG_RUNNING_XACTS record at or after B (a checkpoint writes one before it ends, so
 * it is there before the backup's first file) gives nextXid and the list; transactions that ended
 * between B and that record had records before B too and are members. Prepared transactions are in
 * the list. Source: {@code LogStandbySnapshot} in {@code src/backend/storage/ipc/standby.c},
 * PostgreSQL 15-18.
 *
 * <p>{@link #onRecord} belongs to the WAL pump; everything else is thread safe.
 */
public final class BackupTransactions {
    private final long startLsn;
    private final TransactionRecord end;
    private final RunningXactsRecord running = new RunningXactsRecord();
    private final CompletableFuture<BackupSnapshot> snapshot = new CompletableFuture<>();

    /** Ends that nobody has drained yet; before the snapshot: all, after it: members only. */
    private final List<TransactionEnd> ends = new ArrayList<>();

    private volatile long position;
    private volatile boolean ignoring;

    /** Least LSN of the drained ends whose consequences are not durable yet. */
    private long unsettled = Long.MAX_VALUE;

    /**
     * @param startLsn B
     */
    public BackupTransactions(int majorVersion, long startLsn) {
        this.startLsn = startLsn;
        this.end = new TransactionRecord(majorVersion);
        this.position = startLsn;
    }

    /** After a restart: only the ends of the members of an earlier snapshot are wanted. */
    public BackupTransactions(int majorVersion, BackupSnapshot known) {
        this(majorVersion, known.startLsn());
        snapshot.complete(known);
    }

    /** Every record from B on, in order. */
    public void onRecord(WalRecord record) {
        if (ignoring) {
            return;
        }
        if (record.resourceManager() == ResourceManager.TRANSACTION) {
            onTransactionRecord(record);
        } else if (record.resourceManager() == ResourceManager.STANDBY
                && !snapshot.isDone()
                && (record.info() & 0xF0) == RunningXactsRecord.XLOG_RUNNING_XACTS) {
            onRunningTransactions(record);
        }
        position = record.nextLsn();
    }

    private void onTransactionRecord(WalRecord record) {
        end.wrap(record);
        if (!end.isCommit() && !end.isAbort()) {
            return;
        }
        boolean committed = end.isCommit();
        // in one step: nobody must see a transaction ended and its subtransactions not
        synchronized (ends) {
            add(end.xid(), committed, record);
            for (int i = 0; i < end.subxactCount(); i++) {
                add(end.subxact(i), committed, record);
            }
        }
    }

    /** Holding {@code ends}. */
    private void add(int xid, boolean committed, WalRecord record) {
        if (ignoring) {
            return;
        }
        BackupSnapshot known = snapshot.getNow(null);
        if (known != null && !known.isOpen(xid)) {
            return;
        }
        long micros = committed ? end.timestampMicros() : 0;
        ends.add(new TransactionEnd(xid, committed, record.lsn(), record.nextLsn(), micros));
    }

    private void onRunningTransactions(WalRecord record) {
        running.wrap(record);
        int listed = running.xidCount() + running.subxidCount();
        synchronized (ends) {
            int[] members = new int[listed + ends.size()];
            for (int i = 0; i < listed; i++) {
                members[i] = running.xid(i);
            }
            for (int i = 0; i < ends.size(); i++) {
                members[listed + i] = ends.get(i).xid();
            }
            snapshot.complete(
                    new BackupSnapshot(
                            startLsn,
                            running.nextXid(),
                            running.oldestRunningXid(),
                            running.subxidsOverflowed(),
                            members));
        }
    }

    /** Waits until the WAL has said which transactions were open at B. */
    public BackupSnapshot awaitSnapshot() throws InterruptedException {
        try {
            return snapshot.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The end of the last record seen. */
    public long position() {
        return position;
    }

    /** The ends of open transactions since the last call, in the order of the WAL. */
    public List<TransactionEnd> drainEnds() {
        synchronized (ends) {
            List<TransactionEnd> drained = List.copyOf(ends);
            ends.clear();
            drained.forEach(each -> unsettled = Math.min(unsettled, each.lsn()));
            return drained;
        }
    }

    /** What was drained so far has become durable. */
    public void settle() {
        synchronized (ends) {
            unsettled = Long.MAX_VALUE;
        }
    }

    /** Nothing waits any more: ends are not kept and the floor is not held from now on. */
    public void ignore() {
        synchronized (ends) {
            ignoring = true;
            ends.clear();
            unsettled = Long.MAX_VALUE;
        }
    }

    /** The least end record that a restart must read again; {@link Long#MAX_VALUE} if none. */
    public long floor() {
        synchronized (ends) {
            return ends.isEmpty() ? unsettled : Math.min(unsettled, ends.getFirst().lsn());
        }
    }
}
