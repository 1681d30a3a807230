package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.cluster.ReplicaFront;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code [tables] views}: each table's view of its current rows follows the table. */
@Timeout(600)
final class ViewsTest {
    private static final String SUFFIXED = "views = \"{database}.{table}_now\"";

    private static List<String> views(Installation installation) {
        return installation
                .target()
                .query(
                        "SELECT database || '.' || name FROM system.tables WHERE engine = 'View'"
                                + " AND database NOT IN ('system', 'information_schema',"
                                + " 'INFORMATION_SCHEMA') ORDER BY 1")
                .lines()
                .toList();
    }

    private static void assertEqual(Installation installation) throws Exception {
        assertThat(installation.verify().reason()).isEmpty();
    }

    private static String shown(Installation installation, String view) {
        return installation.target().query("SELECT * FROM " + view + " ORDER BY ALL").strip();
    }

    private static String columns(Installation installation, String view) {
        return installation
                .target()
                .query("DESCRIBE TABLE " + view)
                .lines()
                .map(line -> line.substring(0, line.indexOf('\t')))
                .reduce("", (one, other) -> one + " " + other)
                .strip();
    }

    @Test
    void theyFollowTheirTables() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.configure("[tables]\non_drop = \"drop\"\n" + SUFFIXED + "\n");
            installation.execute(
                    "CREATE TABLE a (id int PRIMARY KEY, v text, _version int)",
                    "INSERT INTO a VALUES (1, 'one', 11), (2, 'two', 12)",
                    "CREATE TABLE b (id int PRIMARY KEY, n int)",
                    "INSERT INTO b VALUES (7, 70)",
                    "CREATE TABLE keyless (v text)",
                    "INSERT INTO keyless VALUES ('x'), ('x')",
                    "CREATE TABLE p (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
                    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
                    "INSERT INTO p VALUES (5, 'five')");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("DELETE FROM a WHERE id = 1", "UPDATE b SET n = 71");
            assertEqual(installation);
            assertThat(views(installation))
                    .containsExactly(
                            "public.a_now", "public.b_now", "public.keyless_now", "public.p_now");
            assertThat(columns(installation, "public.a_now")).isEqualTo("id v _version");
            assertThat(shown(installation, "public.a_now")).isEqualTo("2\ttwo\t12");
            assertThat(shown(installation, "public.b_now")).isEqualTo("7\t71");
            assertThat(shown(installation, "public.keyless_now")).isEqualTo("x\nx");
            assertThat(shown(installation, "public.p_now")).isEqualTo("5\tfive");

            installation.execute(
                    "CREATE TABLE later (id int PRIMARY KEY)",
                    "INSERT INTO later VALUES (9)",
                    "ALTER TABLE a ADD COLUMN w text DEFAULT 'w'",
                    "ALTER TABLE a DROP COLUMN v",
                    "ALTER TABLE a RENAME COLUMN _version TO x",
                    "ALTER TABLE a ALTER id TYPE bigint",
                    "ALTER TABLE p ADD COLUMN more int DEFAULT 3",
                    "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)",
                    "INSERT INTO p VALUES (15, 'fifteen', 4)",
                    "ALTER TABLE keyless ADD COLUMN k int PRIMARY KEY"
                            + " GENERATED ALWAYS AS IDENTITY");
            assertEqual(installation);
            assertThat(shown(installation, "public.later_now")).isEqualTo("9");
            assertThat(columns(installation, "public.a_now")).isEqualTo("id x w");
            assertThat(shown(installation, "public.a_now")).isEqualTo("2\t12\tw");
            assertThat(shown(installation, "public.p_now")).isEqualTo("5\tfive\t3\n15\tfifteen\t4");
            assertThat(shown(installation, "public.keyless_now")).isEqualTo("x\t1\nx\t2");
            assertThat(installation.target().query("DESCRIBE TABLE public.a_now"))
                    .startsWith("id\tInt64");

            installation.execute("ALTER TABLE later RENAME TO latest", "DROP TABLE keyless");
            installation.execute(
                    "BEGIN; ALTER TABLE a RENAME TO c; ALTER TABLE b RENAME TO a;"
                            + " ALTER TABLE c RENAME TO b; COMMIT");
            assertEqual(installation);
            assertThat(views(installation))
                    .containsExactly(
                            "public.a_now", "public.b_now", "public.latest_now", "public.p_now");
            assertThat(shown(installation, "public.a_now")).isEqualTo("7\t71");
            assertThat(shown(installation, "public.b_now")).isEqualTo("2\t12\tw");
            assertThat(shown(installation, "public.latest_now")).isEqualTo("9");

            installation.resync("public.a");
            installation.execute("TRUNCATE a", "VACUUM FULL b", "INSERT INTO a VALUES (8, 80)");
            assertEqual(installation);
            assertThat(shown(installation, "public.a_now")).isEqualTo("8\t80");
            assertThat(shown(installation, "public.b_now")).isEqualTo("2\t12\tw");
            restarted(installation);
        }
    }

    /** Other names after a restart, none after another, and what {@code uninstall} does. */
    private static void restarted(Installation installation) throws Exception {
        installation.killDaemon();
        installation.execute("ALTER TABLE latest ADD COLUMN v int DEFAULT 1");
        installation.configure("tables", "views = \"{database}_now.{table}\"");
        installation.startDaemon();
        assertEqual(installation);
        assertThat(views(installation))
                .containsExactly(
                        "public_now.a", "public_now.b", "public_now.latest", "public_now.p");
        assertThat(shown(installation, "public_now.latest")).isEqualTo("9\t1");

        installation.stopDaemon();
        installation.configure("tables", "views = \"\"");
        installation.startDaemon();
        assertEqual(installation);
        assertThat(views(installation)).isEmpty();

        installation.stopDaemon();
        installation.configure("tables", SUFFIXED);
        installation.startDaemon();
        assertEqual(installation);
        assertThat(views(installation)).hasSize(4);
        installation.stopDaemon();
        assertThat(installation.command("uninstall", "--yes").output())
                .contains("to do: drop the view public.a_now")
                .doesNotContain("drop the table");
        assertThat(views(installation)).isEmpty();
        assertThat(installation.target().query("SELECT count() FROM public.b FINAL").strip())
                .isEqualTo("1");
    }

    @Test
    void aNameThatIsTakenIsRefused() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.configure("[tables]\n" + SUFFIXED + "\n");
            installation.execute(
                    "CREATE TABLE t (id int PRIMARY KEY)",
                    "CREATE TABLE t_now (id int PRIMARY KEY)",
                    "CREATE TABLE u (id int PRIMARY KEY)");
            installation.target().query("CREATE DATABASE public");
            installation.target().query("CREATE VIEW public.u_now AS SELECT 1 AS mine");
            assertThat(installation.command("check").output())
                    .contains("WS-1714 public.t_now and the view of public.t would both be")
                    .contains("WS-1705 the view of public.u cannot be public.u_now");
            installation.execute("DROP TABLE t_now");
            installation.target().query("DROP VIEW public.u_now");
            installation.startDaemon();
            installation.awaitStreaming();

            // tables go before views
            installation.execute(
                    "CREATE TABLE t_now (id int PRIMARY KEY)", "INSERT INTO t_now VALUES (3)");
            installation.target().query("CREATE VIEW public.v_now AS SELECT 1 AS mine");
            installation.execute("CREATE TABLE v (id int PRIMARY KEY)", "INSERT INTO v VALUES (4)");
            assertEqual(installation);
            assertThat(installation.target().query("SELECT id FROM public.t_now FINAL").strip())
                    .isEqualTo("3");
            assertThat(shown(installation, "public.v_now")).isEqualTo("1");
            assertThat(installation.logged("WS-1718 the view public.t_now makes room")).isTrue();
            assertThat(
                            installation.logged(
                                    "WS-1718 there is no view of the current rows of public.v"))
                    .isTrue();

            // a dropped table's rows stay, and its view with them
            installation.execute("INSERT INTO u VALUES (5)", "DROP TABLE u", "DROP TABLE t_now");
            assertEqual(installation);
            installation.killDaemon();
            installation.startDaemon();
            installation.execute("INSERT INTO t VALUES (6)");
            assertEqual(installation);
            assertThat(shown(installation, "public.u_now")).isEqualTo("5");
        }
    }

    @Test
    void onAClusterEveryReplicaHasThem() throws Exception {
        try (Installation installation = Installation.start(18);
                ReplicaFront front = new ReplicaFront(installation.target().url(), "pair")) {
            installation.configure(text ->
                    text.replace(installation.target().url(), "http://" + front.address())
                            .replace("[clickhouse]\n", "[clickhouse]\ncluster = \"pair\"\n"));
            installation.configure("[tables]\n" + SUFFIXED + "\n");
            installation.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("ALTER TABLE t ADD COLUMN v int DEFAULT 5");
            assertEqual(installation);
            assertThat(shown(installation, "public.t_now")).isEqualTo("1\t5");
            assertThat(front.wrong()).isEmpty();
        }
    }
}
