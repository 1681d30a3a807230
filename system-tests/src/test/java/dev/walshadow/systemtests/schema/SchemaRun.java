package dev.walshadow.systemtests.schema;

import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.daemon.verify.TableResult;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Runs the statements of cases on the source and judges each by one comparison of everything. */
final class SchemaRun implements AutoCloseable {
    /** What happens between two statements of a case. */
    interface Between {
        void between(SchemaCase running) throws SQLException;
    }

    /** What is replicated if all is well: partitions arrive with their root. */
    private static final String TABLES =
            """
            SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
            WHERE relkind IN ('r', 'p', 'm') AND relpersistence = 'p' AND NOT relispartition
            ORDER BY 1, 2\
            """;

    private static final String COLUMNS =
            """
            SELECT string_agg(attname, '|' ORDER BY attnum) FROM pg_attribute
            JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
            WHERE attnum > 0 AND NOT attisdropped AND attgenerated <> 'v' AND n.nspname = ?
            AND c.relname = ?\
            """;

    private final Installation installation;
    private final Connection main;
    private final Map<String, String> brokenStatements = new LinkedHashMap<>();

    SchemaRun(Installation installation) throws SQLException {
        this.installation = installation;
        this.main = installation.session();
    }

    void prepare(List<SchemaCase> cases) throws SQLException {
        for (SchemaCase each : cases) {
            execute(main, "CREATE SCHEMA " + each.schema());
            run(each, each.before(), running -> {});
        }
    }

    void change(List<SchemaCase> cases, Between between) throws SQLException {
        for (SchemaCase each : cases) {
            run(each, each.during(), between);
        }
    }

    private void run(SchemaCase running, List<String> statements, Between between)
            throws SQLException {
        Map<String, Connection> sessions = new LinkedHashMap<>();
        String current = "";
        begin(main, running);
        try {
            for (String text : statements) {
                current = text.replace("$S", running.schema());
                boolean other = current.matches("(?s)[a-z]> .*");
                String name = other ? current.substring(0, 1) : "";
                Connection session = other ? sessions.get(name) : main;
                if (session == null) {
                    session = installation.session();
                    begin(session, running);
                    sessions.put(name, session);
                }
                execute(session, other ? current.substring(3) : current);
                between.between(running);
            }
        } catch (SQLException e) {
            brokenStatements.put(running.name(), current + ": " + e.getMessage());
            execute(main, "ROLLBACK");
        } finally {
            for (Connection session : sessions.values()) {
                session.close();
            }
        }
    }

    private static void begin(Connection session, SchemaCase running) throws SQLException {
        execute(session, "DISCARD ALL");
        execute(session, "SET search_path = " + running.schema());
        execute(session, "SET statement_timeout = '60s'");
    }

    private static void execute(Connection session, String sql) throws SQLException {
        boolean fails = sql.startsWith("! ");
        try (Statement statement = session.createStatement()) {
            statement.execute(fails ? sql.substring(2) : sql);
        } catch (SQLException e) {
            if (fails) {
                return;
            }
            throw e;
        }
        if (fails) {
            throw new SQLException("this was to fail");
        }
    }

    /** Case name to what is wrong with it; only those with something wrong. */
    Map<String, String> judge(List<SchemaCase> cases) throws Exception {
        Verification.Outcome outcome = installation.verify();
        Map<String, List<String>> present = tablesBySchema();
        Map<String, String> wrong = new LinkedHashMap<>();
        for (SchemaCase each : cases) {
            String broken = brokenStatements.get(each.name());
            List<String> found =
                    broken == null
                            ? judge(each, outcome, present)
                            : List.of("the source refused " + broken);
            if (!found.isEmpty()) {
                wrong.put(each.name(), String.join("; ", found));
            }
        }
        return wrong;
    }

    private List<String> judge(
            SchemaCase judged, Verification.Outcome outcome, Map<String, List<String>> present)
            throws SQLException {
        List<String> wrong = new ArrayList<>();
        TreeSet<String> expected = new TreeSet<>();
        present.forEach((schema, tables) -> {
            if (judged.owns(schema)) {
                tables.forEach(table -> expected.add(schema + "." + table));
            }
        });
        for (String table : judged.setAside()) {
            String name = judged.schema() + "." + table;
            expected.remove(name);
            if (outcome.setAside().stream().noneMatch(line -> line.startsWith(name + ": "))) {
                wrong.add(table + " is not named as set aside");
            }
        }
        for (TableResult result : outcome.results()) {
            if (judged.owns(result.table().schema())) {
                expected.remove(result.table().toString());
                if (!result.equal()) {
                    wrong.add(describe(result));
                }
                if (judged.plainNames()) {
                    checkColumns(result, wrong);
                }
            }
        }
        for (String line : outcome.setAside()) {
            String reason = unexpected(judged, line);
            if (reason != null) {
                expected.removeIf(table -> line.startsWith(table + ": "));
                wrong.add("set aside: " + reason);
            }
        }
        expected.forEach(table -> wrong.add("not compared: " + table));
        checkTarget(judged, wrong);
        return wrong;
    }

    /** Column names and their order, of tables that walshadow's own columns do not meet. */
    private void checkColumns(TableResult result, List<String> wrong) throws SQLException {
        String there =
                installation
                        .target()
                        .query(
                                "SELECT arrayStringConcat(groupArray(name), '|') FROM (SELECT name"
                                        + " FROM system.columns WHERE database = "
                                        + Ddl.literal(result.table().schema())
                                        + " AND table = "
                                        + Ddl.literal(result.table().name())
                                        + " AND NOT startsWith(name, '_') ORDER BY position)")
                        .strip();
        try (PreparedStatement statement = main.prepareStatement(COLUMNS)) {
            statement.setString(1, result.table().schema());
            statement.setString(2, result.table().name());
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                if (!there.equals(row.getString(1))) {
                    wrong.add(
                            "%s has columns %s, in ClickHouse %s"
                                    .formatted(result.table(), row.getString(1), there));
                }
            }
        }
    }

    private static String describe(TableResult result) {
        TableResult.@Nullable Difference first =
                result.differences().isEmpty() ? null : result.differences().getFirst();
        return "%s: %d rows, %d in ClickHouse: %d missing, %d extra, %d different, e.g. %s"
                .formatted(
                        result.table(),
                        result.sourceRows(),
                        result.targetRows(),
                        result.missing(),
                        result.extra(),
                        result.different(),
                        first);
    }

    /** The line if it speaks of a table of this case that should replicate. */
    private static @Nullable String unexpected(SchemaCase judged, String line) {
        int point = line.indexOf('.');
        if (point < 0 || !judged.owns(line.substring(0, point))) {
            return null;
        }
        for (String table : judged.setAside()) {
            if (line.startsWith(judged.schema() + "." + table + ": ")) {
                return null;
            }
        }
        return line;
    }

    private void checkTarget(SchemaCase judged, List<String> wrong) {
        if (Boolean.getBoolean("walshadow.append")) {
            return; // they count what the newest versions are
        }
        for (SchemaCase.TargetCheck check : judged.targetChecks()) {
            String query = check.query().replace("$S", judged.schema());
            // each shard has some of the rows that are counted
            String answer =
                    Long.toString(
                            installation.targets().stream()
                                    .mapToLong(shard -> Long.parseLong(shard.query(query).strip()))
                                    .sum());
            if (!answer.equals(check.expected())) {
                wrong.add(query + " is " + answer + ", not " + check.expected());
            }
        }
    }

    private Map<String, List<String>> tablesBySchema() throws SQLException {
        Map<String, List<String>> tables = new LinkedHashMap<>();
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(TABLES)) {
            while (row.next()) {
                tables.computeIfAbsent(row.getString(1), schema -> new ArrayList<>())
                        .add(row.getString(2));
            }
        }
        return tables;
    }

    @Override
    public void close() throws SQLException {
        main.close();
    }
}
