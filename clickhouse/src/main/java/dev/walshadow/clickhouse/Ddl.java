package dev.walshadow.clickhouse;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * DDL text. Identifiers always in backticks, texts in single quotes, both with ClickHouse's
 * backslash escapes, so any name that PostgreSQL allows comes through unchanged.
 */
public final class Ddl {
    private Ddl() {}

    /** An identifier in backticks. */
    public static String identifier(String name) {
        return quote(name, '`');
    }

    /** {@code `database`.`table`}. */
    public static String qualified(String database, String table) {
        return identifier(database) + "." + identifier(table);
    }

    /** A string literal in single quotes. */
    public static String literal(String text) {
        return quote(text, '\'');
    }

    /** The name as it is where ClickHouse prints it unquoted, else in backticks. */
    public static String identifierIfNeeded(String name) {
        boolean plain = !name.isEmpty() && !Character.isDigit(name.charAt(0));
        for (int i = 0; plain && i < name.length(); i++) {
            char c = name.charAt(i);
            plain = c < 0x80 && (Character.isLetterOrDigit(c) || c == '_');
        }
        return plain ? name : identifier(name);
    }

    public static String createDatabase(String database) {
        return "CREATE DATABASE IF NOT EXISTS " + identifier(database);
    }

    /**
     * A column of CREATE TABLE.
     *
     * @param definition the type's text, or {@code ALIAS expression}
     */
    public record ColumnDefinition(String name, String definition) {
        @Override
        public String toString() {
            return identifier(name) + " " + definition;
        }
    }

    /**
     * A table to create.
     *
     * @param engine e.g. {@code ReplacingMergeTree(`_version`, `_is_deleted`)}
     * @param orderBy column names; empty for {@code tuple()}
     * @param settings table settings in printed form, e.g. {@code index_granularity_bytes ->
     *     1048576}
     * @param comment empty: none
     */
    public record TableDefinition(
            String database,
            String table,
            List<ColumnDefinition> columns,
            String engine,
            List<String> orderBy,
            SortedMap<String, String> settings,
            String comment) {
        public TableDefinition {
            columns = List.copyOf(columns);
            orderBy = List.copyOf(orderBy);
            settings = new TreeMap<>(settings);
        }
    }

    public static String createTable(TableDefinition table) {
        StringBuilder out = new StringBuilder("CREATE TABLE IF NOT EXISTS ");
        out.append(qualified(table.database(), table.table())).append("\n(\n");
        String separator = "";
        for (ColumnDefinition column : table.columns()) {
            out.append(separator).append("    ").append(column);
            separator = ",\n";
        }
        out.append("\n)\nENGINE = ").append(table.engine());
        out.append("\nORDER BY ").append(tuple(table.orderBy()));
        separator = "\nSETTINGS ";
        for (Map.Entry<String, String> setting : table.settings().entrySet()) {
            out.append(separator).append(setting.getKey()).append(" = ");
            out.append(setting.getValue());
            separator = ", ";
        }
        if (!table.comment().isEmpty()) {
            out.append("\nCOMMENT ").append(literal(table.comment()));
        }
        return out.toString();
    }

    private static String tuple(List<String> columns) {
        if (columns.isEmpty()) {
            return "tuple()";
        }
        return "(" + String.join(", ", columns.stream().map(Ddl::identifier).toList()) + ")";
    }

    public static String addColumn(String database, String table, ColumnDefinition column) {
        return alter(database, table) + "ADD COLUMN IF NOT EXISTS " + column;
    }

    public static String dropColumn(String database, String table, String column) {
        return alter(database, table) + "DROP COLUMN IF EXISTS " + identifier(column);
    }

    public static String renameColumn(String database, String table, String from, String to) {
        return alter(database, table)
                + "RENAME COLUMN "
                + identifier(from)
                + " TO "
                + identifier(to);
    }

    public static String dropTable(String database, String table) {
        return "DROP TABLE IF EXISTS " + qualified(database, table) + " SYNC";
    }

    public static String truncateTable(String database, String table) {
        return "TRUNCATE TABLE IF EXISTS " + qualified(database, table);
    }

    public static String exchangeTables(String database, String one, String other) {
        return "EXCHANGE TABLES " + qualified(database, one) + " AND " + qualified(database, other);
    }

    private static String alter(String database, String table) {
        return "ALTER TABLE " + qualified(database, table) + " ";
    }

    private static String quote(String text, char quote) {
        StringBuilder out = new StringBuilder(text.length() + 2).append(quote);
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                case '\b' -> out.append("\\b");
                case '\f' -> out.append("\\f");
                case '\0' -> out.append("\\0");
                default -> {
                    if (c == quote) {
                        out.append('\\');
                    }
                    out.append(c);
                }
            }
        }
        return out.append(quote).toString();
    }
}
