package dev.walshadow.daemon.verify;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.ResultRow;
import dev.walshadow.clickhouse.RowConsumer;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads a table's current rows from ClickHouse with FINAL, or as the newest version of each key
 * where all are kept, as ClickHouse's own text; of several shards from one after the other, each
 * row of one of them.
 */
final class TargetRows {
    private final List<ClickHouseClient> shards;
    private final Map<String, String> settings;
    private final Consumer<Runnable> turn;

    TargetRows(ClickHouseClient client) {
        this(client, Map.of(), Runnable::run);
    }

    /**
     * @param settings of every query
     * @param turn runs it
     */
    TargetRows(ClickHouseClient client, Map<String, String> settings, Consumer<Runnable> turn) {
        this.shards = client.shards();
        this.settings = settings;
        this.turn = turn;
    }

    void scan(ComparedTable table, Consumer<List<@Nullable String>> consumer) {
        select(table, "", "", consumer);
    }

    /**
     * The first rows at or above a key, in ClickHouse's order of keys; of several shards the first
     * ones of each.
     *
     * @param least texts of the key columns; empty: from the first row on
     */
    void range(
            ComparedTable table,
            List<String> least,
            int rows,
            Consumer<List<@Nullable String>> consumer) {
        List<ComparedTable.Column> keyColumns =
                table.columns().stream().filter(ComparedTable.Column::key).toList();
        String columns =
                keyColumns.stream()
                        .map(column -> Ddl.identifier(column.targetName()))
                        .collect(Collectors.joining(", "));
        String above = "";
        if (!least.isEmpty()) {
            // the first column by itself lets the primary index be used
            above =
                    Ddl.identifier(keyColumns.getFirst().targetName())
                            + " >= "
                            + literal(keyColumns.getFirst(), least.getFirst())
                            + " AND tuple("
                            + columns
                            + ") >= "
                            + tuple(keyColumns, least);
        }
        int ofEach = Math.ceilDiv(rows, shards.size());
        select(table, above, " ORDER BY " + columns + " LIMIT " + ofEach, consumer);
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
        select(table, "tuple" + columns + " IN (" + values + ")", "", consumer);
    }

    /**
     * Commit positions of the newest versions of these keys, deletions included; absent: there is
     * none.
     */
    Map<List<String>, Long> commits(ComparedTable table, List<List<String>> keys) {
        ComparedTable only = table.keys();
        Map<List<String>, Long> commits = new HashMap<>();
        String columns =
                only.columns().stream()
                        .map(column -> Ddl.identifier(column.targetName()))
                        .collect(Collectors.joining(", "));
        String values =
                keys.stream()
                        .map(key -> tuple(only.columns(), key))
                        .collect(Collectors.joining(", "));
        query(
                String.format(
                        Locale.ROOT,
                        "SELECT %s, %s FROM %s.%s WHERE tuple(%s) IN (%s) GROUP BY %s",
                        only.columns().stream()
                                .map(TargetRows::expression)
                                .collect(Collectors.joining(", ")),
                        commit(table),
                        Ddl.identifier(table.targetDatabase()),
                        Ddl.identifier(table.targetTable()),
                        columns,
                        values,
                        columns),
                row ->
                        commits.put(
                                TableComparison.keyText(only, values(only, row)),
                                Long.parseUnsignedLong(
                                        Objects.requireNonNull(row.text(only.columns().size())))));
        return commits;
    }

    /** Commit position of the table's newest change; 0: it has none. */
    long newestCommit(ComparedTable table) {
        long[] newest = new long[1];
        query(
                String.format(
                        Locale.ROOT,
                        "SELECT %s FROM %s.%s",
                        commit(table),
                        Ddl.identifier(table.targetDatabase()),
                        Ddl.identifier(table.targetTable())),
                row ->
                        newest[0] =
                                Math.max(
                                        newest[0],
                                        Long.parseUnsignedLong(
                                                Objects.requireNonNull(row.text(0)))));
        return newest[0];
    }

    private static String commit(ComparedTable table) {
        return "toUInt64(bitShiftRight(max(" + Ddl.identifier(table.versionColumn()) + "), 64))";
    }

    private static String tuple(List<ComparedTable.Column> columns, List<String> key) {
        List<String> literals = new ArrayList<>();
        for (int i = 0; i < key.size(); i++) {
            literals.add(literal(columns.get(i), key.get(i)));
        }
        return "tuple(" + String.join(", ", literals) + ")";
    }

    private static String literal(ComparedTable.Column column, String text) {
        return isBytes(column)
                ? "unhex('" + text.substring(2) + "')"
                : "CAST("
                        + Ddl.literal(text)
                        + ", "
                        + Ddl.literal(column.targetType().print())
                        + ")";
    }

    private static boolean isBytes(ComparedTable.Column column) {
        boolean array = column.targetType().bare() instanceof ClickHouseType.Array;
        return column.sourceType().equals(array ? "_bytea" : "bytea");
    }

    /**
     * @param condition on the key; empty: none
     * @param rest what follows the conditions
     */
    private void select(
            ComparedTable table,
            String condition,
            String rest,
            Consumer<List<@Nullable String>> consumer) {
        String columns =
                table.columns().isEmpty()
                        ? "1"
                        : table.columns().stream()
                                .map(TargetRows::expression)
                                .collect(Collectors.joining(", "));
        String sql =
                String.format(
                        Locale.ROOT,
                        "SELECT %s FROM %s WHERE %s = 0%s%s",
                        columns,
                        rows(table, condition),
                        Ddl.identifier(table.deletedColumn()),
                        condition.isEmpty() ? "" : " AND " + condition,
                        rest);
        query(sql, row -> consumer.accept(values(table, row)));
    }

    /** The newest version of each key. */
    private static String rows(ComparedTable table, String condition) {
        String place = Ddl.qualified(table.targetDatabase(), table.targetTable());
        return table.versionsOf().isEmpty()
                ? place + " FINAL"
                : TableMapping.newestVersions(
                        place, condition, table.versionsOf(), table.versionColumn());
    }

    private void query(String sql, RowConsumer consumer) {
        for (ClickHouseClient shard : shards) {
            turn.accept(() -> shard.stream(sql, settings, consumer));
        }
    }

    private static String expression(ComparedTable.Column column) {
        String name = Ddl.identifier(column.targetName());
        ClickHouseType type = column.targetType().bare();
        String shown = isBytes(column) ? hex(name, type) : name;
        if (column.large()) {
            return LargeValues.target(name, shown);
        }
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
