package dev.walshadow.catalog;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Relations whose newest shape in the log is not the one that they have: a commit changed it, and
 * nobody has read it since. Written by the WAL pump; read by any thread.
 */
final class OwedShapes {
    private static final long STILL = Long.MAX_VALUE;

    /** One relation. */
    record Debtor(int databaseOid, int relationOid) {}

    /**
     * @param from the first commit that changed it unread
     * @param until where it was read; {@link #STILL}: it was not
     */
    record Debt(long from, long until) {
        boolean isOpen(long lsn) {
            return until == STILL || until > lsn;
        }
    }

    private final ConcurrentHashMap<Debtor, Debt> debts = new ConcurrentHashMap<>();
    private final AtomicInteger open = new AtomicInteger();

    void owe(int databaseOid, int relationOid, long lsn) {
        debts.compute(
                new Debtor(databaseOid, relationOid),
                (_, debt) -> {
                    if (debt != null && debt.until() == STILL) {
                        return debt;
                    }
                    open.incrementAndGet();
                    return new Debt(lsn, STILL);
                });
    }

    /** It was read, or is gone. */
    void settle(int databaseOid, int relationOid, long lsn) {
        debts.computeIfPresent(
                new Debtor(databaseOid, relationOid),
                (_, debt) -> {
                    if (debt.until() != STILL) {
                        return debt;
                    }
                    open.decrementAndGet();
                    return debt.from() == lsn ? null : new Debt(debt.from(), lsn);
                });
    }

    /** Nothing is owed now. */
    boolean isEmpty() {
        return open.get() == 0;
    }

    boolean isOwed(int databaseOid, int relationOid, long lsn) {
        if (debts.isEmpty()) {
            return false;
        }
        Debt debt = debts.get(new Debtor(databaseOid, relationOid));
        return debt != null && debt.isOpen(lsn);
    }

    boolean isAnyOwed(long lsn) {
        return debts.values().stream().anyMatch(debt -> debt.isOpen(lsn));
    }

    /** What is owed now, in the order of the OIDs. */
    List<Integer> of(int databaseOid) {
        if (isEmpty()) {
            return List.of();
        }
        List<Integer> relations = new ArrayList<>();
        debts.forEach((debtor, debt) -> {
            if (debtor.databaseOid() == databaseOid && debt.until() == STILL) {
                relations.add(debtor.relationOid());
            }
        });
        relations.sort(Integer::compareUnsigned);
        return relations;
    }

    /** Nobody asks for positions below it any more. */
    void forget(long floorLsn) {
        debts.values().removeIf(debt -> debt.until() <= floorLsn);
    }

    /** Takes each. */
    interface Sink {
        void debt(Debtor debtor, long from);
    }

    void forEach(Sink sink) {
        debts.forEach((debtor, debt) -> sink.debt(debtor, debt.from()));
    }
}
