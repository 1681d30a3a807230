package dev.walshadow.pipeline.mapping;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A table as ClickHouse has it.
 *
 * @param engine e.g. {@code ReplacingMergeTree}
 * @param engineFull with parameters, order and settings, as {@code system.tables} prints it
 * @param sortingKey e.g. {@code id, part}
 */
public record TableShape(
        String database,
        String table,
        String engine,
        String engineFull,
        String sortingKey,
        List<Column> columns) {

    /**
     * @param type as ClickHouse spells it
     * @param defaultKind empty, DEFAULT, MATERIALIZED, ALIAS or EPHEMERAL
     * @param comment empty if there is none
     */
    public record Column(String name, String type, String defaultKind, String comment) {
        /** Without a comment. */
        public Column(String name, String type, String defaultKind) {
            this(name, type, defaultKind, "");
        }
    }

    public TableShape {
        columns = List.copyOf(columns);
    }

    /** Reads the shape from the system tables; null if there is no such table. */
    public static @Nullable TableShape read(
            ClickHouseClient client, String database, String table) {
        SortedMap<Integer, @Nullable String[]> rows = new TreeMap<>();
        // the table's row is number 0, the columns' are numbered from 1
        String sql =
                """
                SELECT 0 AS number, engine, engine_full, sorting_key, '' FROM system.tables
                WHERE database = %1$s AND name = %2$s
                UNION ALL
                SELECT position AS number, name, type, default_kind, comment FROM system.columns
                WHERE database = %1$s AND table = %2$s\
                """
                        .formatted(Ddl.literal(database), Ddl.literal(table));
        for (@Nullable String[] row : client.query(sql)) {
            rows.put(Integer.valueOf(text(row[0])), row);
        }
        @Nullable String[] first = rows.remove(0);
        if (first == null) {
            return null;
        }
        List<Column> columns =
                rows.values().stream()
                        .map(row ->
                                new Column(text(row[1]), text(row[2]), text(row[3]), text(row[4])))
                        .toList();
        return new TableShape(
                database, table, text(first[1]), text(first[2]), text(first[3]), columns);
    }

    private static String text(@Nullable String value) {
        return value == null ? "" : value;
    }
}
