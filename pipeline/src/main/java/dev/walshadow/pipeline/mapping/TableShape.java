package dev.walshadow.pipeline.mapping;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import java.util.ArrayList;
import java.util.List;
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
     */
    public record Column(String name, String type, String defaultKind) {}

    public TableShape {
        columns = List.copyOf(columns);
    }

    /** Reads the shape from the system tables; null if there is no such table. */
    public static @Nullable TableShape read(
            ClickHouseClient client, String database, String table) {
        String inDatabase = " WHERE database = " + Ddl.literal(database);
        String name = Ddl.literal(table);
        List<@Nullable String[]> tables =
                client.query(
                        "SELECT engine, engine_full, sorting_key FROM system.tables"
                                + inDatabase
                                + " AND name = "
                                + name);
        if (tables.isEmpty()) {
            return null;
        }
        List<Column> columns = new ArrayList<>();
        for (@Nullable String[] row :
                client.query(
                        "SELECT name, type, default_kind FROM system.columns"
                                + inDatabase
                                + " AND table = "
                                + name
                                + " ORDER BY position")) {
            columns.add(new Column(text(row[0]), text(row[1]), text(row[2])));
        }
        @Nullable String[] row = tables.getFirst();
        return new TableShape(database, table, text(row[0]), text(row[1]), text(row[2]), columns);
    }

    private static String text(@Nullable String value) {
        return value == null ? "" : value;
    }
}
