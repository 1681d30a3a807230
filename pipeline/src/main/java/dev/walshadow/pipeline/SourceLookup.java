package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The last resort for an unchanged toasted value that ClickHouse does not hold: a SELECT on the
 * source, given by the daemon.
 */
public interface SourceLookup {
    /**
     * Exactly one row version.
     *
     * @param tid block number &lt;&lt; 16 | offset number
     * @param xid the (sub)transaction that wrote it: the place may have been used again
     * @param topXid its top-level transaction, which the WAL says has committed
     */
    record Place(long tid, int xid, int topXid) {}

    /**
     * PostgreSQL's output text of {@code columns} (attnums) of a row, or null when there is no such
     * row version any more. A commit is in the WAL before others see it: this waits until they do.
     *
     * @throws dev.walshadow.base.QuarantineException if PostgreSQL cannot print a value
     */
    @Nullable List<@Nullable String> select(
            RelationDescriptor relation, Place place, List<Integer> columns)
            throws InterruptedException;
}
