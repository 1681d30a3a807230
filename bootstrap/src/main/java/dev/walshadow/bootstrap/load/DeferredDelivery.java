package dev.walshadow.bootstrap.load;

import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.load.TransactionStatuses.Status;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
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

    private final DeferredRows rows;
    private final BackupTransactions transactions;
    private final BaselineLoader.Sessions sessions;
    private final Positions positions;

    public DeferredDelivery(
            DeferredRows rows,
            BackupTransactions transactions,
            BaselineLoader.Sessions sessions,
            Positions positions) {
        this.rows = rows;
        this.transactions = transactions;
        this.sessions = sessions;
        this.positions = positions;
    }

    @Override
    public void run() {
        long nextAsk = System.nanoTime() + ASK_NANOS;
        try {
            while (!rows.isEmpty()) {
                takeEnds();
                if (System.nanoTime() - nextAsk >= 0 && !rows.isEmpty()) {
                    ask();
                    nextAsk = System.nanoTime() + ASK_NANOS;
                }
                Thread.sleep(POLL_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void takeEnds() throws InterruptedException {
        List<TransactionEnd> ends = transactions.drainEnds();
        if (!ends.isEmpty()) {
            rows.resolve(ends);
            transactions.settle();
        }
    }

    private void ask() throws InterruptedException {
        Set<Integer> open = rows.waitsFor();
        Map<Integer, Status> answers;
        long position;
        try (Connection session = sessions.open()) {
            answers = new TransactionStatuses(session).ask(open);
            position = positions.current(session);
        } catch (SQLException | RetryException e) {
            LOG.debug("the source cannot be asked about open transactions: {}", e.toString());
            return;
        }
        Set<Integer> ended =
                answers.entrySet().stream()
                        .filter(each -> each.getValue() != Status.IN_PROGRESS)
                        .map(Map.Entry::getKey)
                        .collect(Collectors.toSet());
        if (ended.isEmpty()) {
            return;
        }
        while (transactions.position() < position) {
            Thread.sleep(POLL_MILLIS);
        }
        takeEnds();
        ended.retainAll(rows.waitsFor());
        List<TransactionEnd> before = new ArrayList<>();
        for (int xid : ended) {
            boolean committed = answers.get(xid) == Status.COMMITTED;
            before.add(new TransactionEnd(xid, committed, 0, 0, 0));
        }
        rows.resolve(before);
    }
}
