package dev.walshadow.systemtests.transaction;

import static dev.walshadow.systemtests.transaction.TransactionCase.execute;
import static dev.walshadow.systemtests.transaction.TransactionCase.transaction;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.util.List;
import java.util.SplittableRandom;

/** Transactions that go to disk: their order with TRUNCATE, replacement and changes of shape. */
final class LargeCases {
    static final List<TransactionCase> ALL =
            List.of(
                    new TransactionCase(
                            "TRUNCATE, rewrites and new columns in spilled transactions",
                            LargeCases::spilled,
                            "CREATE TABLE large (id int PRIMARY KEY, v text)",
                            "CREATE TABLE large_rewritten (id int PRIMARY KEY, v int)",
                            "CREATE TABLE large_bare (n int, v text)",
                            "INSERT INTO large SELECT i, 'old' FROM generate_series(1, 5000) i",
                            "INSERT INTO large_rewritten SELECT i, i FROM generate_series(1, 5000)"
                                    + " i",
                            "INSERT INTO large_bare SELECT i % 100, 'old' FROM"
                                    + " generate_series(1, 5000) i"),
                    new TransactionCase(
                            "rollbacks to savepoints on disk",
                            LargeCases::rolledBackOnDisk,
                            "CREATE TABLE large_savepoint (id int PRIMARY KEY, v text)"),
                    new TransactionCase(
                            "spilled transactions side by side",
                            LargeCases::sideBySide,
                            "CREATE TABLE large_side (id int PRIMARY KEY, v text)"));

    private LargeCases() {}

    private static long spilledBytes(Installation installation) {
        return installation.status().path("spilled_bytes").asLong(0);
    }

    private static String rows(String table, int from, int to, String value) {
        return "INSERT INTO "
                + table
                + " SELECT i, '"
                + value
                + "' || i FROM generate_series("
                + from
                + ", "
                + to
                + ") i";
    }

    private static void spilled(Installation installation, SplittableRandom random)
            throws Exception {
        long before = spilledBytes(installation);
        int first = random.nextInt(9000, 12_000);
        transaction(
                installation,
                rows("large", 5001, first, "before "),
                "UPDATE large SET v = 'updated' WHERE id % 3 = 0",
                "INSERT INTO large_bare SELECT i % 50, 'in' FROM generate_series(1, 8000) i",
                "TRUNCATE large",
                rows("large", 4000, 14_000, "after "),
                "ALTER TABLE large ADD COLUMN w int DEFAULT 5",
                "UPDATE large SET w = id WHERE id % 2 = 0",
                "ALTER TABLE large_rewritten ALTER COLUMN v TYPE text USING 'n' || v",
                rows("large_rewritten", 5001, 12_000, "after "),
                "DELETE FROM large_bare WHERE n < 20",
                "TRUNCATE large_bare",
                "INSERT INTO large_bare SELECT i % 70, 'after' FROM generate_series(1, 6000) i",
                "CREATE TABLE large_new (id int PRIMARY KEY, v text)",
                rows("large_new", 1, 8000, "new "),
                "ALTER TABLE large_new ADD COLUMN stamp float8 DEFAULT random()",
                "DELETE FROM large_new WHERE id % 5 = 0");
        transaction(
                installation,
                "UPDATE large SET v = 'next' WHERE id < 5000",
                "ALTER TABLE large DROP COLUMN w",
                "ALTER TABLE large ADD COLUMN w text DEFAULT 'again'",
                rows("large", 20_000, 30_000, "third "),
                "UPDATE large SET w = v WHERE id > 13000");
        transaction(
                installation,
                rows("large", 40_000, 50_000, "gone "),
                "TRUNCATE large",
                "TRUNCATE large");
        installation.execute(rows("large", 1, 100, "last "));
        assertThat(spilledBytes(installation))
                .as("bytes on disk")
                .isGreaterThan(before + 2_000_000);
    }

    private static void rolledBackOnDisk(Installation installation, SplittableRandom random)
            throws Exception {
        transaction(
                installation,
                rows("large_savepoint", 1, 8000, "kept "),
                "SAVEPOINT a",
                rows("large_savepoint", 10_001, 20_000, "gone "),
                "SAVEPOINT b",
                "UPDATE large_savepoint SET v = 'gone'",
                "RELEASE b",
                "ROLLBACK TO a",
                rows("large_savepoint", 8001, 16_000, "kept too "),
                "SAVEPOINT c",
                "DELETE FROM large_savepoint WHERE id % 2 = 0",
                "TRUNCATE large_savepoint",
                rows("large_savepoint", 1, 9000, "gone "),
                "ROLLBACK TO c",
                "UPDATE large_savepoint SET v = 'last' WHERE id % " + random.nextInt(3, 9) + " = 0",
                "SAVEPOINT d",
                rows("large_savepoint", 30_001, 40_000, "released "),
                "RELEASE d");
    }

    /** Their records come interleaved; one rolls back, one is prepared. */
    private static void sideBySide(Installation installation, SplittableRandom random)
            throws Exception {
        try (Connection a = installation.session();
                Connection b = installation.session();
                Connection c = installation.session();
                Connection d = installation.session()) {
            execute(a, "BEGIN");
            execute(b, "BEGIN");
            execute(c, "BEGIN");
            for (int i = 0; i < 12; i++) {
                int from = i * 1000 + 1;
                execute(a, rows("large_side", from, from + 999, "a "));
                execute(b, rows("large_side", 100_000 + from, 100_000 + from + 999, "b "));
                execute(c, rows("large_side", 200_000 + from, 200_000 + from + 999, "c "));
                execute(d, "INSERT INTO large_side VALUES (" + (-i - 1) + ", 'small')");
            }
            execute(b, "ROLLBACK");
            execute(c, "PREPARE TRANSACTION 'large side'");
            execute(a, "UPDATE large_side SET v = 'last' WHERE id = " + random.nextInt(1, 900));
            execute(a, "COMMIT");
            execute(d, "COMMIT PREPARED 'large side'");
        }
    }
}
