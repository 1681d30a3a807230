package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The last resort for an unchanged toasted value that ClickHouse does not hold: a SELECT on the
 * source, given by the daemon. The answer may be newer than the row that asks; that converges,
 * because whatever made it newer comes later in the WAL.
 */
public interface SourceLookup {
    /**
     * PostgreSQL's output text of {@code columns} (attnums) of the row whose key columns (attnums)
     * have these output texts, or null when there is no such row any more.
     */
    @Nullable List<@Nullable String> select(
            RelationDescriptor relation,
            List<Integer> keyColumns,
            List<String> keyValues,
            List<Integer> columns)
            throws InterruptedException;
}
