package dev.walshadow.source;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.wal.TransactionRecord;
import java.nio.ByteBuffer;

/**
 * What the filter has to remember between records: which storage belongs to catalogs, and what the
 * transactions in flight have done to catalogs. Everything that leaves it does so at an end record,
 * or when the WAL proves the transaction gone (I5). Written into every {@link StreamSnapshot}.
 */
final class FilterState {
    private static final int SETTLED = 1;
    private static final int UNSEEN_ENDED = 2;

    /** Catalog storage with numbers of the user range. */
    final RewrittenCatalogs rewritten = new RewrittenCatalogs();

    /** Transactions (or subtransactions) that lock catalogs exclusively: bits of which. */
    private final XidMap locks = new XidMap();

    /** Live subtransactions: the top-level transaction of each. */
    private final XidMap tops = new XidMap();

    /** Transactions and subtransactions that wrote catalogs: bits of which. */
    private final XidMap written = new XidMap();

    /** Prepared transactions; they outlive a restart of the source. */
    private final XidMap prepared = new XidMap();

    /** Databases that a transaction in flight is filling block by block: its xid. */
    private final XidMap newDatabases = new XidMap();

    /** Transactions that have written a relation map and not ended: nobody may read catalogs. */
    private final XidMap relationMaps = new XidMap();

    /**
     * Before this xid, a transaction may have worked before the stream's first record. 0 as long as
     * no list of running transactions was seen.
     */
    private int firstUnseenXid;

    /** No transaction that began before the stream rewrites catalogs any more. */
    private boolean settled;

    /** All transactions that began before the stream have ended, prepared ones too. */
    private boolean unseenEnded;

    void settle() {
        settled = true;
    }

    void subtransaction(int xid, int top) {
        tops.put(xid, top);
    }

    void lock(int xid, long catalogs) {
        locks.or(xid, catalogs);
    }

    void write(int xid, long catalogs) {
        if (xid != 0) {
            written.or(xid, catalogs | Catalogs.TOLD_ALL);
        }
    }

    void newDatabase(int databaseOid, int xid) {
        newDatabases.put(databaseOid, xid);
    }

    boolean isNewDatabase(int databaseOid) {
        return newDatabases.get(databaseOid) != 0;
    }

    void relationMap(int xid) {
        relationMaps.put(xid, 1);
    }

    boolean isRelationMapInFlight() {
        return !relationMaps.isEmpty();
    }

    private int top(int xid) {
        int top = (int) tops.get(xid);
        return top == 0 ? xid : top;
    }

    /** The catalogs that this transaction, any part of it, holds exclusively; 0 if none. */
    long lockedCatalogs(int xid) {
        if (locks.isEmpty()) {
            return 0;
        }
        int top = top(xid);
        long[] bits = {0};
        locks.forEach((holder, catalogs) -> {
            if (top(holder) == top) {
                bits[0] |= catalogs;
            }
        });
        return bits[0];
    }

    /** True if no end record can change anything: the common case, told at once. */
    boolean isIdle() {
        return written.isEmpty()
                && tops.isEmpty()
                && locks.isEmpty()
                && rewritten.isEmpty()
                && prepared.isEmpty()
                && newDatabases.isEmpty()
                && relationMaps.isEmpty()
                && settled
                && unseenEnded;
    }

    /** A transaction or subtransaction has ended. Returns the catalogs that it wrote. */
    long end(TransactionRecord end) {
        long catalogs = endOne(end.xid());
        for (int i = 0; i < end.subxactCount(); i++) {
            catalogs |= endOne(end.subxact(i));
        }
        prepared.remove(end.xid());
        if (!newDatabases.isEmpty()) {
            newDatabases.removeIf((database, creator) -> creator == end.xid());
        }
        return catalogs;
    }

    private long endOne(int xid) {
        locks.remove(xid);
        tops.remove(xid);
        relationMaps.remove(xid);
        rewritten.changeCreator(xid, 0);
        return written.remove(xid);
    }

    /** The subtransactions become one with their transaction, which waits for its second phase. */
    void prepare(TransactionRecord prepare) {
        int xid = prepare.xid();
        for (int i = 0; i < prepare.subxactCount(); i++) {
            int subxact = prepare.subxact(i);
            long lockBits = locks.remove(subxact);
            if (lockBits != 0) {
                locks.or(xid, lockBits);
            }
            long writtenBits = written.remove(subxact);
            if (writtenBits != 0) {
                written.or(xid, writtenBits);
            }
            tops.remove(subxact);
            rewritten.changeCreator(subxact, xid);
        }
        prepared.put(xid, 1);
    }

    /** How many catalog files the transaction of this end record made. */
    int createdCatalogs(TransactionRecord end) {
        int count = rewritten.createdBy(end.xid());
        for (int i = 0; i < end.subxactCount(); i++) {
            count += rewritten.createdBy(end.subxact(i));
        }
        return count;
    }

    /** True if the transaction may have rewritten catalogs before the stream's first record. */
    boolean mayPrecedeStream(int xid) {
        return !settled && (firstUnseenXid == 0 || precedes(xid, firstUnseenXid));
    }

    /** True if the transaction may have written catalogs before the stream's first record. */
    boolean mayHaveWrittenUnseen(int xid) {
        return !unseenEnded && (firstUnseenXid == 0 || precedes(xid, firstUnseenXid));
    }

    /** A list of running transactions: everything before {@code oldestRunningXid} is over. */
    void running(int oldestRunningXid, int nextXid) {
        if (firstUnseenXid == 0) {
            firstUnseenXid = nextXid;
        }
        boolean ended = !precedes(oldestRunningXid, firstUnseenXid);
        settled |= ended;
        unseenEnded |= ended;
        XidMap.Test over = (xid, value) -> precedes(xid, oldestRunningXid);
        locks.removeIf(over);
        tops.removeIf(over);
        written.removeIf(over);
        relationMaps.removeIf(over);
        newDatabases.removeIf((database, creator) -> precedes((int) creator, oldestRunningXid));
    }

    /** The source was down: only prepared transactions are left. */
    void restarted() {
        XidMap.Test over = (xid, value) -> prepared.get(xid) == 0;
        locks.removeIf(over);
        tops.removeIf((xid, value) -> true);
        written.removeIf(over);
        newDatabases.removeIf((database, creator) -> true);
        relationMaps.removeIf((xid, value) -> true);
        settled = true;
    }

    /** TransactionIdPrecedes for normal xids. */
    private static boolean precedes(int a, int b) {
        return a - b < 0;
    }

    void encode(ByteBuilder out) {
        out.putInt(firstUnseenXid);
        out.putByte((settled ? SETTLED : 0) | (unseenEnded ? UNSEEN_ENDED : 0));
        rewritten.encode(out);
        locks.encode(out);
        tops.encode(out);
        written.encode(out);
        prepared.encode(out);
        newDatabases.encode(out);
        relationMaps.encode(out);
    }

    void decode(ByteBuffer in) {
        firstUnseenXid = in.getInt();
        int flags = in.get();
        settled = (flags & SETTLED) != 0;
        unseenEnded = (flags & UNSEEN_ENDED) != 0;
        rewritten.decode(in);
        locks.decode(in);
        tops.decode(in);
        XidMap then = new XidMap();
        then.decode(in);
        then.forEach((xid, catalogs) -> written.put(xid, Catalogs.resumed(catalogs)));
        prepared.decode(in);
        newDatabases.decode(in);
        relationMaps.decode(in);
    }
}
