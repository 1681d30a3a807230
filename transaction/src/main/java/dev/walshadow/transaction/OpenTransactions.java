package dev.walshadow.transaction;

import dev.walshadow.postgres.wal.WalRecord;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The transactions without an end record, linked in the order of their first records, so the first
 * is the floor; and to which of them a subtransaction belongs. Used by the WAL pump only, but for
 * {@link #prepared}.
 */
final class OpenTransactions {
    private final ChunkPool pool;
    private final TransactionCounters counters;
    private final int maxLinks;

    private final XidMap<OpenTransaction> transactions = new XidMap<>();
    private final XidMap<SubtransactionLink> links = new XidMap<>();
    private @Nullable OpenTransaction first;
    private @Nullable OpenTransaction last;

    /** By xid; written by the pump, read by any thread. */
    private final Map<Integer, PreparedTransaction> prepared = new ConcurrentHashMap<>();

    private boolean forgot;
    private int lastXid;
    private @Nullable OpenTransaction lastOwner;

    /**
     * @param maxLinks of how many subtransactions the top level is remembered
     */
    OpenTransactions(ChunkPool pool, TransactionCounters counters, int maxLinks) {
        this.pool = pool;
        this.counters = counters;
        this.maxLinks = maxLinks;
    }

    @Nullable OpenTransaction first() {
        return first;
    }

    @Nullable OpenTransaction find(int xid) {
        return transactions.get(xid);
    }

    /** Some subtransaction's top level was forgotten: its records may lie in two arenas. */
    boolean hasForgotten() {
        return forgot;
    }

    /** The one that holds most memory; null if none holds any. */
    @Nullable OpenTransaction largest() {
        OpenTransaction largest = null;
        long most = 0;
        for (OpenTransaction each = first; each != null; each = each.next) {
            if (each.arena().bytesInMemory() > most) {
                most = each.arena().bytesInMemory();
                largest = each;
            }
        }
        return largest;
    }

    // ---- who a record belongs to

    /** The one that a record with a transaction id belongs to; begun if it is its first. */
    OpenTransaction ownerOf(WalRecord record) {
        int xid = record.xid();
        OpenTransaction owner = lastOwner;
        if (owner == null || xid != lastXid) {
            owner = findOwner(xid, record);
            lastXid = xid;
            lastOwner = owner;
        }
        return owner;
    }

    private OpenTransaction findOwner(int xid, WalRecord record) {
        OpenTransaction own = transactions.get(xid);
        if (own != null) {
            return own;
        }
        SubtransactionLink link = links.get(xid);
        if (link != null) {
            return link.topLevel();
        }
        int topLevelXid = record.topLevelXid();
        if (topLevelXid == 0 || topLevelXid == xid) {
            return begin(xid, record.lsn());
        }
        return link(xid, topLevelXid, record.lsn());
    }

    private OpenTransaction begin(int xid, long lsn) {
        OpenTransaction begun = new OpenTransaction(xid, lsn, pool);
        transactions.put(xid, begun);
        append(begun);
        TransactionCounters.add(counters.live, 1);
        return begun;
    }

    /** Notes that a subtransaction without records so far belongs to that top level. */
    private OpenTransaction link(int xid, int topLevelXid, long lsn) {
        OpenTransaction topLevel = transactions.get(topLevelXid);
        if (topLevel == null) {
            topLevel = begin(topLevelXid, lsn);
        }
        if (links.size() >= maxLinks) {
            forgetMostLinks();
        }
        links.put(xid, new SubtransactionLink(topLevel, topLevel.arena().end()));
        topLevel.links++;
        topLevel.hasSubtransactions = true;
        return topLevel;
    }

    /**
     * Bounds the map (I10). A forgotten subtransaction that writes again is kept apart from then
     * on, and joined by the commit record's list; its rollback frees only what it wrote since.
     */
    private void forgetMostLinks() {
        OpenTransaction most = null;
        for (OpenTransaction each = first; each != null; each = each.next) {
            if (most == null || each.links > most.links) {
                most = each;
            }
        }
        if (most != null) {
            forgot = true;
            forgetLinks(most);
        }
    }

    /** No subtransaction is known to belong to it any more. */
    void forgetLinks(OpenTransaction topLevel) {
        if (topLevel.links > 0) {
            links.removeIf(link -> link.topLevel() == topLevel);
            topLevel.links = 0;
            lastOwner = null;
        }
    }

    /** Takes the subtransaction's link away; null if there is none. */
    @Nullable SubtransactionLink unlink(int xid) {
        SubtransactionLink link = links.remove(xid);
        if (link != null) {
            link.topLevel().links--;
            lastOwner = null;
        }
        return link;
    }

    // ---- prepared ones

    /** In no order; for any thread. */
    Collection<PreparedTransaction> prepared() {
        return List.copyOf(prepared.values());
    }

    void prepared(PreparedTransaction transaction) {
        prepared.put(transaction.xid(), transaction);
    }

    /** Returns the first LSN of the transaction, if it has records of its own. */
    long markPrepared(int xid) {
        OpenTransaction transaction = transactions.get(xid);
        if (transaction == null) {
            return Long.MAX_VALUE;
        }
        if (!transaction.prepared) {
            transaction.prepared = true;
            TransactionCounters.add(counters.prepared, 1);
        }
        return transaction.firstLsn();
    }

    // ---- ends

    /** Frees everything the transaction has written. */
    void drop(OpenTransaction transaction) {
        remove(transaction);
        forgetLinks(transaction);
        transaction.arena().free();
    }

    /** Takes it out, with what it has written. */
    void remove(OpenTransaction transaction) {
        transactions.remove(transaction.xid());
        cut(transaction);
        transaction.ended = true;
        lastOwner = null;
        TransactionCounters.add(counters.live, -1);
        if (transaction.prepared) {
            TransactionCounters.add(counters.prepared, -1);
            prepared.remove(transaction.xid());
        }
    }

    /** Those that a crashed source left without an end record: older than any that runs. */
    void vanishBefore(int oldestXid) {
        OpenTransaction each = first;
        while (each != null) {
            OpenTransaction after = each.next;
            if (!each.prepared && XidOrder.precedes(each.xid(), oldestXid)) {
                vanish(each);
            }
            each = after;
        }
    }

    /** Nothing runs at a shutdown or at the end of recovery; prepared transactions outlive both. */
    void vanishAll() {
        OpenTransaction each = first;
        while (each != null) {
            OpenTransaction after = each.next;
            if (!each.prepared) {
                vanish(each);
            }
            each = after;
        }
    }

    private void vanish(OpenTransaction transaction) {
        TransactionCounters.add(counters.vanished, 1);
        drop(transaction);
    }

    // ---- the list

    private void append(OpenTransaction transaction) {
        OpenTransaction before = last;
        transaction.previous = before;
        if (before == null) {
            first = transaction;
        } else {
            before.next = transaction;
        }
        last = transaction;
    }

    private void cut(OpenTransaction transaction) {
        OpenTransaction before = transaction.previous;
        OpenTransaction after = transaction.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            last = before;
        } else {
            after.previous = before;
        }
        transaction.previous = null;
        transaction.next = null;
    }
}
