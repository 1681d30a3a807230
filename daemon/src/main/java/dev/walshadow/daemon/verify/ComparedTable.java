package dev.walshadow.daemon.verify;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.pipeline.mapping.OutOfRange;
import dev.walshadow.pipeline.mapping.Transform;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A table on both sides, as far as a comparison needs it.
 *
 * @param from what its rows are selected from on the source, as SQL
 * @param versionColumn the target's {@code _version} column
 * @param deletedColumn the target's {@code _is_deleted} column
 * @param columns those that replicate, in source order
 * @param where which rows replicate, as SQL; empty: all
 * @param versionsOf the target's key, where it keeps every version; empty: it does not
 */
public record ComparedTable(
        RelationName source,
        String from,
        String targetDatabase,
        String targetTable,
        String versionColumn,
        String deletedColumn,
        List<Column> columns,
        String where,
        List<String> versionsOf) {
    /**
     * @param sourceType PostgreSQL's type name, domains resolved, e.g. {@code bytea} or {@code
     *     _bytea}
     * @param delimiter between the elements of its arrays (typdelim)
     * @param key part of the target's sorting key
     * @param outOfRange what becomes of values that the target's type cannot hold; null: its
     *     default
     * @param large its large values are compared as {@link LargeValues} shows them
     * @param transform what is sent instead of the values; null: the values
     */
    public record Column(
            String sourceName,
            String sourceType,
            char delimiter,
            String targetName,
            ClickHouseType targetType,
            boolean key,
            boolean large,
            @Nullable OutOfRange outOfRange,
            @Nullable Transform transform) {
        /** Whether dates and timestamps that ClickHouse cannot hold are NULL. */
        boolean nullOutOfRange() {
            return outOfRange == OutOfRange.NULL;
        }
    }

    /** Whether the source can be asked for rows by the keys that ClickHouse has. */
    boolean hasPlainKey() {
        return columns.stream().noneMatch(column -> column.key() && column.transform() != null);
    }

    /** The key's columns alone. */
    ComparedTable keys() {
        return new ComparedTable(
                source,
                from,
                targetDatabase,
                targetTable,
                versionColumn,
                deletedColumn,
                columns.stream().filter(Column::key).toList(),
                where,
                versionsOf);
    }

    public ComparedTable {
        columns = List.copyOf(columns);
        versionsOf = List.copyOf(versionsOf);
    }

    /** No column tells rows apart: the same row may be there more than once. */
    boolean keyless() {
        return columns.stream().noneMatch(Column::key);
    }
}
