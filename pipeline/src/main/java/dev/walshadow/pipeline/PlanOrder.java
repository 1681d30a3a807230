package dev.walshadow.pipeline;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.transaction.CommittedChanges;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The order in which transactions are planned: that of their commits, but while a large one is on
 * its way, small ones of other tables pass it. A table's own changes stay in order, and nothing
 * passes a change of tables.
 *
 * <p>What passes counts as a part of the large transaction in the ledger: it is not durable before
 * that is, and comes again with it after a restart. So no position is acknowledged too early (I7),
 * and {@link AckLedger#planned} still hears of every sequence in order.
 *
 * <p>Belongs to the planner's thread, except {@link #offer}.
 */
final class PlanOrder {
    /** Bytes of records; a second's worth or so of a few of these is nothing to pass. */
    static final long LARGE_BYTES = 16 << 20;

    private static final int QUEUE = 1024;
    private static final int MOST_HELD = 1024;
    private static final int PASSING_AT_ONCE = 64;

    private final ArrayBlockingQueue<TransactionWork> committed = new ArrayBlockingQueue<>(QUEUE);
    private final Planner planner;
    private final Planner passing;
    private final AckLedger ledger;
    private final TargetTables tables;
    private final DescriptorLog descriptors;

    /** Could not pass. In order, ahead of {@link #committed}. */
    private final Queue<TransactionWork> held = new ArrayDeque<>();

    /** Sequences that are planned ahead of their turn, ascending. */
    private final Queue<Long> passed = new ArrayDeque<>();

    // of the large transaction at hand

    /** Tables that it or a held one changes; null: not looked up yet. */
    private @Nullable Set<Long> taken;

    /** Something waits that nothing may pass. */
    private boolean closed;

    /**
     * @param planner of whose turn it is
     * @param passing of those that pass meanwhile, on the same thread
     */
    PlanOrder(
            Planner planner,
            Planner passing,
            AckLedger ledger,
            TargetTables tables,
            DescriptorLog descriptors) {
        this.planner = planner;
        this.passing = passing;
        this.ledger = ledger;
        this.tables = tables;
        this.descriptors = descriptors;
    }

    /** The next in the order of commits; false if there is no room for so long. Any thread. */
    boolean offer(TransactionWork work, long millis) throws InterruptedException {
        return committed.offer(work, millis, TimeUnit.MILLISECONDS);
    }

    /** The first of all. */
    void begin(TransactionWork work) {
        committed.add(work);
    }

    /** Plans the next transaction. Returns true on durable progress. */
    boolean planNext() throws InterruptedException {
        TransactionWork work = held.poll();
        if (work == null) {
            work = committed.take();
        }
        if (work.catalog == null && isLarge(work.changes)) {
            TransactionWork large = work;
            taken = null;
            closed = false;
            planner.plan(work, () -> letPass(large));
        } else {
            planner.plan(work);
        }
        long sequence = work.sequence;
        boolean progress = ledger.planned(sequence);
        for (Long next = passed.peek();
                next != null && next == sequence + 1;
                next = passed.peek()) {
            passed.remove();
            sequence = next;
            progress |= ledger.planned(sequence);
        }
        return progress;
    }

    private static boolean isLarge(CommittedChanges changes) {
        return changes.bytes() >= LARGE_BYTES;
    }

    private void letPass(TransactionWork large) throws InterruptedException {
        for (int i = 0; i < PASSING_AT_ONCE && held.size() < MOST_HELD; i++) {
            if (closed || committed.isEmpty()) {
                return;
            }
            Set<Long> others = taken;
            if (others == null) {
                others = new HashSet<>();
                taken = others;
                take(others, tablesOf(large));
                held.forEach(this::take);
                continue;
            }
            TransactionWork next = committed.remove();
            Set<Long> own = tablesOf(next);
            if (own == null || isLarge(next.changes) || own.stream().anyMatch(others::contains)) {
                held.add(next);
                take(others, own);
            } else {
                passing.plan(next.asPartOf(large.sequence));
                passed.add(next.sequence);
            }
        }
    }

    private void take(TransactionWork work) {
        take(Objects.requireNonNull(taken), tablesOf(work));
    }

    private void take(Set<Long> others, @Nullable Set<Long> more) {
        if (more == null) {
            closed = true;
        } else {
            others.addAll(more);
        }
    }

    /** Keys of what the transaction changes, a partitioned table's for its partitions. */
    private @Nullable Set<Long> tablesOf(TransactionWork work) {
        CommittedChanges changes = work.changes;
        Set<RelationLocator> relations =
                work.catalog != null || changes.ignored() ? null : changes.relations();
        if (relations == null) {
            return null;
        }
        Set<Long> keys = new HashSet<>();
        for (RelationLocator locator : relations) {
            RelationDescriptor relation = descriptors.find(locator, changes.commitPosition());
            if (relation == null) {
                return null;
            }
            int oid = relation.kind() == 't' ? relation.ownerRelationOid() : relation.oid();
            TargetTable table = tables.find(relation.databaseOid(), oid);
            TargetTable root = table == null ? null : table.root();
            keys.add(root == null ? Quarantine.key(relation.databaseOid(), oid) : root.key());
        }
        return keys;
    }

    /** Gives back what has not been planned; the thread has ended. */
    void release() {
        held.forEach(TransactionWork::release);
        committed.forEach(TransactionWork::release);
    }
}
