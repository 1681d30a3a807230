package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.mapping.TableMapping;
import org.jspecify.annotations.Nullable;

/**
 * What has to happen in ClickHouse between two generations of a table: after the last row of the
 * earlier one is durable, before the first of the later one is sent (I9). {@link TargetDdl} does
 * it.
 */
sealed interface Opening {
    /** The generation before; null: this is the first in this process. */
    @Nullable TargetTable previous();

    /** All of its rows that are wanted come in the WAL: an empty table, if it does not exist. */
    record Create(@Nullable TargetTable previous) implements Opening {}

    /**
     * The table that is there is made to fit.
     *
     * @param from the mapping it has
     * @param before the shape that {@code from} was made for
     */
    record Alter(@Nullable TargetTable previous, TableMapping from, RelationDescriptor before)
            implements Opening {}

    /**
     * The rows come from the source, into a staging table.
     *
     * @param reason for people
     */
    record Load(@Nullable TargetTable previous, String reason) implements Opening {}

    /**
     * The table's storage was replaced, and all of its new rows come in the commit's own records:
     * into a staging table, which takes the target's place when they are durable.
     *
     * @param reason for people
     */
    record Refill(TargetTable previous, String reason) implements Opening {}

    /** A partition's rows go to the table as its opening has left it. */
    record Join(@Nullable TargetTable previous) implements Opening {}

    /** A partition's rows come from the source, into the partitioned table's table. */
    record JoinLoad(@Nullable TargetTable previous, String reason) implements Opening {}

    /** A partitioned table's table is made anew; its partitions are loaded. */
    record Replace(TargetTable previous, String reason) implements Opening {}

    /**
     * The table was dropped on the source, or is not followed any more.
     *
     * @param policy what becomes of its rows; null: as configured for dropped ones
     */
    record Drop(@Nullable TargetTable previous, TargetOptions.@Nullable OnDrop policy)
            implements Opening {}

    /** Nothing can be sent any more; the rows of before stay. */
    record Hold(TargetTable previous) implements Opening {}
}
