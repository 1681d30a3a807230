package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.Ddl;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Which name in ClickHouse belongs to which table, and by which comment a table is known to be
 * ours. Thread safe.
 */
final class TargetNames {
    /** The names of {@link #scratch} tables that hold nothing of value once their maker is gone. */
    static final String UNFINISHED = "^(loading|beside)_[0-9]+_[0-9]+$";

    /** How the comment of a table of TOAST chunks ends. */
    static final String CHUNKS = ", TOAST chunks";

    private static final String HISTORY = ", history in ";

    private final String metadataDatabase;
    private final long systemIdentifier;
    private final LongFunction<@Nullable TargetTable> tables;

    /** Who has a name, and behind it who takes it next. */
    private final Map<TargetName, List<Claim>> claims = new HashMap<>();

    private final ReentrantLock lock = new ReentrantLock();

    /**
     * @param owner the table's key
     * @param since from which commit position on
     */
    private record Claim(long owner, long since) {
        boolean isOf(TargetTable table) {
            return owner == table.key() && since <= table.fromPosition();
        }
    }

    /**
     * @param tables the generation that is current for a table's key
     */
    TargetNames(
            String metadataDatabase,
            long systemIdentifier,
            LongFunction<@Nullable TargetTable> tables) {
        this.metadataDatabase = metadataDatabase;
        this.systemIdentifier = systemIdentifier;
        this.tables = tables;
    }

    void clear() {
        lock.lock();
        try {
            claims.clear();
        } finally {
            lock.unlock();
        }
    }

    /**
     * The table will be under this name once those that had it before have left. In the order of
     * the source's commits, for a name may pass from table to table faster than ClickHouse follows.
     */
    void announce(TargetTable table, TargetName name) {
        lock.lock();
        try {
            List<Claim> order = order(name);
            if (!order.isEmpty() && order.getLast().owner() == table.key()) {
                order.removeLast(); // nobody has it in between
            }
            order.add(new Claim(table.key(), table.fromPosition()));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Takes a name for a table, beside those that it has.
     *
     * @return null if it has it now; else the table that has it, or has it next
     */
    @Nullable TargetTable claim(TargetTable table, TargetName name) {
        lock.lock();
        try {
            List<Claim> order = order(name);
            while (!order.isEmpty()) {
                long first = order.getFirst().owner();
                if (first == table.key()) {
                    return null;
                }
                TargetTable other = tables.apply(first);
                if (other != null && !hasNoTarget(other)) {
                    return other;
                }
                order.removeFirst();
            }
            order.add(new Claim(table.key(), table.fromPosition()));
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Its rows of before, if there are any, make room for whoever has the name now. */
    private static boolean hasNoTarget(TargetTable table) {
        return table.isOpen() && (table.mapping() == null || table.state() == TableState.DROPPED);
    }

    /** Whether the table that has the name, or has it next, is to keep it. */
    boolean isKept(TargetTable owner, TargetName name) {
        if (owner.mapping() == null
                || owner.state() == TableState.DROPPED
                || !TargetName.of(owner.mapped()).equals(name)) {
            return false;
        }
        lock.lock();
        try {
            // else it leaves, and comes back behind others
            return order(name).stream().filter(claim -> claim.owner() == owner.key()).count() <= 1;
        } finally {
            lock.unlock();
        }
    }

    void releaseOthers(TargetTable table, TargetName kept) {
        lock.lock();
        try {
            claims.forEach((name, order) -> {
                if (!name.equals(kept)) {
                    order.removeIf(claim -> claim.isOf(table));
                }
            });
            claims.values().removeIf(List::isEmpty);
        } finally {
            lock.unlock();
        }
    }

    /** Every name that the table has had up to now; those that it takes later stay announced. */
    void release(TargetTable table) {
        lock.lock();
        try {
            claims.values().forEach(order -> order.removeIf(claim -> claim.isOf(table)));
            claims.values().removeIf(List::isEmpty);
        } finally {
            lock.unlock();
        }
    }

    /** It does not get the name. */
    void renounce(TargetTable table, TargetName name) {
        lock.lock();
        try {
            order(name).removeIf(claim -> claim.isOf(table));
        } finally {
            lock.unlock();
        }
    }

    private List<Claim> order(TargetName name) {
        return claims.computeIfAbsent(name, _ -> new ArrayList<>(1));
    }

    /** A table in walshadow's own database that belongs to nobody else. */
    TargetName scratch(String purpose, TargetTable table) {
        return new TargetName(
                metadataDatabase,
                purpose
                        + "_"
                        + Integer.toUnsignedString(table.databaseOid())
                        + "_"
                        + Integer.toUnsignedString(table.relationOid()));
    }

    /** By which a table in ClickHouse is known to be this one's. */
    String comment(TargetTable table) {
        return mark() + oids(table);
    }

    /** The statement that gives the table in that place this comment. */
    String marking(TargetTable table, TargetName place) {
        return "ALTER TABLE " + place.quoted() + " MODIFY COMMENT " + Ddl.literal(comment(table));
    }

    String stagingComment(TargetTable table) {
        return mark() + oids(table) + ", loading";
    }

    /**
     * Of a table of versions that the table cannot go on with, and that is to have this name.
     *
     * @param kept where it is to be, quoted
     */
    String historyComment(TargetTable table, String kept) {
        return mark() + oids(table) + HISTORY + kept;
    }

    boolean isHistoryOf(TargetTable table, String comment) {
        return comment.startsWith(mark() + oids(table) + HISTORY);
    }

    /** Where a table of versions is to be kept, quoted; null: it is none. */
    @Nullable String historyName(String comment) {
        int at = comment.indexOf(HISTORY);
        return isOurs(comment) && at > 0 ? comment.substring(at + HISTORY.length()) : null;
    }

    /** Of the table that has the chunks of its TOAST relation. */
    String chunksComment(TargetTable table) {
        return mark() + oids(table) + CHUNKS;
    }

    boolean isMarkOf(TargetTable table, String comment) {
        return comment.equals(comment(table))
                || comment.equals(stagingComment(table))
                || isHistoryOf(table, comment);
    }

    /**
     * Of what stands beside a table.
     *
     * @param digest of its definition, eight hexadecimal digits
     */
    String companionComment(TargetTable table, Companion kind, String digest) {
        return mark() + oids(table) + infix(kind.word()) + digest;
    }

    private static String infix(String word) {
        return ", " + word + " ";
    }

    /** True for the comment of one of ours of that kind. */
    boolean isCompanion(Companion kind, String comment) {
        return isOurs(comment) && comment.contains(infix(kind.word()));
    }

    /** The same of a comment that is known to be ours, of any kind. */
    static boolean isCompanionMark(String comment) {
        return isViewMark(comment) || isDistributedMark(comment);
    }

    static boolean isViewMark(String comment) {
        return comment.contains(infix("view"));
    }

    static boolean isDistributedMark(String comment) {
        return comment.contains(infix("distributed"));
    }

    boolean isOurs(String comment) {
        return comment.startsWith(mark());
    }

    String mark() {
        return mark(systemIdentifier, metadataDatabase);
    }

    /**
     * How the comment of every table begins that is replicated from a source by what keeps its
     * state in this database: the same source may be replicated there twice.
     */
    static String mark(long systemIdentifier, String metadataDatabase) {
        return "walshadow: source "
                + Long.toUnsignedString(systemIdentifier)
                + ", metadata "
                + metadataDatabase
                + ", table ";
    }

    private static String oids(TargetTable table) {
        return Integer.toUnsignedString(table.databaseOid())
                + "."
                + Integer.toUnsignedString(table.relationOid());
    }
}
