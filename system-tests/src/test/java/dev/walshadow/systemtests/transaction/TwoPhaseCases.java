package dev.walshadow.systemtests.transaction;

import static dev.walshadow.systemtests.transaction.TransactionCase.execute;
import static dev.walshadow.systemtests.transaction.TransactionsTest.requireEqual;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** PREPARE TRANSACTION, with everything restarted before the end, and from before the attach. */
final class TwoPhaseCases {
    private static final int MANY = 300;

    static final List<TransactionCase> ALL =
            List.of(
                    new TransactionCase(
                            "prepared before the first attach",
                            TwoPhaseCases::beforeTheAttach,
                            "CREATE TABLE early (id int PRIMARY KEY, v text)",
                            "CREATE TABLE early_bare (n int, v text)",
                            "CREATE TABLE early_ddl (id int PRIMARY KEY)",
                            "INSERT INTO early SELECT i, 'old' FROM generate_series(1, 300) i",
                            "INSERT INTO early_bare SELECT i, 'old' FROM generate_series(1, 300) i",
                            "INSERT INTO early_ddl VALUES (1)",
                            "CREATE TABLE early_emptied (id int PRIMARY KEY)",
                            "CREATE TABLE early_rewritten (id int PRIMARY KEY, v int)",
                            "INSERT INTO early_emptied SELECT generate_series(1, 100)",
                            "INSERT INTO early_rewritten SELECT i, i FROM generate_series(1, 100)"
                                    + " i",
                            "BEGIN",
                            "UPDATE early SET v = 'committed' WHERE id <= 100",
                            "INSERT INTO early SELECT i, repeat('w', 5000) || i FROM"
                                    + " generate_series(1001, 1050) i",
                            "SAVEPOINT s",
                            "DELETE FROM early WHERE id BETWEEN 90 AND 110",
                            "UPDATE early_bare SET v = 'committed' WHERE n <= 50",
                            "RELEASE s",
                            "PREPARE TRANSACTION 'early, committed'",
                            "BEGIN",
                            "UPDATE early SET id = -id, v = 'rolled back' WHERE id > 200",
                            "INSERT INTO early_bare VALUES (1, 'rolled back')",
                            "PREPARE TRANSACTION 'early, rolled back'",
                            "BEGIN",
                            "ALTER TABLE early_ddl ADD COLUMN added text DEFAULT 'd'",
                            "INSERT INTO early_ddl VALUES (2, 'with')",
                            "CREATE TABLE early_made (id int PRIMARY KEY, v text)",
                            "INSERT INTO early_made SELECT i, 'made' FROM generate_series(1, 100)"
                                    + " i",
                            "TRUNCATE early_emptied",
                            "INSERT INTO early_emptied VALUES (3), (1000)",
                            "ALTER TABLE early_rewritten ALTER v TYPE bigint USING v * 2",
                            "PREPARE TRANSACTION 'early, ddl'"),
                    new TransactionCase(
                            "everything restarted between PREPARE and the end",
                            TwoPhaseCases::restarts,
                            "CREATE TABLE two (id int PRIMARY KEY, v text)",
                            "CREATE TABLE two_ddl (id int PRIMARY KEY, v text)",
                            "CREATE TABLE two_emptied (id int PRIMARY KEY)",
                            "INSERT INTO two SELECT i, 'old' FROM generate_series(1, 1000) i",
                            "INSERT INTO two_ddl SELECT i, 'old' FROM generate_series(1, 100) i",
                            "INSERT INTO two_emptied SELECT generate_series(1, 100)"),
                    new TransactionCase(
                            "many prepared at once",
                            TwoPhaseCases::many,
                            "CREATE TABLE two_many (id int PRIMARY KEY, v int)",
                            "INSERT INTO two_many SELECT i, 0 FROM generate_series(1, 1000) i"));

    private TwoPhaseCases() {}

    /** They come from the base backup, and after the restart from what it left on disk. */
    private static void beforeTheAttach(Installation installation, SplittableRandom random)
            throws Exception {
        assertThat(listed(installation).keySet())
                .containsExactly("early, committed", "early, ddl", "early, rolled back");
        installation.execute("INSERT INTO early VALUES (5000, 'meanwhile')");
        restart(installation, random.nextInt(4));
        installation.execute(
                "COMMIT PREPARED 'early, ddl'", "INSERT INTO early_made VALUES (1000, 'later')");
        requireEqual(installation, "COMMIT PREPARED of a change of tables");
        restart(installation, random.nextInt(4));
        installation.execute("COMMIT PREPARED 'early, committed'");
        requireEqual(installation, "COMMIT PREPARED of changed rows");
        installation.execute(
                "ROLLBACK PREPARED 'early, rolled back'",
                "UPDATE early SET v = v || '!' WHERE id % 10 = 0");
        assertThat(listed(installation)).isEmpty();
    }

    private static void restarts(Installation installation, SplittableRandom random)
            throws Exception {
        prepareRows(installation);
        requireEqual(installation, "PREPARE TRANSACTION");
        // from here on the source's tables are locked: nobody can compare them
        prepareChangesOfTables(installation);
        requireDurable(installation);
        SortedMap<String, JsonNode> listed = listed(installation);
        assertThat(listed).hasSize(7);
        long oldest = requireHeld(installation, listed);
        for (int what = 0; what < 4; what++) {
            installation.execute("INSERT INTO two VALUES (" + (-what - 1) + ", 'meanwhile')");
            restart(installation, what);
            requireDurable(installation);
            assertThat(requireHeld(installation, listed(installation))).isEqualTo(oldest);
        }
        installation.execute(
                "COMMIT PREPARED 'rows'",
                "ROLLBACK PREPARED 'rows, rolled back'",
                "COMMIT PREPARED 'ddl'");
        restart(installation, random.nextInt(4));
        installation.execute(
                "ROLLBACK PREPARED 'ddl, rolled back'",
                "INSERT INTO two_ddl (id, v) VALUES (5000, 'later')",
                "COMMIT PREPARED 'emptied'",
                "INSERT INTO two_emptied VALUES (1)",
                "COMMIT PREPARED 'large'",
                "COMMIT PREPARED 'subtransactions'");
        assertThat(listed(installation)).isEmpty();
    }

    private static void requireDurable(Installation installation) throws InterruptedException {
        Installation.CommandResult result =
                installation.command("wait", "--timeout", Installation.PATIENCE.toSeconds() + "s");
        assertThat(result.exitCode()).as(result.output()).isZero();
    }

    private static void prepareChangesOfTables(Installation installation) throws SQLException {
        installation.execute(
                "BEGIN",
                "ALTER TABLE two_ddl ADD COLUMN w int DEFAULT 3",
                "INSERT INTO two_ddl VALUES (200, 'with', 4)",
                "CREATE TABLE two_made (id int PRIMARY KEY, v text)",
                "INSERT INTO two_made SELECT i, 'made' FROM generate_series(1, 100) i",
                "PREPARE TRANSACTION 'ddl'",
                "BEGIN",
                "INSERT INTO two_emptied VALUES (1000)",
                "TRUNCATE two_emptied",
                "INSERT INTO two_emptied VALUES (2), (3)",
                "PREPARE TRANSACTION 'emptied'");
    }

    private static void prepareRows(Installation installation) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            execute(
                    session,
                    "BEGIN",
                    "UPDATE two SET v = 'prepared' WHERE id <= 100",
                    "DELETE FROM two WHERE id BETWEEN 101 AND 120",
                    "UPDATE two SET id = id + 5000 WHERE id BETWEEN 121 AND 130",
                    "PREPARE TRANSACTION 'rows'",
                    "BEGIN",
                    "UPDATE two SET v = 'gone' WHERE id BETWEEN 200 AND 300",
                    "INSERT INTO two VALUES (4000, 'gone')",
                    "PREPARE TRANSACTION 'rows, rolled back'",
                    "BEGIN",
                    "CREATE TABLE two_never (id int PRIMARY KEY)",
                    "INSERT INTO two_never VALUES (1)",
                    "PREPARE TRANSACTION 'ddl, rolled back'",
                    "BEGIN",
                    "INSERT INTO two SELECT i, 'large' FROM generate_series(100000, 130000) i",
                    "PREPARE TRANSACTION 'large'",
                    "BEGIN");
            for (int i = 0; i < 200; i++) {
                statement.execute("SAVEPOINT s" + i);
                statement.execute("UPDATE two SET v = 'sub " + i + "' WHERE id = " + (500 + i));
                if (i % 3 == 0) {
                    statement.execute("ROLLBACK TO s" + i);
                }
            }
            statement.execute("PREPARE TRANSACTION 'subtransactions'");
        }
    }

    private static void many(Installation installation, SplittableRandom random)
            throws SQLException, InterruptedException {
        try (Connection session = installation.session()) {
            for (int i = 1; i <= MANY; i++) {
                execute(
                        session,
                        "BEGIN",
                        "UPDATE two_many SET v = 1 WHERE id = " + i,
                        "INSERT INTO two_many VALUES (" + (1000 + i) + ", 2)",
                        "PREPARE TRANSACTION 'many " + i + "'");
            }
            installation.await("all are listed", () -> listed(installation).size() == MANY);
            restart(installation, 0);
            List<Integer> order = new ArrayList<>();
            for (int i = 1; i <= MANY; i++) {
                order.add(random.nextInt(order.size() + 1), i);
            }
            for (int i : order) {
                execute(
                        session,
                        (random.nextInt(3) == 0 ? "ROLLBACK" : "COMMIT")
                                + " PREPARED 'many "
                                + i
                                + "'");
            }
        }
    }

    /** Nothing, the daemon, the shadow, or the source. */
    private static void restart(Installation installation, int what) throws InterruptedException {
        switch (what) {
            case 0 -> {
                installation.killDaemon();
                installation.startDaemon();
            }
            case 1 -> installation.killShadow();
            case 2 -> installation.source().restart();
            default -> {
                installation.killDaemon();
                installation.source().kill();
                installation.source().start();
                installation.startDaemon();
            }
        }
    }

    /**
     * The resume floor is at or below the first record of each (I5), and so is what the source may
     * recycle. Returns the least.
     */
    private static long requireHeld(Installation installation, SortedMap<String, JsonNode> listed)
            throws SQLException {
        long oldest = Long.MAX_VALUE;
        for (JsonNode each : listed.values()) {
            oldest = Math.min(oldest, Lsn.parse(each.path("first_lsn").asString("")));
        }
        assertThat(Lsn.parse(installation.status().path("resume_floor").asString("")))
                .isLessThanOrEqualTo(oldest);
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT restart_lsn FROM pg_replication_slots")) {
            assertThat(row.next()).isTrue();
            assertThat(Lsn.parse(row.getString(1))).isLessThanOrEqualTo(oldest);
        }
        return oldest;
    }

    /** What {@code walshadow prepared --json} lists, by name, with the source's own words. */
    private static SortedMap<String, JsonNode> listed(Installation installation) {
        AtomicReference<JsonNode> answer = new AtomicReference<>();
        installation.await(
                "the source tells its prepared transactions",
                () -> {
                    JsonNode told = prepared(installation);
                    answer.set(told);
                    return told.path("source_answers").asBoolean(false);
                });
        SortedMap<String, JsonNode> rows = new TreeMap<>();
        for (JsonNode each : answer.get().path("prepared")) {
            assertThat(each.path("database").asString("")).isEqualTo("postgres");
            assertThat(each.path("owner").asString("")).isEqualTo("postgres");
            rows.put(each.path("gid").asString(""), each);
        }
        return rows;
    }

    private static JsonNode prepared(Installation installation) {
        try {
            Installation.CommandResult result = installation.command("prepared", "--json");
            assertThat(result.exitCode()).as(result.output()).isZero();
            return new JsonMapper().readTree(result.output());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
