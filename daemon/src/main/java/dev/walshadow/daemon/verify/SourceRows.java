package dev.walshadow.daemon.verify;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.pipeline.mapping.Transform;
import dev.walshadow.pipeline.mapping.TransformedText;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyOut;

/** Reads a table's rows from the source by COPY, as PostgreSQL's own text. */
final class SourceRows {
    private static final String INSUFFICIENT_PRIVILEGE = "42501";

    private final Connection connection;

    /** Takes the session over: UTC, ISO dates, hex bytea, exact floats. */
    SourceRows(Connection connection) throws SQLException {
        this.connection = connection;
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET TimeZone = 'UTC'");
            statement.execute("SET DateStyle = 'ISO, YMD'");
            statement.execute("SET IntervalStyle = 'postgres'");
            statement.execute("SET bytea_output = 'hex'");
            statement.execute("SET extra_float_digits = 1");
            statement.execute("SET xmloption = 'content'");
            statement.execute("SET client_encoding = 'UTF8'");
        }
    }

    Connection connection() {
        return connection;
    }

    /** All rows, in no order. The consumer gets canonical values, valid after it returns too. */
    void scan(ComparedTable table, Consumer<List<@Nullable String>> consumer) throws SQLException {
        copy(table, new Part("", "", ""), consumer);
    }

    /**
     * Any one row, of some blocks of the table.
     *
     * @param percent of the table's blocks to read
     */
    void any(ComparedTable table, double percent, Consumer<List<@Nullable String>> consumer)
            throws SQLException {
        String sample = String.format(Locale.ROOT, " TABLESAMPLE SYSTEM (%.6f)", percent);
        copy(table, new Part(sample, "", " ORDER BY random() LIMIT 1"), consumer);
    }

    /**
     * The first rows at or above a key, in PostgreSQL's order of keys.
     *
     * @param least texts of the key columns; empty: from the first row on
     */
    void range(
            ComparedTable table,
            List<String> least,
            int rows,
            Consumer<List<@Nullable String>> consumer)
            throws SQLException {
        String columns = keyColumns(table);
        String above = least.isEmpty() ? "" : "(" + columns + ") >= " + tuple(least);
        copy(table, new Part("", above, " ORDER BY " + columns + " LIMIT " + rows), consumer);
    }

    /**
     * What is read of a table.
     *
     * @param sample behind its name
     * @param condition beside its own; empty: none
     * @param end of the statement
     */
    private record Part(String sample, String condition, String end) {}

    private static String keyColumns(ComparedTable table) {
        return table.columns().stream()
                .filter(ComparedTable.Column::key)
                .map(column -> quoteIdentifier(column.sourceName()))
                .collect(Collectors.joining(", "));
    }

    private static String tuple(List<String> key) {
        return key.stream()
                .map(SourceRows::quoteLiteral)
                .collect(Collectors.joining(", ", "(", ")"));
    }

    /** The rows with these keys (PostgreSQL's text of the key columns). */
    void lookup(
            ComparedTable table, List<List<String>> keys, Consumer<List<@Nullable String>> consumer)
            throws SQLException {
        if (!table.hasPlainKey()) {
            Set<List<@Nullable String>> wanted = new HashSet<>(keys);
            scan(
                    table,
                    row -> {
                        if (wanted.contains(key(table, row))) {
                            consumer.accept(row);
                        }
                    });
            return;
        }
        String values = keys.stream().map(SourceRows::tuple).collect(Collectors.joining(", "));
        String condition = "(" + keyColumns(table) + ") IN (" + values + ")";
        copy(table, new Part("", condition, ""), consumer);
    }

    private static List<@Nullable String> key(ComparedTable table, List<@Nullable String> row) {
        List<@Nullable String> key = new ArrayList<>();
        for (int i = 0; i < row.size(); i++) {
            if (table.columns().get(i).key()) {
                key.add(row.get(i));
            }
        }
        return key;
    }

    private void copy(ComparedTable table, Part part, Consumer<List<@Nullable String>> consumer)
            throws SQLException {
        String columns =
                table.columns().stream()
                        .map(SourceRows::expression)
                        .collect(Collectors.joining(", "));
        String rows = table.where().isEmpty() ? "" : " WHERE (" + table.where() + ")";
        String asked =
                part.condition().isEmpty()
                        ? ""
                        : (rows.isEmpty() ? " WHERE " : " AND ") + part.condition();
        String from = table.from() + part.sample() + rows + asked + part.end();
        String sql = "COPY (SELECT " + columns + " FROM " + from + ") TO STDOUT";
        List<@Nullable TransformedText> transforms = new ArrayList<>();
        for (ComparedTable.Column column : table.columns()) {
            Transform transform = column.transform();
            transforms.add(transform == null ? null : new TransformedText(transform));
        }
        CopyOut copy = begin(table, sql);
        try {
            for (byte[] line = copy.readFromCopy(); line != null; line = copy.readFromCopy()) {
                consumer.accept(parse(table, transforms, line));
            }
        } finally {
            if (copy.isActive()) {
                copy.cancelCopy();
            }
        }
    }

    private CopyOut begin(ComparedTable table, String sql) throws SQLException {
        try {
            return connection.unwrap(PGConnection.class).getCopyAPI().copyOut(sql);
        } catch (SQLException e) {
            if (!INSUFFICIENT_PRIVILEGE.equals(e.getSQLState())) {
                throw e;
            }
            throw new ConfigurationException(
                    DaemonCodes.ROW_SECURITY,
                    "the source's role does not see all rows of "
                            + table.from()
                            + ": "
                            + e.getMessage()
                            + "; grant it SELECT, and BYPASSRLS where the table has row-level"
                            + " security",
                    e);
        }
    }

    /** Whether text is stored as ClickHouse has it. */
    static boolean hasUtf8(Connection session) throws SQLException {
        return "UTF8"
                .equals(session.unwrap(PGConnection.class).getParameterStatus("server_encoding"));
    }

    /**
     * What the rows of a table that replicate are selected from: its own, not those of tables that
     * inherit from it; those of its partitions, without foreign ones, whose rows are nowhere in the
     * WAL; none of a materialized view WITH NO DATA, which cannot be read.
     */
    static String from(Connection session, RelationDescriptor relation) throws SQLException {
        String name = quoted(relation.name().schema(), relation.name().name());
        return switch (relation.kind()) {
            case 'p' -> fromPartitions(session, relation, name);
            case 'm' ->
                    isPopulated(session, relation)
                            ? "ONLY " + name
                            : "(SELECT * FROM ONLY " + name + " WHERE false) nothing";
            default -> "ONLY " + name;
        };
    }

    private static boolean isPopulated(Connection session, RelationDescriptor relation)
            throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT relispopulated FROM pg_class WHERE oid = "
                                        + Integer.toUnsignedString(relation.oid()))) {
            return row.next() && row.getBoolean(1);
        }
    }

    private static String fromPartitions(
            Connection session, RelationDescriptor relation, String name) throws SQLException {
        String columns =
                relation.attributes().stream()
                        .filter(attribute -> !attribute.dropped())
                        .map(attribute -> quoteIdentifier(attribute.name()))
                        .collect(Collectors.joining(", "));
        // of itself a partitioned table has no rows
        StringBuilder leaves = new StringBuilder("SELECT " + columns + " FROM ONLY " + name);
        boolean foreign = false;
        try (Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT n.nspname, c.relname, c.relkind = 'f' FROM"
                                        + " pg_partition_tree("
                                        + Integer.toUnsignedString(relation.oid())
                                        + ") t JOIN pg_class c ON c.oid = t.relid JOIN"
                                        + " pg_namespace n ON n.oid = c.relnamespace WHERE"
                                        + " t.isleaf")) {
            while (row.next()) {
                if (row.getBoolean(3)) {
                    foreign = true;
                } else {
                    leaves.append(" UNION ALL SELECT ")
                            .append(columns)
                            .append(" FROM ONLY ")
                            .append(quoted(row.getString(1), row.getString(2)));
                }
            }
        }
        return foreign ? "(" + leaves + ") leaves" : name;
    }

    private static String quoted(String schema, String name) {
        return quoteIdentifier(schema) + "." + quoteIdentifier(name);
    }

    private static String expression(ComparedTable.Column column) {
        String name = quoteIdentifier(column.sourceName());
        if (column.large()) {
            return LargeValues.source(column, name);
        }
        String cast =
                switch (column.sourceType()) {
                    case "money" -> "::numeric";
                    case "_money" -> "::numeric[]";
                    case "regproc",
                            "regprocedure",
                            "regoper",
                            "regoperator",
                            "regclass",
                            "regtype",
                            "regconfig",
                            "regdictionary",
                            "regnamespace",
                            "regrole",
                            "regcollation" ->
                            "::oid";
                    default -> column.sourceType().startsWith("_reg") ? "::oid[]" : "";
                };
        return name + cast;
    }

    private static List<@Nullable String> parse(
            ComparedTable table, List<@Nullable TransformedText> transforms, byte[] line) {
        String text = new String(line, StandardCharsets.UTF_8);
        List<@Nullable String> values = new ArrayList<>(table.columns().size());
        int start = 0;
        int end = text.endsWith("\n") ? text.length() - 1 : text.length();
        for (ComparedTable.Column column : table.columns()) {
            int tab = text.indexOf('\t', start);
            int stop = tab < 0 ? end : tab;
            String field = unescape(text.substring(start, stop));
            TransformedText transform = transforms.get(values.size());
            if (transform != null) {
                field = transform.of(field);
            }
            values.add(
                    CanonicalText.ofSource(
                            field,
                            column.targetType(),
                            column.delimiter(),
                            column.nullOutOfRange()));
            start = stop + 1;
        }
        return values;
    }

    /** The text format of COPY: {@code \N} is NULL, backslash escapes. */
    private static @Nullable String unescape(String field) {
        if (field.equals("\\N")) {
            return null;
        }
        if (field.indexOf('\\') < 0) {
            return field;
        }
        StringBuilder text = new StringBuilder(field.length());
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            if (c == '\\') {
                c =
                        switch (field.charAt(++i)) {
                            case 'b' -> '\b';
                            case 'f' -> '\f';
                            case 'n' -> '\n';
                            case 'r' -> '\r';
                            case 't' -> '\t';
                            case 'v' -> '\u000B';
                            default -> field.charAt(i);
                        };
            }
            text.append(c);
        }
        return text.toString();
    }

    static String quoteIdentifier(String name) {
        return "\"" + name.replace("\"", "\"\"") + "\"";
    }

    private static String quoteLiteral(String text) {
        return "'" + text.replace("'", "''") + "'";
    }
}
