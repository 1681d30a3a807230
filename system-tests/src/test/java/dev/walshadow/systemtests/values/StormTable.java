package dev.walshadow.systemtests.values;

import dev.walshadow.postgres.value.TypeSamples;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/**
 * One type's table: its values, and what can be made of them: arrays of all kinds, a domain, a
 * domain over arrays, a composite with a dropped attribute, one that nests it, a range and a
 * multirange where the type has an order. The values lie in a table of their own, which does not
 * replicate; the rows are made of it by SQL, so PostgreSQL alone says what they are.
 */
final class StormTable {
    private final int number;
    private final TypeSamples samples;
    private final int count;

    /** By column: its type, and its value, of the value {@code v} and another one {@code w}. */
    private final Map<String, Column> columns = new LinkedHashMap<>();

    private record Column(String type, String expression) {}

    /**
     * @param random values beyond the fixed ones
     */
    StormTable(Connection session, int number, TypeSamples samples, Random generator, int random)
            throws SQLException {
        this.number = number;
        this.samples = samples;
        List<String> values = new ArrayList<>(samples.values());
        for (int i = 0; i < random && samples.random() != null; i++) {
            values.add(Objects.requireNonNull(samples.random()).apply(generator));
        }
        this.count = values.size();
        stage(session, values);
        columns(session);
    }

    String name() {
        return "storm.t_" + number;
    }

    String type() {
        return samples.type();
    }

    /** A value of an array type may have any number of dimensions; its column is a String. */
    boolean isArray() {
        return samples.type().endsWith("[]");
    }

    /**
     * Arrives as a number, which inside of a text is not what PostgreSQL prints (docs/types.md).
     */
    private boolean isIdentifier() {
        return samples.type().startsWith("reg");
    }

    private int rows() {
        return count * 2;
    }

    private void stage(Connection session, List<String> values) throws SQLException {
        String stage = "stage.s_" + number;
        execute(session, "CREATE TABLE " + stage + " (i int PRIMARY KEY, v " + type() + ")");
        try (PreparedStatement insert =
                session.prepareStatement("INSERT INTO " + stage + " VALUES (?, ?)")) {
            for (int i = 0; i < count; i++) {
                insert.setInt(1, i);
                insert.setObject(2, values.get(i), Types.OTHER);
                insert.addBatch();
                if (i % 500 == 499) {
                    insert.executeBatch();
                }
            }
            insert.executeBatch();
        }
    }

    private void columns(Connection session) throws SQLException {
        String domain = "storm.d_" + number;
        String composite = "storm.c_" + number;
        String nest = "storm.n_" + number;
        execute(session, "CREATE DOMAIN " + domain + " AS " + type());
        columns.put("v", new Column(type(), "v"));
        columns.put("d", new Column(domain, "w"));
        String array = isArray() ? type() : type() + "[]";
        if (!isArray()) {
            arrays(session, array);
        }
        if (isIdentifier()) {
            return;
        }
        String inner = isArray() ? "v" : wild(array);
        execute(
                session,
                "CREATE TYPE " + composite + " AS (a " + type() + ", b " + array + ", gone int)");
        execute(
                session,
                "CREATE TYPE " + nest + " AS (c " + composite + ", t text, e " + domain + ")");
        // the last field is left NULL: it goes, and one of another name comes
        String row = "ROW(v, " + inner + ", NULL)::" + composite;
        columns.put(
                "c", new Column(composite, "CASE WHEN i % 11 = 0 THEN NULL ELSE " + row + " END"));
        columns.put(
                "cs",
                new Column(
                        composite + "[]",
                        "ARRAY[" + row + ", NULL, ROW(NULL, NULL, NULL)::" + composite + "]"));
        columns.put("n", new Column(nest, "ROW(" + row + ", i::text, w)::" + nest));
        if (isOrdered(session)) {
            ranges(session);
        }
    }

    private void arrays(Connection session, String array) throws SQLException {
        String plain =
                """
                CASE i % 6
                    WHEN 0 THEN NULL
                    WHEN 1 THEN '{}'::$
                    WHEN 2 THEN ARRAY[v, NULL, w]::$
                    WHEN 3 THEN ('[-1:1]=' || (ARRAY[v, w, NULL]::$)::text)::$
                    WHEN 4 THEN ARRAY[v]::$
                    ELSE ARRAY[w, v, v, w]::$
                END\
                """;
        columns.put("a", new Column(array, plain.replace("$", array)));
        String two =
                """
                CASE i % 4
                    WHEN 0 THEN NULL
                    WHEN 1 THEN '{}'::$
                    WHEN 2 THEN ARRAY[ARRAY[v, NULL], ARRAY[w, v]]::$
                    ELSE ('[2:3][-5:-5]=' || (ARRAY[ARRAY[v], ARRAY[w]]::$)::text)::$
                END\
                """;
        columns.put("b", new Column(array + "[]", two.replace("$", array)));
        String six = "ARRAY[[[[[[v, NULL, w]]]], [[[[w, v, NULL]]]]]]::$";
        columns.put("s", new Column(array + "[][][][][]", six.replace("$", array)));
        String domain = "storm.da_" + number;
        execute(session, "CREATE DOMAIN " + domain + " AS " + array);
        columns.put("da", new Column(domain, "ARRAY[w, NULL]::" + array));
        if (isIdentifier()) {
            return;
        }
        // no constructor makes an array of a domain over arrays; those of box have semicolons
        String inside = "(ARRAY[v, w]::" + array + ")::text";
        String nested =
                type().equals("box")
                        ? "('{\"' || " + inside + " || '\";NULL}')"
                        : "ARRAY[" + inside + ", NULL]::text";
        nested += "::" + domain + "[]";
        columns.put("das", new Column(domain + "[]", nested));
    }

    /** An array of changing dimensions, which only a field inside of something can be. */
    private static String wild(String array) {
        return "CASE i % 3 WHEN 0 THEN ARRAY[v]::$ WHEN 1 THEN ARRAY[ARRAY[v], ARRAY[w]]::$ ELSE '{}' END"
                .replace("$", array);
    }

    /** Whether it has a default order, which a range's subtype needs, and no modifier. */
    private boolean isOrdered(Connection session) throws SQLException {
        if (type().contains("(") || isArray() || type().contains(" ")) {
            return false;
        }
        try (Statement statement = session.createStatement();
                ResultSet rows =
                        statement.executeQuery(
                                "SELECT EXISTS (SELECT FROM pg_opclass o JOIN pg_am m ON m.oid ="
                                        + " o.opcmethod WHERE amname = 'btree' AND opcdefault AND"
                                        + " opcintype = '"
                                        + type()
                                        + "'::regtype)")) {
            rows.next();
            return rows.getBoolean(1);
        }
    }

    private void ranges(Connection session) throws SQLException {
        String range = "storm.r_" + number;
        String multirange = "storm.m_" + number;
        execute(
                session,
                "CREATE TYPE %s AS RANGE (subtype = %s, multirange_type_name = %s)"
                        .formatted(range, type(), multirange));
        String whole = range + "(least(v, w), greatest(v, w), '[]')";
        String one =
                """
                CASE i % 6
                    WHEN 0 THEN NULL
                    WHEN 1 THEN 'empty'::$
                    WHEN 2 THEN $(NULL, v)
                    WHEN 3 THEN $(v, NULL, '(]')
                    WHEN 4 THEN $(NULL, NULL)
                    ELSE\
                """;
        columns.put("r", new Column(range, one.replace("$", range) + " " + whole + " END"));
        columns.put("rs", new Column(range + "[]", "ARRAY[" + whole + ", NULL, 'empty']"));
        String several =
                """
                CASE i % 3
                    WHEN 0 THEN '{}'::$
                    WHEN 1 THEN $(#, @(NULL, least(v, w), '()'))
                    ELSE $(#)
                END\
                """;
        columns.put(
                "m",
                new Column(
                        multirange,
                        several.replace("$", multirange).replace("#", whole).replace("@", range)));
    }

    /** The table, with a dropped column in the middle. */
    void create(Connection session) throws SQLException {
        StringBuilder sql = new StringBuilder("CREATE TABLE " + name() + " (id int PRIMARY KEY");
        int at = 0;
        for (Map.Entry<String, Column> column : columns.entrySet()) {
            sql.append(at++ == 2 ? ", gone text" : "");
            sql.append(", ").append(column.getKey()).append(' ').append(column.getValue().type());
        }
        sql.append(", touched int)");
        execute(session, sql.toString());
        execute(session, "ALTER TABLE " + name() + " DROP COLUMN gone");
    }

    /** Half of the rows, and a row of NULLs. */
    void insert(Connection session, int half) throws SQLException {
        execute(
                session,
                "INSERT INTO "
                        + name()
                        + " (id, "
                        + names()
                        + ") SELECT id, "
                        + expressions()
                        + " FROM ("
                        + pairs(half)
                        + ") x");
        execute(session, "INSERT INTO %s (id) VALUES (%d)".formatted(name(), -1 - half));
    }

    /** Columns, without the key and {@code touched}. */
    String names() {
        return String.join(", ", columns.keySet());
    }

    private String expressions() {
        return String.join(", ", columns.values().stream().map(Column::expression).toList());
    }

    private String pairs(int half) {
        return ("SELECT s.i + %1$d AS id, s.i, s.v, o.v AS w FROM stage.s_%2$d s JOIN"
                        + " stage.s_%2$d o ON o.i = (s.i * 7 + 3) %% %3$d")
                .formatted(half * count, number, count);
    }

    /** Every third row gets another row's values; every fifth keeps its own. */
    void update(Connection session) throws SQLException {
        String assigned =
                String.join(", ", columns.keySet().stream().map(c -> c + " = y." + c).toList());
        List<String> made = new ArrayList<>();
        columns.forEach((name, column) -> made.add(column.expression() + " AS " + name));
        execute(
                session,
                "UPDATE "
                        + name()
                        + " t SET "
                        + assigned
                        + " FROM (SELECT (id + 5) % "
                        + rows()
                        + " AS id, "
                        + String.join(", ", made)
                        + " FROM ("
                        + pairs(0)
                        + ") x WHERE id % 3 = 0) y WHERE t.id = y.id");
        execute(session, "UPDATE " + name() + " SET touched = id WHERE id % 5 = 0");
        execute(session, "DELETE FROM " + name() + " WHERE id > 0 AND id % 17 = 0");
    }

    /** What became of the composite's field that is always NULL. */
    void changeComposite(Connection session) throws SQLException {
        if (isIdentifier()) {
            return;
        }
        execute(session, "ALTER TYPE storm.c_%d DROP ATTRIBUTE gone".formatted(number));
        execute(session, "ALTER TYPE storm.c_%d ADD ATTRIBUTE more text".formatted(number));
    }

    private static void execute(Connection session, String sql) throws SQLException {
        try (Statement statement = session.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new SQLException(e.getMessage() + " in " + sql, e);
        }
    }
}
