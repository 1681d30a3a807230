package dev.walshadow.pipeline;

import dev.walshadow.transaction.CommittedChanges;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One committed transaction (or baseline chunk) on its way through planner and workers. Closed when
 * the planner and every piece are done with it.
 */
final class TransactionWork {
    final CommittedChanges changes;
    final AckLedger ledger;
    final long sequence;
    final boolean baseline;

    /** The table that all rows are of; null: each record says. */
    final @Nullable TargetTable target;

    /** What changes before the rows. */
    final @Nullable CatalogChange catalog;

    private final AtomicInteger users = new AtomicInteger(1);

    private TransactionWork(
            CommittedChanges changes,
            AckLedger ledger,
            long sequence,
            boolean baseline,
            @Nullable TargetTable target,
            @Nullable CatalogChange catalog) {
        this.changes = changes;
        this.ledger = ledger;
        this.sequence = sequence;
        this.baseline = baseline;
        this.target = target;
        this.catalog = catalog;
    }

    /**
     * @param catalog what the same commit changed of tables; null: nothing
     */
    static TransactionWork committed(
            CommittedChanges changes,
            @Nullable CatalogChange catalog,
            AckLedger ledger,
            long sequence) {
        return new TransactionWork(changes, ledger, sequence, false, null, catalog);
    }

    /**
     * @param target null: each record says
     */
    static TransactionWork baseline(
            CommittedChanges changes,
            AckLedger ledger,
            long sequence,
            @Nullable TargetTable target) {
        return new TransactionWork(changes, ledger, sequence, true, target, null);
    }

    /** A change of tables by a commit without rows, or by nobody. */
    static TransactionWork catalog(CatalogChange change, AckLedger ledger, long sequence) {
        // before the commit's own rows, which count from its position on
        long position = change.position() - 1;
        return new TransactionWork(
                new EmptyChanges(position, position), ledger, sequence, false, null, change);
    }

    /** The same, that counts as a part of other work of the same ledger; in place of this. */
    TransactionWork asPartOf(long otherSequence) {
        return new TransactionWork(changes, ledger, otherSequence, baseline, target, catalog);
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
