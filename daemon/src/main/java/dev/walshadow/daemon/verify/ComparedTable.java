package dev.walshadow.daemon.verify;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseType;
import java.util.List;

/**
 * A table on both sides, as far as a comparison needs it.
 *
 * @param partitioned the source's rows are those of its partitions; else only its own count, not
 *     those of tables that inherit from it
 * @param deletedColumn the target's {@code _is_deleted} column
 * @param columns those that replicate, in source order
 */
public record ComparedTable(
        RelationName source,
        boolean partitioned,
        String targetDatabase,
        String targetTable,
        String deletedColumn,
        List<Column> columns) {
    /**
     * @param sourceType PostgreSQL's base type name, e.g. {@code bytea}
     * @param key part of the target's sorting key
     */
    public record Column(
            String sourceName,
            String sourceType,
            String targetName,
            ClickHouseType targetType,
            boolean key) {}

    public ComparedTable {
        columns = List.copyOf(columns);
    }

    /** What the source's rows are selected from. */
    String from() {
        return (partitioned ? "" : "ONLY ")
                + SourceRows.quoteIdentifier(source.schema())
                + "."
                + SourceRows.quoteIdentifier(source.name());
    }

    /** No column tells rows apart: the same row may be there more than once. */
    boolean keyless() {
        return columns.stream().noneMatch(Column::key);
    }
}
