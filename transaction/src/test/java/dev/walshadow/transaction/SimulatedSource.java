package dev.walshadow.transaction;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.WalRecord;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * Sessions of a source that write WAL the way PostgreSQL does, and a plain model of what each
 * commit must hand on. Every choice comes from the seed.
 */
final class SimulatedSource {
    static final RelationLocator TABLE = SyntheticWal.table(16500);
    static final RelationLocator OTHER = SyntheticWal.table(16510);
    static final RelationLocator CATALOG = SyntheticWal.table(1259);
    static final RelationLocator TOAST = SyntheticWal.table(16503);
    static final int TOAST_OID = 90001;

    /** What a commit must hand on: records by LSN, TOAST values by id. */
    record Expected(
            int xid, long firstLsn, TreeMap<Long, Integer> records, Map<Integer, byte[]> toast) {}

    /** Takes the records; after each, the model is up to date. */
    interface Target {
        void onRecord(WalRecord record) throws InterruptedException;
    }

    private final Random random;
    private final SyntheticWal wal = new SyntheticWal();
    private final Target target;
    private final boolean hints;
    private final List<Session> sessions = new ArrayList<>();
    private final Map<Integer, Prepared> prepared = new HashMap<>();
    private final List<Expected> commits = new ArrayList<>();
    private int nextXid;
    private int nextValueId = -200;

    SimulatedSource(long seed, boolean hints, int sessionCount, Target target) {
        random = new Random(seed);
        this.hints = hints;
        this.target = target;
        nextXid = random.nextBoolean() ? 1000 : -300; // some runs wrap around
        for (int i = 0; i < sessionCount; i++) {
            sessions.add(new Session());
        }
    }

    List<Expected> commits() {
        return commits;
    }

    long nextLsn() {
        return wal.nextLsn();
    }

    /** The lowest first LSN over everything open, as I5 wants it. */
    long floor() {
        long floor = wal.nextLsn();
        for (Session session : sessions) {
            floor = Math.min(floor, floorOf(session.top));
        }
        for (Prepared each : prepared.values()) {
            floor = Math.min(floor, floorOf(each.top));
        }
        return floor;
    }

    /** Where nothing says what belongs together, a rollback takes its first record along. */
    private long floorOf(Top top) {
        if (hints) {
            return top.firstLsn;
        }
        return top.records.keySet().stream().min(Long::compare).orElse(Long.MAX_VALUE);
    }

    private int takeXid() {
        int xid = nextXid++;
        if (xid == 0) {
            nextXid = 4;
            return 3;
        }
        return xid;
    }

    /** A top-level transaction. */
    private static final class Top {
        int xid;
        long firstLsn = Long.MAX_VALUE;
        final Map<Long, Integer> records = new HashMap<>();
        final Map<Long, Integer> writers = new HashMap<>();
        final Map<Integer, byte[]> toast = new HashMap<>();
        final Map<Integer, Integer> toastWriters = new HashMap<>();
    }

    private record Prepared(Top top, List<Integer> subs) {}

    private static final class Sub {
        int xid;
        boolean named;
        final List<Integer> committedChildren = new ArrayList<>();
    }

    private final class Session {
        Top top = new Top();
        final List<Sub> stack = new ArrayList<>();
        final List<Integer> committedSubs = new ArrayList<>();
        int block = random.nextInt(1000);

        /** One step: a statement or an end. */
        void step() throws InterruptedException {
            int choice = random.nextInt(100);
            if (choice < 55) {
                change();
            } else if (choice < 60) {
                upsert();
            } else if (choice < 65) {
                toastedRow();
            } else if (choice < 75) {
                if (stack.size() < 6) {
                    stack.add(new Sub());
                }
            } else if (choice < 82) {
                release();
            } else if (choice < 90) {
                rollBackToSavepoint();
            } else if (choice < 92) {
                abort();
            } else if (choice < 94) {
                prepare();
            } else {
                commit();
            }
        }

        private int xid() {
            if (top.xid == 0) {
                top.xid = takeXid();
            }
            int xid = top.xid;
            for (Sub sub : stack) {
                if (sub.xid == 0) {
                    sub.xid = takeXid();
                }
                xid = sub.xid;
            }
            return xid;
        }

        /** Announces the record to come: its transaction, and its top level if PostgreSQL would. */
        private int begin() {
            int xid = xid();
            if (!stack.isEmpty()) {
                Sub sub = stack.get(stack.size() - 1);
                if (!sub.named && hints) {
                    wal.under(top.xid);
                }
                sub.named = true;
            }
            top.firstLsn = Math.min(top.firstLsn, wal.nextLsn());
            return xid;
        }

        private void keep(int xid, WalRecord record, int hash) throws InterruptedException {
            top.records.put(record.lsn(), hash);
            top.writers.put(record.lsn(), xid);
            target.onRecord(record);
        }

        private byte[] row() {
            int most = random.nextInt(200) == 0 ? 60_000 : random.nextInt(20) == 0 ? 5000 : 300;
            byte[] row = new byte[1 + random.nextInt(most)];
            random.nextBytes(row);
            return row;
        }

        private void change() throws InterruptedException {
            int count = 1 + random.nextInt(6);
            for (int i = 0; i < count; i++) {
                int xid = begin();
                byte[] row = row();
                int hash = Arrays.hashCode(row);
                switch (random.nextInt(8)) {
                    case 0 -> keep(xid, wal.update(xid, OTHER, new byte[9], row), hash);
                    case 1 -> keep(xid, wal.multiInsert(xid, TABLE, 3, row), hash);
                    case 2 -> keep(xid, wal.delete(xid, TABLE, 1, 1, 0), 1);
                    case 3 -> target.onRecord(wal.insert(xid, CATALOG, row));
                    case 4 -> target.onRecord(wal.lock(xid, TABLE));
                    case 5 -> {
                        if (random.nextInt(40) == 0) {
                            // an old tuple too large for any chunk
                            byte[] old = new byte[300_000];
                            keep(xid, wal.update(xid, OTHER, old, row), hash);
                        } else {
                            keep(xid, wal.truncate(xid, SyntheticWal.DATABASE, 16500), 1);
                        }
                    }
                    default -> keep(xid, wal.insert(xid, TABLE, row), hash);
                }
            }
        }

        private void upsert() throws InterruptedException {
            int flags = XLH_INSERT_IS_SPECULATIVE | XLH_INSERT_CONTAINS_NEW_TUPLE;
            int xid = begin();
            byte[] row = row();
            int offnum = 1 + random.nextInt(100);
            block++;
            boolean conflicts = random.nextBoolean();
            WalRecord insert = wal.insert(xid, TABLE, block, offnum, flags, row);
            if (conflicts) {
                target.onRecord(insert);
            } else {
                keep(xid, insert, Arrays.hashCode(row));
            }
            disturb();
            target.onRecord(
                    conflicts
                            ? wal.delete(xid, TABLE, block, offnum, XLH_DELETE_IS_SUPER)
                            : wal.confirm(xid, TABLE, block, offnum));
        }

        private void toastedRow() throws InterruptedException {
            int xid = begin();
            int valueId = nextValueId++;
            byte[] value = new byte[random.nextInt(9000) + 1];
            random.nextBytes(value);
            int sequence = 0;
            for (int at = 0; at < value.length; at += ToastChunk.MAX_SIZE) {
                int end = Math.min(value.length, at + ToastChunk.MAX_SIZE);
                byte[] chunk = Arrays.copyOfRange(value, at, end);
                WalRecord record = wal.toastChunk(xid, TOAST, valueId, sequence++, chunk);
                keep(
                        xid,
                        record,
                        Collected.hash(
                                record.buffer(), record.dataOffset(0), record.dataLength(0)));
                disturb();
                begin();
            }
            top.toast.put(valueId, value);
            top.toastWriters.put(valueId, xid);
        }

        /** Another session gets in between. */
        private void disturb() throws InterruptedException {
            Session other = sessions.get(random.nextInt(sessions.size()));
            if (other != this && other.top.xid != 0 && random.nextInt(3) == 0) {
                other.change();
            }
        }

        private void release() {
            if (!stack.isEmpty()) {
                Sub released = stack.remove(stack.size() - 1);
                List<Integer> parent =
                        stack.isEmpty()
                                ? committedSubs
                                : stack.get(stack.size() - 1).committedChildren;
                if (released.xid != 0) {
                    parent.add(released.xid);
                }
                parent.addAll(released.committedChildren);
            }
        }

        private void rollBackToSavepoint() throws InterruptedException {
            if (stack.isEmpty()) {
                return;
            }
            Sub rolledBack = stack.remove(stack.size() - 1);
            if (rolledBack.xid == 0) {
                return;
            }
            Set<Integer> gone = new HashSet<>(rolledBack.committedChildren);
            gone.add(rolledBack.xid);
            top.writers.forEach((lsn, writer) -> {
                if (gone.contains(writer)) {
                    top.records.remove(lsn);
                }
            });
            top.toastWriters.forEach((value, writer) -> {
                if (gone.contains(writer)) {
                    top.toast.remove(value);
                }
            });
            target.onRecord(wal.abort(rolledBack.xid, array(rolledBack.committedChildren)));
        }

        private void releaseAll() {
            while (!stack.isEmpty()) {
                release();
            }
        }

        private void abort() throws InterruptedException {
            releaseAll();
            if (top.xid != 0) {
                target.onRecord(wal.abort(top.xid, array(committedSubs)));
            }
            forget();
        }

        private void commit() throws InterruptedException {
            releaseAll();
            if (top.xid != 0) {
                expect(top);
                WalRecord record = wal.commit(top.xid, array(committedSubs));
                forget();
                target.onRecord(record);
            } else {
                forget();
            }
        }

        private void prepare() throws InterruptedException {
            releaseAll();
            if (top.xid != 0) {
                top.firstLsn = Math.min(top.firstLsn, wal.nextLsn());
                target.onRecord(wal.prepare(top.xid, array(committedSubs)));
                prepared.put(top.xid, new Prepared(top, List.copyOf(committedSubs)));
            }
            forget();
        }

        private void forget() {
            top = new Top();
            stack.clear();
            committedSubs.clear();
        }
    }

    private static int[] array(List<Integer> xids) {
        return xids.stream().mapToInt(Integer::intValue).toArray();
    }

    private void expect(Top top) {
        if (!top.records.isEmpty()) {
            commits.add(new Expected(top.xid, floorOf(top), new TreeMap<>(top.records), top.toast));
        }
    }

    /** One step of some session, or of the server. */
    void step() throws InterruptedException {
        int choice = random.nextInt(1000);
        if (choice < 990) {
            sessions.get(random.nextInt(sessions.size())).step();
        } else if (choice < 997) {
            endPrepared();
        } else if (choice < 999) {
            target.onRecord(runningXacts());
        } else {
            crash();
        }
    }

    private void endPrepared() throws InterruptedException {
        if (prepared.isEmpty()) {
            return;
        }
        int xid = prepared.keySet().iterator().next();
        Prepared ended = Objects.requireNonNull(prepared.remove(xid));
        if (random.nextInt(3) == 0) {
            target.onRecord(wal.rollbackPrepared(xid, array(ended.subs)));
        } else {
            expect(ended.top);
            target.onRecord(wal.commitPrepared(xid, array(ended.subs)));
        }
    }

    private WalRecord runningXacts() {
        List<Integer> running = new ArrayList<>(prepared.keySet());
        for (Session session : sessions) {
            if (session.top.xid != 0) {
                running.add(session.top.xid);
            }
        }
        int oldest = nextXid;
        for (int xid : running) {
            if (xid - oldest < 0) {
                oldest = xid;
            }
        }
        return wal.runningXacts(nextXid, oldest, array(running));
    }

    private void crash() throws InterruptedException {
        sessions.forEach(Session::forget);
        target.onRecord(random.nextBoolean() ? wal.shutdownCheckpoint() : wal.endOfRecovery());
    }
}
