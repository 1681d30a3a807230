package dev.walshadow.bootstrap.load;

import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.RunningXactsRecord;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.WalRecord;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
 * <p>Drained only when the pages have been walked, so until then every end is known to what {@link
 * OpenTransactions} asks.
 *
 * <p>{@link #onRecord} belongs to the WAL pump; everything else is thread safe.
 */
public final class BackupTransactions implements OpenTransactions {
    private final long startLsn;
    private final TransactionRecord end;
    private final RunningXactsRecord list = new RunningXactsRecord();
    private final CompletableFuture<BackupSnapshot> snapshot = new CompletableFuture<>();

    /** Ends that nobody has drained yet; before the snapshot: all, after it: members only. */
    private final List<TransactionEnd> ends = new ArrayList<>();

    /** Those of {@link #ends} by xid; guarded by it. */
    private final Map<Integer, TransactionEnd> byXid = new HashMap<>();

    /** Top-level members whose end has not been seen; guarded by ends. */
    private final Set<Integer> running = new HashSet<>();

    /** Where the last of the members ended, as far as that is known; guarded by ends. */
    private long lastEnd;

    private volatile long position;
    private volatile boolean ignoring;

    /** As {@link #holdFrom} says; guarded by ends. */
    private long held = Long.MAX_VALUE;

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

    /**
     * Takes up what {@link #keep} wrote; empty if there is no such file.
     *
     * @throws dev.walshadow.base.ConfigurationException it is damaged, or not of this source
     */
    public static Optional<BackupTransactions> takeUp(
            int majorVersion, Path file, long systemIdentifier) {
        return OpenAtStart.read(file, systemIdentifier)
                .map(kept -> {
                    BackupTransactions open = new BackupTransactions(majorVersion, kept.snapshot());
                    open.running.addAll(kept.running());
                    return open;
                });
    }

    /**
     * Makes durable which transactions were open at B and which of them still are, once the
     * snapshot is known. What has ended since is told again by the WAL, or by its absence from the
     * next list.
     */
    public void keep(Path file, long systemIdentifier) {
        OpenAtStart now;
        synchronized (ends) {
            now = new OpenAtStart(snapshot.join(), Set.copyOf(running));
        }
        now.write(file, systemIdentifier);
    }

    /** Every record from B on, in order. */
    public void onRecord(WalRecord record) {
        if (ignoring) {
            return;
        }
        if (record.resourceManager() == ResourceManager.TRANSACTION) {
            onTransactionRecord(record);
        } else if (record.resourceManager() == ResourceManager.STANDBY
                && (record.info() & 0xF0) == RunningXactsRecord.XLOG_RUNNING_XACTS) {
            list.wrap(record);
            if (snapshot.isDone()) {
                onLaterList(record);
            } else {
                onFirstList();
            }
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
            if (running.remove(end.xid())) {
                lastEnd = record.nextLsn();
            }
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
        TransactionEnd found =
                new TransactionEnd(xid, committed, record.lsn(), record.nextLsn(), micros);
        ends.add(found);
        byXid.put(xid, found);
    }

    /** Who is not listed any more has ended, also one that did so before B and waited since. */
    private void onLaterList(WalRecord record) {
        synchronized (ends) {
            if (running.isEmpty()) {
                return;
            }
            Set<Integer> listed = new HashSet<>();
            for (int i = 0; i < list.xidCount(); i++) {
                listed.add(list.xid(i));
            }
            if (running.retainAll(listed)) {
                lastEnd = record.nextLsn();
            }
        }
    }

    private void onFirstList() {
        int listed = list.xidCount() + list.subxidCount();
        synchronized (ends) {
            int[] members = new int[listed + ends.size()];
            for (int i = 0; i < listed; i++) {
                members[i] = list.xid(i);
            }
            for (int i = 0; i < ends.size(); i++) {
                members[listed + i] = ends.get(i).xid();
            }
            for (int i = 0; i < list.xidCount(); i++) {
                if (!byXid.containsKey(list.xid(i))) {
                    running.add(list.xid(i));
                }
            }
            snapshot.complete(
                    new BackupSnapshot(
                            startLsn,
                            list.nextXid(),
                            list.oldestRunningXid(),
                            list.subxidsOverflowed(),
                            members));
        }
    }

    /** B. */
    public long startLsn() {
        return startLsn;
    }

    /** Which transactions were open at B; empty until the WAL has told. */
    public Optional<BackupSnapshot> known() {
        return Optional.ofNullable(snapshot.getNow(null));
    }

    @Override
    public boolean mayBeOpen(int xid) {
        BackupSnapshot known = snapshot.getNow(null);
        return known == null || known.isOpen(xid);
    }

    @Override
    public boolean hasEnded(int xid) {
        synchronized (ends) {
            return byXid.containsKey(xid);
        }
    }

    @Override
    public boolean committedBefore(int xid, long lsn) {
        synchronized (ends) {
            TransactionEnd known = byXid.get(xid);
            return known != null && known.committed() && Long.compareUnsigned(known.lsn(), lsn) < 0;
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
            byXid.clear();
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

    /**
     * A restart must read the WAL from here on again: a TRUNCATE may follow that deferred rows,
     * which then come late, must not survive.
     */
    public void holdFrom(long asked) {
        synchronized (ends) {
            // where nothing has been read yet, the floor that was kept still holds
            held = asked == startLsn ? Long.MAX_VALUE : asked;
        }
    }

    /**
     * Where all have ended that were open at B; {@link Long#MAX_VALUE} while one is not, and 0 if
     * none was or an earlier process has seen that they had ended.
     */
    public long allEnded() {
        synchronized (ends) {
            return running.isEmpty() ? lastEnd : Long.MAX_VALUE;
        }
    }

    /** Nothing waits any more: ends are not kept and the floor is not held from now on. */
    public void ignore() {
        synchronized (ends) {
            ignoring = true;
            ends.clear();
            byXid.clear();
            held = Long.MAX_VALUE;
            unsettled = Long.MAX_VALUE;
        }
    }

    /** The least position that a restart must read again; {@link Long#MAX_VALUE} if none. */
    public long floor() {
        synchronized (ends) {
            long least = Math.min(unsettled, held);
            return ends.isEmpty() ? least : Math.min(least, ends.getFirst().lsn());
        }
    }
}
