package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sequences' last values in ClickHouse, against what the source itself would go on from. */
@Timeout(900)
final class SequencesTest {
    private static final String SELECTED =
            "include = [\"public.*\", \"shop.*\", \"apart.chosen\"]\nexclude = [\"public.secret\"]";

    static Stream<Integer> majors() {
        return Boolean.getBoolean("walshadow.soak")
                ? Stream.of(15, 16, 17, 18)
                : Stream.of(Integer.getInteger("walshadow.major", 18));
    }

    @SuppressWarnings("NullAway.Init") // every test starts with it
    private Installation at;

    @ParameterizedTest
    @MethodSource("majors")
    void theyAreWhatTheSourceWouldGoOnFrom(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            at = installation;
            at.configure("\n[tables]\n" + SELECTED + "\n");
            at.execute(
                    "CREATE SCHEMA shop",
                    "CREATE SCHEMA apart",
                    "CREATE TABLE item (id serial PRIMARY KEY, at int)",
                    "CREATE TABLE shop.part (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)",
                    "CREATE TABLE secret (id serial PRIMARY KEY)",
                    "CREATE TABLE apart.chosen (id serial PRIMARY KEY)",
                    "CREATE TABLE apart.spare (id serial PRIMARY KEY)",
                    "CREATE SEQUENCE untouched START 7",
                    "CREATE SEQUENCE down INCREMENT -3 MINVALUE -100 MAXVALUE 50 START 50",
                    "CREATE SEQUENCE round MAXVALUE 10 CYCLE",
                    "CREATE SEQUENCE cached CACHE 20",
                    "CREATE SEQUENCE \"odd \"\"name'\\\"",
                    "CREATE SEQUENCE apart.loose",
                    "CREATE TEMPORARY SEQUENCE passing",
                    "CREATE UNLOGGED SEQUENCE unlogged",
                    "INSERT INTO item (at) SELECT i FROM generate_series(1, 100) i",
                    "SELECT nextval('down')",
                    "SELECT nextval('cached')");
            at.startDaemon();
            at.awaitStreaming();
            assertEqual(
                    "untouched", "odd \"name'\\", "item_id_seq", "part_id_seq", "chosen_id_seq");
            assertThat(shown()).doesNotContainKeys("public.secret_id_seq", "apart.loose");
            use();
            assertEqual();
            change();
            assertEqual("reborn", "late_id_seq", "renamed");
            assertThat(shown()).doesNotContainKeys("shop.gone", "public.never", "public.passing2");
            at.killDaemon();
            at.execute(
                    "SELECT setval('untouched', 1000000)",
                    "CREATE SEQUENCE while_away START 5",
                    "SELECT nextval('while_away')",
                    "DROP SEQUENCE cached",
                    "ALTER SEQUENCE down RENAME TO downwards");
            at.startDaemon();
            at.awaitStreaming();
            assertEqual("while_away", "downwards");
            crashOfTheSource();
            selection();
            assertThat(at.verify().reason()).isEmpty();
            at.stopDaemon();
        }
    }

    private void use() throws SQLException {
        at.execute(
                "SELECT nextval('untouched') FROM generate_series(1, 1000)",
                "SELECT nextval('down') FROM generate_series(1, 20)",
                "SELECT nextval('round') FROM generate_series(1, 37)",
                "SELECT nextval('cached') FROM generate_series(1, 55)",
                "SELECT nextval('\"odd \"\"name''\\\"')",
                "BEGIN; SELECT nextval('item_id_seq') FROM generate_series(1, 500); ROLLBACK",
                "INSERT INTO shop.part DEFAULT VALUES",
                "INSERT INTO apart.chosen DEFAULT VALUES",
                "SELECT setval('apart.chosen_id_seq', 77, false)");
    }

    private void change() throws SQLException {
        at.execute(
                "CREATE SEQUENCE fresh INCREMENT 10",
                "SELECT nextval('fresh') FROM generate_series(1, 40)",
                "BEGIN; CREATE SEQUENCE never; SELECT nextval('never'); ROLLBACK",
                "BEGIN; CREATE SEQUENCE reborn; SELECT setval('reborn', 123); SAVEPOINT s; ALTER"
                        + " SEQUENCE reborn RESTART WITH 9; ROLLBACK TO s; COMMIT",
                "CREATE TEMPORARY SEQUENCE passing2",
                "CREATE SEQUENCE shop.gone",
                "SELECT nextval('shop.gone')",
                "DROP SEQUENCE shop.gone",
                "ALTER SEQUENCE untouched RESTART",
                "ALTER SEQUENCE down RESTART WITH 20",
                "SELECT nextval('down')",
                "ALTER SEQUENCE fresh RENAME TO renamed",
                "ALTER SEQUENCE renamed SET SCHEMA shop",
                "TRUNCATE item RESTART IDENTITY",
                "INSERT INTO item (at) VALUES (1), (2)",
                "BEGIN; TRUNCATE shop.part RESTART IDENTITY; ROLLBACK",
                "CREATE TABLE late (id serial PRIMARY KEY)",
                "INSERT INTO late DEFAULT VALUES",
                "ALTER SEQUENCE unlogged SET LOGGED",
                "SELECT nextval('unlogged')",
                "ALTER SCHEMA shop RENAME TO store",
                "ALTER SCHEMA store RENAME TO shop",
                "CREATE SEQUENCE owned",
                "CREATE TABLE owner (id int PRIMARY KEY)",
                "ALTER SEQUENCE owned OWNED BY owner.id",
                "DROP TABLE owner");
    }

    /** What its recovery gives is what a switch to the target has to go on from. */
    private void crashOfTheSource() throws Exception {
        at.execute("SELECT nextval('untouched') FROM generate_series(1, 5)");
        assertEqual();
        Map<String, String> before = shown();
        at.source().kill();
        at.source().restart();
        assertThat(wanted()).isEqualTo(before);
        at.execute("SELECT nextval('untouched') FROM generate_series(1, 3)");
        assertEqual();
    }

    private void selection() throws Exception {
        assertThat(at.command("add", "apart.spare").exitCode()).isZero();
        at.await("apart.spare_id_seq is there", () -> shown().containsKey("apart.spare_id_seq"));
        assertThat(at.command("remove", "apart.chosen").exitCode()).isZero();
        at.await("apart.chosen_id_seq is not", () -> !shown().containsKey("apart.chosen_id_seq"));
    }

    private void assertEqual(String... names) throws Exception {
        at.await(
                "no value is unknown",
                () -> shown().values().stream().noneMatch(v -> v.startsWith("\\N")));
        assertThat(at.command("wait").exitCode()).isZero();
        assertThat(shown()).isEqualTo(wanted());
        for (String name : names) {
            assertThat(shown().keySet()).anyMatch(each -> each.endsWith("." + name));
        }
    }

    private Map<String, String> shown() {
        Map<String, String> shown = new TreeMap<>();
        boolean there =
                at.target()
                        .query("SELECT count() FROM system.tables WHERE name = '_sequences'")
                        .strip()
                        .equals("1");
        if (there) {
            at.target()
                    .query(
                            "SELECT schema || '.' || name, last_value, is_called FROM"
                                    + " walshadow._sequences FINAL FORMAT TSVRaw")
                    .lines()
                    .forEach(line -> {
                        String[] fields = line.split("\t", -1);
                        shown.put(fields[0], fields[1] + " " + fields[2]);
                    });
        }
        return shown;
    }

    /** Of each selected one: what may be given without another WAL record counts as given. */
    private Map<String, String> wanted() throws SQLException {
        Map<String, String> wanted = new TreeMap<>();
        try (Connection session = at.session();
                Statement statement = session.createStatement()) {
            List<String[]> names = new ArrayList<>();
            try (ResultSet row =
                    statement.executeQuery(
                            "SELECT nspname, relname, seqincrement FROM pg_class c JOIN"
                                + " pg_namespace n ON n.oid = relnamespace JOIN pg_sequence ON"
                                + " seqrelid = c.oid WHERE relpersistence = 'p' AND (nspname IN"
                                + " ('public', 'shop') AND relname <> 'secret_id_seq' OR relname ="
                                + " 'chosen_id_seq')")) {
                while (row.next()) {
                    names.add(new String[] {row.getString(1), row.getString(2), row.getString(3)});
                }
            }
            for (String[] name : names) {
                try (ResultSet row =
                        statement.executeQuery(
                                "SELECT last_value + log_cnt * (%s), is_called FROM \"%s\".\"%s\""
                                        .formatted(
                                                name[2], name[0], name[1].replace("\"", "\"\"")))) {
                    row.next();
                    wanted.put(name[0] + "." + name[1], row.getLong(1) + " " + row.getBoolean(2));
                }
            }
        }
        return wanted;
    }
}
