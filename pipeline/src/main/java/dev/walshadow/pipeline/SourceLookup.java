package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The last resort for an unchanged toasted value that ClickHouse does not hold: a SELECT on the
 * source, given by the daemon. By key, the answer may be newer than the row that asks; that
 * converges, because whatever made it newer comes later in the WAL.
 */
public interface SourceLookup {
    /** Which row is asked for. */
    sealed interface Row {}

    /**
     * The row with this key.
     *
     * @param columns attnums
     * @param values their output texts
     */
    record Key(List<Integer> columns, List<String> values) implements Row {
        public Key {
            columns = List.copyOf(columns);
            values = List.copyOf(values);
        }
    }

    /**
     * Exactly one row version.
     *
     * @param tid block number &lt;&lt; 16 | offset number
     * @param xid the (sub)transaction that wrote it: the place may have been used again
     */
    record Place(long tid, int xid) implements Row {}

    /**
     * PostgreSQL's output text of {@code columns} (attnums) of a row, or null when there is no such
     * row any more.
     */
    @Nullable List<@Nullable String> select(
            RelationDescriptor relation, Row row, List<Integer> columns)
            throws InterruptedException;
}
