package dev.walshadow.bootstrap.reload;

import org.jspecify.annotations.Nullable;

/**
 * A table's blocks in ranges, each given to one reader. The first begins at the table's beginning,
 * the last has no end, and each begins where the one before ends: so every ctid is in exactly one,
 * however large the table grows. Thread safe.
 */
final class BlockRanges {
    /**
     * @param first block
     * @param end behind the last block; -1: none
     */
    record Range(long first, long end) {
        /** What of the table's rows are in it; empty for all. */
        String condition() {
            StringBuilder condition = new StringBuilder();
            if (first > 0) {
                condition.append(" WHERE ctid >= '(").append(first).append(",0)'::pg_catalog.tid");
            }
            if (end >= 0) {
                condition
                        .append(first > 0 ? " AND" : " WHERE")
                        .append(" ctid < '(")
                        .append(end)
                        .append(",0)'::pg_catalog.tid");
            }
            return condition.toString();
        }
    }

    private final long blocks;
    private final long perRange;
    private long next;
    private boolean ended;

    /**
     * @param blocks that the table has
     * @param perRange in each but the last range
     */
    BlockRanges(long blocks, long perRange) {
        this.blocks = blocks;
        this.perRange = perRange;
    }

    long count() {
        return Math.max(1, (blocks + perRange - 1) / perRange);
    }

    /** Null: all have been given. */
    synchronized @Nullable Range next() {
        if (ended) {
            return null;
        }
        long first = next;
        next += perRange;
        ended = next >= blocks;
        return new Range(first, ended ? -1 : next);
    }

    /** There is no point in reading any more. */
    synchronized void end() {
        ended = true;
    }
}
