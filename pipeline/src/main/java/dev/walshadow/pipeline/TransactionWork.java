package dev.walshadow.pipeline;

import dev.walshadow.transaction.CommittedChanges;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One committed transaction (or baseline chunk) on its way through planner and workers. Closed when
 * the planner and every piece are done with it.
 */
final class TransactionWork {
    final CommittedChanges changes;
    final AckLedger ledger;
    final long sequence;
    final boolean baseline;

    private final AtomicInteger users = new AtomicInteger(1);

    TransactionWork(CommittedChanges changes, AckLedger ledger, long sequence, boolean baseline) {
        this.changes = changes;
        this.ledger = ledger;
        this.sequence = sequence;
        this.baseline = baseline;
    }

    void retain() {
        users.incrementAndGet();
    }

    void release() {
        if (users.decrementAndGet() == 0) {
            changes.close();
        }
    }
}
