package dev.walshadow.bootstrap.load;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.load.TransactionStatuses.Status;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs until every deferred row is delivered: takes the ends that the WAL brings, and now and then
 * asks the source about transactions without one. One that the source knows as ended, while the WAL
 * read up to after that answer has no end record, had ended before the backup's start.
 */
public final class DeferredDelivery implements Runnable {
    /** The source's WAL position now, where a record can end. */
    public interface Positions {
        long current(Connection session) throws SQLException;
    }

    private static final Logger LOG = LoggerFactory.getLogger(DeferredDelivery.class);
    private static final long POLL_MILLIS = 50;
    private static final long ASK_NANOS = 2_000_000_000L;

    private final List<DeferredRows> rows;
    private final BackupTransactions transactions;
    private final BaselineLoader.Sessions sessions;
    private final Positions positions;
    private final Runnable caughtUp;

    /**
     * @param rows of each database
     * @param caughtUp told once that no row waits for a transaction that had ended by the beginning
     */
    public DeferredDelivery(
            List<DeferredRows> rows,
            BackupTransactions transactions,
            BaselineLoader.Sessions sessions,
            Positions positions,
            Runnable caughtUp) {
        this.rows = List.copyOf(rows);
        this.transactions = transactions;
        this.sessions = sessions;
        this.positions = positions;
        this.caughtUp = caughtUp;
    }

    @Override
    public void run() {
        long nextAsk = System.nanoTime();
        boolean told = false;
        try {
            while (!isEmpty()) {
                takeEnds();
                if (System.nanoTime() - nextAsk >= 0 && !isEmpty()) {
                    ask();
                    nextAsk = System.nanoTime() + ASK_NANOS;
                }
                if (!told && !isEmpty()) {
                    told = true;
                    caughtUp.run();
                }
                Thread.sleep(POLL_MILLIS);
            }
            if (!told) {
                caughtUp.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void takeEnds() throws InterruptedException {
        List<TransactionEnd> ends = transactions.drainEnds();
        if (!ends.isEmpty()) {
            resolve(ends);
            transactions.settle();
        }
    }

    private void ask() throws InterruptedException {
        Map<Integer, Status> answers;
        long position;
        long asked = transactions.position();
        try (Connection session = sessions.open()) {
            answers = endedSteadily(new TransactionStatuses(session));
            position = positions.current(session);
        } catch (SQLException | RetryException e) {
            LOG.debug("the source cannot be asked about open transactions: {}", e.toString());
            return;
        }
        if (answers.isEmpty()) {
            // they all have their locks: no table that they wrote to was truncated up to here
            transactions.holdFrom(asked);
            return;
        }
        while (transactions.position() < position) {
            Thread.sleep(POLL_MILLIS);
        }
        takeEnds();
        Set<Integer> ended = new HashSet<>(answers.keySet());
        ended.retainAll(waitsFor());
        List<TransactionEnd> before = new ArrayList<>();
        for (int xid : ended) {
            before.add(endedBefore(xid, answers.get(xid)));
        }
        resolve(before);
        transactions.holdFrom(asked);
    }

    private boolean isEmpty() {
        return rows.stream().allMatch(DeferredRows::isEmpty);
    }

    private Set<Integer> waitsFor() {
        Set<Integer> xids = new HashSet<>();
        rows.forEach(each -> xids.addAll(each.waitsFor()));
        return xids;
    }

    private void resolve(List<TransactionEnd> ends) throws InterruptedException {
        for (DeferredRows each : rows) {
            each.resolve(ends);
        }
    }

    /**
     * The transactions that have ended. Asked until the answer is the same twice, since the source
     * answers one by one: the second answer has every end that precedes one in the first, so none
     * is taken without its parent's or its subtransactions'.
     */
    private Map<Integer, Status> endedSteadily(TransactionStatuses statuses) {
        Set<Integer> open = waitsFor();
        Map<Integer, Status> ended = ended(statuses, open);
        while (!ended.isEmpty()) {
            Map<Integer, Status> again = ended(statuses, open);
            if (again.equals(ended)) {
                break;
            }
            ended = again;
        }
        return ended;
    }

    private static Map<Integer, Status> ended(TransactionStatuses statuses, Set<Integer> xids) {
        Map<Integer, Status> answers = statuses.ask(xids);
        answers.values().removeIf(each -> each == Status.IN_PROGRESS);
        return answers;
    }

    private static TransactionEnd endedBefore(int xid, @Nullable Status status) {
        return switch (status) {
            case COMMITTED -> new TransactionEnd(xid, true, 0, 0, 0);
            case ABORTED -> new TransactionEnd(xid, false, 0, 0, 0);
            case null, default ->
                    throw new HaltException(
                            BootstrapCodes.LOST_OUTCOME,
                            "rows of the initial load wait for the end of transaction "
                                    + Integer.toUnsignedString(xid)
                                    + ", but the source does not know any more how it ended and the"
                                    + " WAL did not say; attach anew with an empty [state] dir");
        };
    }
}
