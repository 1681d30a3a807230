package dev.walshadow.daemon.verify;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.ResultRow;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads a table's current rows from ClickHouse with FINAL, as ClickHouse's own text. */
final class TargetRows {
    private final ClickHouseClient client;

    TargetRows(ClickHouseClient client) {
        this.client = client;
    }

    void scan(ComparedTable table, Consumer<List<@Nullable String>> consumer) {
        select(table, "", consumer);
    }

    void lookup(
            ComparedTable table,
            List<List<String>> keys,
            Consumer<List<@Nullable String>> consumer) {
        List<ComparedTable.Column> keyColumns =
                table.columns().stream().filter(ComparedTable.Column::key).toList();
        String columns =
                keyColumns.stream()
                        .map(column -> Ddl.identifier(column.targetName()))
                        .collect(Collectors.joining(", ", "(", ")"));
        String values =
                keys.stream().map(key -> tuple(keyColumns, key)).collect(Collectors.joining(", "));
        select(table, " AND tuple" + columns + " IN (" + values + ")", consumer);
    }

    private static String tuple(List<ComparedTable.Column> columns, List<String> key) {
        List<String> literals = new ArrayList<>();
        for (int i = 0; i < key.size(); i++) {
            ComparedTable.Column column = columns.get(i);
            literals.add(
                    isBytes(column)
                            ? "unhex('" + key.get(i).substring(2) + "')"
                            : "CAST("
                                    + Ddl.literal(key.get(i))
                                    + ", "
                                    + Ddl.literal(column.targetType().print())
                                    + ")");
        }
        return "tuple(" + String.join(", ", literals) + ")";
    }

    private static boolean isBytes(ComparedTable.Column column) {
        boolean array = column.targetType().bare() instanceof ClickHouseType.Array;
        return column.sourceType().equals(array ? "_bytea" : "bytea");
    }

    private void select(
            ComparedTable table, String condition, Consumer<List<@Nullable String>> consumer) {
        String columns =
                table.columns().isEmpty()
                        ? "1"
                        : table.columns().stream()
                                .map(TargetRows::expression)
                                .collect(Collectors.joining(", "));
        String sql =
                String.format(
                        Locale.ROOT,
                        "SELECT %s FROM %s.%s FINAL WHERE %s = 0%s",
                        columns,
                        Ddl.identifier(table.targetDatabase()),
                        Ddl.identifier(table.targetTable()),
                        Ddl.identifier(table.deletedColumn()),
                        condition);
        client.stream(sql, row -> consumer.accept(values(table, row)));
    }

    private static String expression(ComparedTable.Column column) {
        String name = Ddl.identifier(column.targetName());
        ClickHouseType type = column.targetType().bare();
        String shown = isBytes(column) ? hex(name, type) : name;
        // the text of an array inside a row is not escaped as that of a string is
        boolean nested = type instanceof ClickHouseType.Array || type instanceof ClickHouseType.Map;
        return nested ? "toString(" + shown + ")" : shown;
    }

    /** Bytes as PostgreSQL shows them, at whatever depth of arrays. */
    private static String hex(String value, ClickHouseType type) {
        return type instanceof ClickHouseType.Array array
                ? "arrayMap(x -> " + hex("x", array.element().bare()) + ", " + value + ")"
                : "concat('\\\\x', lower(hex(" + value + ")))";
    }

    private static List<@Nullable String> values(ComparedTable table, ResultRow row) {
        int count = table.columns().size();
        List<@Nullable String> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            ClickHouseType type = table.columns().get(i).targetType();
            values.add(CanonicalText.ofTarget(row.text(i), type));
        }
        return values;
    }
}
