package dev.walshadow.systemtests.values;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * {@code [toast] mode = "clickhouse"}: values that ClickHouse never had in a row, or has no longer,
 * are found by their ids, through everything that happens to tables and to the daemon. One major by
 * the seed ({@code -Dwalshadow.seed=N}, {@code -Dwalshadow.major=N}).
 */
final class ToastMirrorTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int MAJOR = Integer.getInteger("walshadow.major", 15 + (int) (SEED % 4));

    private static final String MODE =
            "[toast]\nmode = \"clickhouse\"\n[memory]\nrecent_values = \"0B\"\n";

    /** None logs old rows whole: by key, by place, in partitions. */
    private static final List<String> FILTERED = List.of("keyed", "placed", "parted");

    private static final String FILTERS =
            """
            [tables."public.keyed"]
            where = "n >= 10 and lang <> 'xx'"
            [tables."public.placed"]
            where = "n >= 10"
            [tables."public.parted"]
            where = "n >= 10"
            """;

    private static String rows(int from, int to) {
        return "SELECT i, i, repeat(md5(i::text), 200), repeat(chr(97 + i % 26), 40000),"
                + " jsonb_build_object('n', repeat(md5(i::text), 300)),"
                + " CASE i % 4 WHEN 0 THEN 'xx' ELSE repeat('l', 9000) END"
                + " FROM generate_series("
                + from
                + ", "
                + to
                + ") i";
    }

    private static final String COLUMNS =
            "(id int NOT NULL, n int, body text, dense text, doc jsonb, lang text";

    private static void create(Installation installation) throws Exception {
        installation.execute(
                "CREATE TABLE keyed " + COLUMNS + ", PRIMARY KEY (id))",
                "CREATE TABLE placed " + COLUMNS + ")",
                "CREATE TABLE parted " + COLUMNS + ", PRIMARY KEY (id)) PARTITION BY HASH (id)",
                "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER"
                        + " 0)",
                "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER"
                        + " 1)");
        for (String table : List.of("keyed", "placed", "parted_0", "parted_1")) {
            installation.execute(
                    "ALTER TABLE " + table + " ALTER body SET STORAGE EXTERNAL",
                    "ALTER TABLE " + table + " ALTER lang SET STORAGE EXTERNAL",
                    "ALTER TABLE " + table + " SET (toast_tuple_target = 128)");
        }
        for (String table : FILTERED) {
            installation.execute("INSERT INTO " + table + " " + rows(1, 40));
        }
    }

    /** Rows move out, change while they are out, and move in; whole in the end. */
    private static void move(Installation installation) throws Exception {
        for (String table : FILTERED) {
            installation.execute(
                    "UPDATE %s SET n = n - 100 WHERE id %% 3 = 0".formatted(table),
                    "UPDATE %s SET n = n + 20 WHERE id < 10".formatted(table),
                    "UPDATE %s SET body = repeat('b' || id, 1500) WHERE id %% 6 = 0"
                            .formatted(table),
                    "UPDATE %s SET n = n + 200 WHERE id %% 3 = 0".formatted(table),
                    "UPDATE %s SET id = id + 1000 WHERE id %% 7 = 0 AND id < 1000".formatted(table),
                    "UPDATE %s SET n = -n".formatted(table),
                    "BEGIN; UPDATE %1$s SET n = 1 WHERE id %% 2 = 0; UPDATE %1$s SET n = 50 WHERE id %% 4 = 0; COMMIT"
                            .formatted(table),
                    "UPDATE %s SET n = 100 + id".formatted(table));
        }
    }

    private static void equal(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason())
                .as("seed %d: %s %s", SEED, outcome.results(), outcome.setAside())
                .isEmpty();
    }

    private static String mirrors(Installation installation) {
        return installation
                .target()
                .query(
                        "SELECT count() FROM system.tables WHERE database = 'walshadow' AND name"
                                + " LIKE 'toast\\_%'")
                .strip();
    }

    @Test
    void rowsThatMoveIntoAFilterArriveWhole() throws Exception {
        System.out.println("PostgreSQL " + MAJOR + ", seed " + SEED);
        try (Installation installation = Installation.start(MAJOR)) {
            installation.configure(MODE + FILTERS);
            create(installation);
            installation.startDaemon();
            installation.awaitStreaming();
            equal(installation);
            move(installation);
            equal(installation);

            installation.execute("UPDATE keyed SET n = 0", "UPDATE placed SET n = 0");
            installation.killDaemon();
            move(installation);
            installation.launchDaemon();
            installation.execute("UPDATE parted SET n = 0", "UPDATE parted SET n = 10 + id");
            installation.killDaemon();
            installation.startDaemon();
            equal(installation);

            for (String table : FILTERED) {
                installation.execute("UPDATE %s SET n = 0 WHERE id %% 2 = 0".formatted(table));
            }
            installation.resyncAll(
                    List.of("public.keyed", "public.placed", "public.parted"),
                    List.of("public.keyed", "public.placed", "public.parted_0", "public.parted_1"));
            move(installation);
            equal(installation);
        }
    }

    @Test
    void valuesAreFoundAfterWhatHappensToTables() throws Exception {
        try (Installation installation = Installation.start(MAJOR)) {
            installation.configure(MODE + FILTERS);
            create(installation);
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("UPDATE keyed SET n = 0", "UPDATE placed SET n = 0");

            installation.execute("VACUUM FULL keyed", "VACUUM FULL placed");
            move(installation);
            equal(installation);

            for (String table : FILTERED) {
                installation.execute(
                        "UPDATE %s SET n = 0 WHERE id %% 5 > 0".formatted(table),
                        // rewritten: new values, of all rows, in the statement's own records
                        "ALTER TABLE %s ADD late text DEFAULT repeat(random()::text, 300)"
                                .formatted(table));
            }
            move(installation);
            equal(installation);

            for (String table : FILTERED) {
                installation.execute(
                        "TRUNCATE " + table,
                        "INSERT INTO " + table + " " + rows(1, 20),
                        "BEGIN; INSERT INTO %1$s %2$s; UPDATE %1$s SET n = 0; ALTER TABLE %1$s ADD more text; COMMIT"
                                .formatted(table, rows(21, 40)));
            }
            move(installation);
            equal(installation);
            assertThat(mirrors(installation)).isEqualTo("4");

            installation.execute("DROP TABLE keyed, placed, parted");
            installation.await("the tables are gone", () -> mirrors(installation).equals("0"));
        }
    }

    /** What ClickHouse has lost, an update brings back: every type, and without a question. */
    @Test
    void rowsThatClickHouseNoLongerHasComeBackWhole() throws Exception {
        try (Installation installation = Installation.start(MAJOR)) {
            installation.configure(MODE);
            create(installation);
            installation.startDaemon();
            installation.awaitStreaming();
            for (String table : FILTERED) {
                installation.target().query("TRUNCATE TABLE public." + table + " SYNC");
                installation.execute(
                        "UPDATE %s SET n = n + 1".formatted(table),
                        "UPDATE %s SET id = id + 1000 WHERE id %% 2 = 0".formatted(table));
            }
            equal(installation);

            installation.stopDaemon();
            installation.configure("toast", "mode = \"destination\"");
            installation.startDaemon();
            installation.await("no copies are kept", () -> mirrors(installation).equals("0"));
            installation.execute("UPDATE keyed SET n = n + 1");
            equal(installation);
        }
    }
}
