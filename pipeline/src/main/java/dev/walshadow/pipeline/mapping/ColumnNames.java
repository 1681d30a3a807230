package dev.walshadow.pipeline.mapping;

import java.util.HashSet;
import java.util.Set;

/**
 * Which names columns cannot have in ClickHouse, and what they are called there instead. Pure.
 *
 * <p>A dot makes ClickHouse take what is in front of it for a Nested column or a column with
 * subcolumns: arrays {@code a.b} and {@code a.c} would have to be of equal length in every row.
 */
final class ColumnNames {
    /** Columns that MergeTree tables may not have, or that hide one that every such table has. */
    private static final Set<String> RESERVED =
            Set.of(
                    "_row_exists",
                    "_part",
                    "_part_index",
                    "_part_uuid",
                    "_part_offset",
                    "_part_data_version",
                    "_part_starting_offset",
                    "_part_granule_offset",
                    "_partition_id",
                    "_partition_value",
                    "_sample_factor",
                    "_block_number",
                    "_block_offset",
                    "_database",
                    "_table",
                    "_disk_name",
                    "_distance");

    private ColumnNames() {}

    static boolean isReserved(String name) {
        return RESERVED.contains(name);
    }

    /** Whether ClickHouse takes the name for what it is. */
    static boolean isFree(String name) {
        return !isReserved(name) && name.indexOf('.') < 0;
    }

    /**
     * A name near it that is free: a dot becomes an underscore, then come leading underscores.
     *
     * @param others the names of all columns of the table
     */
    static String allowed(String name, Set<String> others) {
        if (isFree(name)) {
            return name;
        }
        Set<String> taken = new HashSet<>(RESERVED);
        taken.addAll(others);
        return MetaColumns.free(name.replace('.', '_'), taken);
    }
}
