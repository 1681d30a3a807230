package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Names of every kind arrive, before and after the attach, altered and renamed. */
final class IdentifiersTest {
    private static final List<String> NAMES =
            List.of(
                    "quo\"te\"",
                    "back`tick`",
                    "do.t",
                    "do.u",
                    ".",
                    "spa ce",
                    " ",
                    "back\\slash\\",
                    "new\nline\r",
                    "ta\tb",
                    "sin'gle",
                    "ünïcödé",
                    "\uD83D\uDE00\uD83D\uDE00",
                    "中".repeat(21),
                    "x".repeat(63),
                    "select",
                    "Table",
                    "NULL",
                    "nan",
                    "*",
                    "%s",
                    "$1",
                    "?",
                    "{x:String}",
                    "--",
                    "/* c",
                    ";",
                    "1",
                    "Nested",
                    "_part",
                    "_block_number",
                    "_table",
                    "_version",
                    "_is_deleted",
                    "_commit_ts",
                    "_xid",
                    "_commit_lsn",
                    "_lsn",
                    "_tid",
                    "_leaf",
                    "__version");

    private static final List<String> SCHEMAS =
            List.of("quo\"te\"", "back`tick\\", "do.t", "spa ce\n", "\uD83D\uDE00", "select");

    private static String quoted(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }

    @Test
    void namesOfEveryKindArriveAndChange() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.execute(create("before"));
            installation.execute(schemas(0, 3));
            installation.startDaemon();
            installation.awaitStreaming();
            requireEqual(installation);
            installation.execute(create("after"));
            installation.execute(schemas(3, SCHEMAS.size()));
            requireEqual(installation);
            installation.execute(changes("before"));
            installation.execute(changes("after"));
            installation.execute(renames());
            int tables = requireEqual(installation);
            assertThat(tables).isEqualTo(2 * (NAMES.size() + 3) + SCHEMAS.size());
            installation.killDaemon();
            installation.startDaemon();
            installation.execute(
                    "INSERT INTO after.wide SELECT * FROM after.wide ON CONFLICT DO NOTHING",
                    "UPDATE after.wide SET id = id + 100");
            assertThat(requireEqual(installation)).isEqualTo(tables);
            installation.resync("after.wide");
            requireEqual(installation);
        }
    }

    /** A table of every name, one with columns of every name, and one keyed by odd columns. */
    private static List<String> create(String schema) {
        List<String> sql = new ArrayList<>();
        sql.add("CREATE SCHEMA " + schema);
        for (String name : NAMES) {
            String table = schema + "." + quoted(name);
            String key = quoted(name);
            sql.add("CREATE TABLE " + table + " (" + key + " int PRIMARY KEY, v text)");
            sql.add("INSERT INTO " + table + " SELECT i, 'v' || i FROM generate_series(1, 5) i");
            sql.add("UPDATE " + table + " SET v = v || 'u' WHERE " + key + " = 2");
            sql.add("DELETE FROM " + table + " WHERE " + key + " = 3");
        }
        String columns =
                NAMES.stream()
                        .map(name -> quoted(name) + " text")
                        .collect(Collectors.joining(", "));
        sql.add("CREATE TABLE " + schema + ".wide (id int PRIMARY KEY, " + columns + ")");
        String values = NAMES.stream().map(name -> "i || 'x'").collect(Collectors.joining(", "));
        sql.add(
                "INSERT INTO "
                        + schema
                        + ".wide SELECT i, "
                        + values
                        + " FROM generate_series(1, 9) i");
        sql.add(
                "CREATE TABLE "
                        + schema
                        + ".nested (\"a.id\" int, \"a_id\" int, \"a.b\" int[], \"a.c\" int[], \"a\""
                        + " int, \"a.null\" int, \"a.size0\" int, PRIMARY KEY (\"a.id\", a_id))");
        sql.add("INSERT INTO " + schema + ".nested VALUES (1, 2, '{1,2,3}', '{4}', NULL, 5, 6)");
        sql.add("CREATE TABLE " + schema + ".keyless (" + columns + ")");
        sql.add("INSERT INTO " + schema + ".keyless (_tid) VALUES ('a'), ('a')");
        return sql;
    }

    private static List<String> schemas(int from, int to) {
        List<String> sql = new ArrayList<>();
        for (String name : SCHEMAS.subList(from, to)) {
            sql.add("CREATE SCHEMA " + quoted(name));
            String table = quoted(name) + "." + quoted(name);
            sql.add("CREATE TABLE " + table + " (id int PRIMARY KEY)");
            sql.add("INSERT INTO " + table + " SELECT generate_series(1, 10)");
        }
        return sql;
    }

    private static List<String> changes(String schema) {
        List<String> sql = new ArrayList<>();
        String wide = schema + ".wide";
        for (int i = 0; i < NAMES.size(); i++) {
            String name = quoted(NAMES.get(i));
            if (i % 3 == 0) {
                sql.add("ALTER TABLE " + wide + " RENAME " + name + " TO renamed_" + i);
                sql.add("ALTER TABLE " + wide + " ADD " + name + " int DEFAULT " + i);
            } else if (i % 3 == 1) {
                sql.add("ALTER TABLE " + wide + " DROP " + name);
            }
            String table = schema + "." + name;
            sql.add("ALTER TABLE " + table + " RENAME " + name + " TO id");
            sql.add("ALTER TABLE " + table + " RENAME v TO " + name);
            sql.add("INSERT INTO " + table + " VALUES (" + (10 + i) + ", 'new')");
            sql.add("UPDATE " + table + " SET id = id + 1000 WHERE id > 3");
        }
        sql.add("UPDATE " + wide + " SET renamed_0 = 'r' WHERE id < 5");
        sql.add("ALTER TABLE " + schema + ".nested ADD \"a.d\" int[]");
        sql.add("ALTER TABLE " + schema + ".nested RENAME \"a.b\" TO \"a.e\"");
        sql.add("UPDATE " + schema + ".nested SET \"a.d\" = '{1,2}', \"a.e\" = NULL");
        return sql;
    }

    /** Every table takes the next one's name, and schemas get other odd names. */
    private static List<String> renames() {
        List<String> sql = new ArrayList<>();
        sql.add("BEGIN");
        sql.add("ALTER TABLE after." + quoted(NAMES.getFirst()) + " RENAME TO parked");
        for (int i = 1; i < NAMES.size(); i++) {
            sql.add(
                    "ALTER TABLE after."
                            + quoted(NAMES.get(i))
                            + " RENAME TO "
                            + quoted(NAMES.get(i - 1)));
        }
        sql.add("ALTER TABLE after.parked RENAME TO " + quoted(NAMES.getLast()));
        sql.add("COMMIT");
        for (String name : SCHEMAS) {
            String other = quoted(name + ".x`\"");
            sql.add("ALTER SCHEMA " + quoted(name) + " RENAME TO " + other);
            sql.add("INSERT INTO " + other + "." + quoted(name) + " VALUES (99)");
        }
        return sql;
    }

    private static int requireEqual(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason())
                .as(
                        outcome.setAside()
                                + " "
                                + outcome.results().stream().filter(r -> !r.equal()).toList())
                .isEmpty();
        return outcome.results().size();
    }

    @Test
    void takenNamesAreRefusedWithBothTables() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.configure(
                    """
                    [schemas.one]
                    database = "target"
                    [schemas.two]
                    database = "target"
                    """);
            installation.execute(
                    "CREATE SCHEMA one",
                    "CREATE SCHEMA two",
                    "CREATE SCHEMA system",
                    "CREATE SCHEMA walshadow",
                    "CREATE TABLE one.t (id int PRIMARY KEY)",
                    "CREATE TABLE two.t (id int PRIMARY KEY)");
            Installation.CommandResult refused = installation.command("run");
            assertThat(refused.exitCode()).isNotZero();
            assertThat(refused.output()).contains("WS-1714", "one.t", "two.t", "target.t");

            installation.execute(
                    "ALTER TABLE two.t RENAME TO other",
                    "INSERT INTO one.t VALUES (1)",
                    "INSERT INTO two.other VALUES (2)");
            installation.startDaemon();
            installation.awaitStreaming();
            requireEqual(installation);
            installation.execute(
                    "CREATE TABLE two.t (id int PRIMARY KEY)",
                    "INSERT INTO two.t VALUES (3)",
                    "CREATE TABLE one.free (id int PRIMARY KEY)",
                    "INSERT INTO one.free VALUES (4)",
                    "ALTER TABLE one.free RENAME TO other",
                    "CREATE TABLE system.t (id int PRIMARY KEY)",
                    "CREATE TABLE walshadow.t (id int PRIMARY KEY)",
                    "CREATE TABLE two." + quoted("中".repeat(21)) + " (id int PRIMARY KEY)",
                    "INSERT INTO one.t VALUES (5)");
            Verification.Outcome outcome = installation.verify();
            assertThat(reason(installation, "two.t")).contains("one.t", "two.t", "target.t");
            assertThat(reason(installation, "one.other"))
                    .contains("two.other", "one.other", "target.other");
            assertThat(reason(installation, "system.t")).contains("[schemas.system] database");
            assertThat(reason(installation, "walshadow.t"))
                    .contains("[schemas.walshadow] database");
            assertThat(outcome.setAside()).hasSize(4);
            assertThat(outcome.results()).allMatch(result -> result.equal()).hasSize(3);
            assertThat(installation.target().query("SELECT id FROM target.t FINAL ORDER BY id"))
                    .isEqualTo("1\n5\n");
        }
    }

    private static String reason(Installation installation, String table) {
        for (JsonNode node : installation.status().path("tables")) {
            if (node.path("name").asString("").equals(table)) {
                return node.path("state").asString("") + ": " + node.path("reason").asString("");
            }
        }
        return "not known";
    }
}
