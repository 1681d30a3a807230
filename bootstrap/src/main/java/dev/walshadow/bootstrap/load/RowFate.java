package dev.walshadow.bootstrap.load;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.load.TransactionStatuses.Status;
import dev.walshadow.postgres.heap.TupleView;
import java.util.Set;

/**
 * Decides what a tuple version of a copied page means for the baseline at B. The rules and why they
 * are right: {@code docs/bootstrap.md}, "Which tuple versions are rows". Not thread safe.
 */
final class RowFate {
    /** What becomes of a tuple version. */
    enum Fate {
        /** It was visible at B: a baseline row. */
        ROW,
        /** It was not there at B, or the WAL from B on has it. */
        ABSENT,
        /** Its inserter or deleter was open at B: wait for how that ends. */
        DEFERRED
    }

    private final BackupSnapshot snapshot;
    private final OpenTransactions open;
    private final TransactionStatuses statuses;

    /** The record that the tuples' page is the image of; 0 for a page of the backup. */
    private long imageLsn;

    /**
     * Of the last tuple: the open inserter and deleter, 0 if that one is settled. The inserter may
     * be {@link BackupSnapshot#COMMITTED_BEFORE}.
     */
    private int openInserter;

    private int openDeleter;

    private int lastXid;
    private Status lastStatus = Status.FORGOTTEN;

    RowFate(BackupSnapshot snapshot, OpenTransactions open, TransactionStatuses statuses) {
        this.snapshot = snapshot;
        this.open = open;
        this.statuses = statuses;
    }

    /** The tuples that follow are of the image of this record; 0: of a page of the backup. */
    void ofPage(long newImageLsn) {
        imageLsn = newImageLsn;
    }

    int openInserter() {
        return openInserter;
    }

    int openDeleter() {
        return openDeleter;
    }

    /** Collects what must be learned before {@link #decide} can answer for this tuple. */
    void questions(TupleView tuple, Set<Integer> xids, Set<Integer> multixacts) {
        int xmin = tuple.xmin();
        if (!isInserterSettled(tuple) && isNormal(xmin) && isEarlier(xmin)) {
            xids.add(xmin);
        }
        if (tuple.isXmaxInvalid() || tuple.isXmaxLockOnly()) {
            return;
        }
        int xmax = tuple.xmax();
        if (tuple.isXmaxMulti()) {
            multixacts.add(xmax);
        } else if (!tuple.isXmaxCommitted() && isNormal(xmax) && isEarlier(xmax)) {
            xids.add(xmax);
        }
    }

    /** The updaters of multixacts, once these have been learned. */
    void questionsOfUpdaters(Set<Integer> multixacts, Set<Integer> xids) {
        for (int multixact : multixacts) {
            int updater = statuses.updater(multixact);
            if (isNormal(updater) && isEarlier(updater)) {
                xids.add(updater);
            }
        }
    }

    private static boolean isInserterSettled(TupleView tuple) {
        return tuple.isXminFrozen() || tuple.isXminCommitted() || tuple.isXminInvalid();
    }

    private static boolean isNormal(int xid) {
        return BackupSnapshot.isTransaction(xid);
    }

    private boolean isEarlier(int xid) {
        return !snapshot.isLater(xid) && !snapshot.isOpen(xid);
    }

    Fate decide(TupleView tuple) {
        openInserter = 0;
        openDeleter = 0;
        if (!inserterCounts(tuple)) {
            return Fate.ABSENT;
        }
        return switch (deleter(tuple)) {
            case ROW -> BackupSnapshot.isTransaction(openInserter) ? Fate.DEFERRED : Fate.ROW;
            case ABSENT -> Fate.ABSENT;
            case DEFERRED -> Fate.DEFERRED;
        };
    }

    /** False: the tuple never was a row at B, nor can it become one by an open transaction. */
    private boolean inserterCounts(TupleView tuple) {
        int xmin = tuple.xmin();
        if (tuple.isXminFrozen()) {
            openInserter = isNormal(xmin) && imageLsn != 0 ? frozenInserter(xmin) : 0;
            return true;
        }
        if (xmin == 0) {
            return false;
        }
        if (!isNormal(xmin)) {
            return true;
        }
        if (snapshot.isLater(xmin)) {
            return false;
        }
        if (snapshot.isOpen(xmin)) {
            openInserter = xmin;
            return true;
        }
        if (tuple.isXminCommitted()) {
            return true;
        }
        return !tuple.isXminInvalid() && committed(xmin);
    }

    /**
     * A page of the backup was frozen before B, its inserters have long ended. An image may have
     * been frozen by its own record, an inserter that was open at B and has committed since
     * included. The xid of a frozen tuple may also be one of 2^32 transactions ago; it is then
     * taken for an open one only where that makes no difference: the row was there at B, and if the
     * open one committed before this first touch of the page, still then.
     */
    private int frozenInserter(int xmin) {
        if (!snapshot.isOpen(xmin)) {
            return 0;
        }
        return open.committedBefore(xmin, imageLsn) ? xmin : BackupSnapshot.COMMITTED_BEFORE;
    }

    /** ROW: nobody deleted it before B; ABSENT: somebody did; DEFERRED: an open transaction may. */
    private Fate deleter(TupleView tuple) {
        if (tuple.isXmaxInvalid() || tuple.isXmaxLockOnly()) {
            return Fate.ROW;
        }
        int xmax = tuple.isXmaxMulti() ? statuses.updater(tuple.xmax()) : tuple.xmax();
        if (!isNormal(xmax) || snapshot.isLater(xmax)) {
            return Fate.ROW;
        }
        if (snapshot.isOpen(xmax)) {
            openDeleter = xmax;
            return Fate.DEFERRED;
        }
        boolean hinted = tuple.isXmaxCommitted() && !tuple.isXmaxMulti();
        return hinted || committed(xmax) ? Fate.ABSENT : Fate.ROW;
    }

    private boolean committed(int xid) {
        if (xid != lastXid) {
            lastXid = xid;
            lastStatus = statuses.status(xid);
        }
        return switch (lastStatus) {
            case COMMITTED -> true;
            case ABORTED -> false;
            case IN_PROGRESS ->
                    throw new RetryException(
                            BootstrapCodes.SOURCE_QUERY,
                            "transaction "
                                    + Integer.toUnsignedString(xid)
                                    + " is in progress, but the WAL did not list it at the backup's"
                                    + " start; the initial load is tried again");
            case FORGOTTEN ->
                    throw new QuarantineException(
                            BootstrapCodes.DAMAGED_PAGE,
                            "a tuple names transaction "
                                    + Integer.toUnsignedString(xid)
                                    + ", whose end the source does not know any more, without hint"
                                    + " bits: the source's file is damaged; check it with"
                                    + " pg_amcheck");
        };
    }
}
