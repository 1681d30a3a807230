package dev.walshadow.systemtests.transaction;

import static dev.walshadow.systemtests.transaction.TransactionCase.transaction;

import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.io.StringReader;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.SplittableRandom;
import org.postgresql.PGConnection;

/** One session: the ways that keys and rows change within a transaction. */
final class RowCases {
    private static final String UNCHANGED =
            "(SELECT string_agg(md5(g::text), '') FROM generate_series(1, 300) g)";

    static final List<TransactionCase> ALL =
            List.of(
                    new TransactionCase(
                            "key chains",
                            RowCases::keyChains,
                            "CREATE TABLE chain (id int PRIMARY KEY, v int, big text)",
                            // the highest first, so that every id + 1 is free when it is taken
                            "INSERT INTO chain SELECT 3001 - i, i, CASE WHEN i % 10 = 0 THEN "
                                    + UNCHANGED
                                    + " END FROM generate_series(1, 3000) i"),
                    new TransactionCase(
                            "keys deleted, made again and swapped",
                            RowCases::keysAgain,
                            "CREATE TABLE again (id int PRIMARY KEY, v text, big text)",
                            "INSERT INTO again SELECT i, 'old', "
                                    + UNCHANGED
                                    + " FROM generate_series(1, 60) i",
                            "CREATE TABLE pair (a int, b text, v int, PRIMARY KEY (a, b))",
                            "INSERT INTO pair SELECT i, 'k' || i % 3, 0"
                                    + " FROM generate_series(1, 60) i",
                            "CREATE TABLE whole (id int PRIMARY KEY, v text)",
                            "ALTER TABLE whole REPLICA IDENTITY FULL",
                            "INSERT INTO whole SELECT i, 'old' FROM generate_series(1, 60) i"),
                    new TransactionCase(
                            "deferred constraints",
                            RowCases::deferredConstraints,
                            "CREATE TABLE later (id int PRIMARY KEY, place int, v text,"
                                    + " UNIQUE (place) DEFERRABLE INITIALLY DEFERRED)",
                            "CREATE TABLE later_key (id int PRIMARY KEY DEFERRABLE INITIALLY"
                                    + " DEFERRED, v text)",
                            "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES later"
                                    + " DEFERRABLE INITIALLY DEFERRED)",
                            "INSERT INTO later SELECT i, i, 'v' FROM generate_series(1, 100) i",
                            "INSERT INTO later_key SELECT i, 'v' FROM generate_series(1, 100) i"),
                    new TransactionCase(
                            "MERGE",
                            RowCases::merge,
                            "CREATE TABLE merged (id int PRIMARY KEY, n int, v text)",
                            "INSERT INTO merged SELECT i, 0, 'old' FROM generate_series(1, 500) i"),
                    new TransactionCase(
                            "COPY, COPY FREEZE, many rows in a record",
                            RowCases::copy,
                            "CREATE TABLE copied (id int PRIMARY KEY, v text)",
                            "CREATE TABLE frozen (id int PRIMARY KEY, v text)",
                            "INSERT INTO frozen VALUES (1, 'before')"),
                    new TransactionCase(
                            "row movement between partitions",
                            RowCases::partitions,
                            "CREATE TABLE moved (id int, part int, v text, PRIMARY KEY (id, part))"
                                    + " PARTITION BY LIST (part)",
                            "CREATE TABLE moved1 PARTITION OF moved FOR VALUES IN (1)",
                            "CREATE TABLE moved2 PARTITION OF moved FOR VALUES IN (2)",
                            "CREATE TABLE moved3 PARTITION OF moved DEFAULT",
                            "INSERT INTO moved SELECT i, i % 4 + 1, 'v'"
                                    + " FROM generate_series(1, 400) i"));

    private RowCases() {}

    private static void keyChains(Installation installation, SplittableRandom random)
            throws SQLException {
        transaction(
                installation,
                "UPDATE chain SET id = id + 1",
                "SAVEPOINT a",
                "UPDATE chain SET id = -id",
                "ROLLBACK TO a",
                "UPDATE chain SET v = id WHERE id % 7 = 0");
        // the heap is in the order of the keys by now: one by one from the highest
        transaction(
                installation,
                "DO $$ BEGIN FOR i IN REVERSE 3001 .. 2 LOOP"
                        + " UPDATE chain SET id = id + 1 WHERE id = i; END LOOP; END $$",
                "UPDATE chain SET id = id + 100000 WHERE id % 2 = " + random.nextInt(2),
                "UPDATE chain SET id = id - 100000 WHERE id > 100000",
                "UPDATE chain SET id = id, v = v");
    }

    private static void keysAgain(Installation installation, SplittableRandom random)
            throws SQLException {
        int any = random.nextInt(1, 20);
        transaction(
                installation,
                "DELETE FROM again WHERE id <= 20",
                "INSERT INTO again SELECT i, 'again', 'short' FROM generate_series(1, 20) i",
                "DELETE FROM again WHERE id = " + any,
                "INSERT INTO again VALUES (" + any + ", 'third', NULL)",
                "UPDATE again SET v = 'updated' WHERE id <= 5",
                "INSERT INTO again VALUES (1000, 'new', repeat('x', 100000))",
                "UPDATE again SET v = 'new, updated' WHERE id = 1000",
                "UPDATE again SET id = 1001 WHERE id = 1000",
                "INSERT INTO again VALUES (1000, 'another', 'y')",
                "INSERT INTO again VALUES (1002, 'gone', NULL)",
                "DELETE FROM again WHERE id = 1002",
                // a swap by way of a third key, of rows with values out of line
                "UPDATE again SET id = -1 WHERE id = 30",
                "UPDATE again SET id = 30 WHERE id = 31",
                "UPDATE again SET id = 31 WHERE id = -1",
                "UPDATE again SET id = id WHERE id > 40",
                "UPDATE again SET id = -id WHERE id BETWEEN 50 AND 55",
                "UPDATE again SET id = -id WHERE id BETWEEN -55 AND -50");
        transaction(
                installation,
                "UPDATE pair SET b = b || '', v = v + 1",
                "UPDATE pair SET a = a + 1000 WHERE b = 'k0'",
                "UPDATE pair SET b = 'k1' WHERE a > 1000",
                "UPDATE pair SET a = a - 1000 WHERE a > 1000",
                "DELETE FROM pair WHERE a = 3",
                "INSERT INTO pair VALUES (3, 'k0', 5), (3, 'k1', 6)");
        transaction(
                installation,
                "UPDATE whole SET v = v WHERE id < 30",
                "UPDATE whole SET id = id + 1000 WHERE id < 10",
                "UPDATE whole SET id = id - 1000 WHERE id > 1000",
                "DELETE FROM whole WHERE id = 20",
                "INSERT INTO whole VALUES (20, 'again')");
    }

    private static void deferredConstraints(Installation installation, SplittableRandom random)
            throws SQLException {
        int other = random.nextInt(2, 100);
        transaction(
                installation,
                "UPDATE later SET place = place + 1",
                "UPDATE later SET place = 101 WHERE id = 1",
                "UPDATE later SET place = 2 WHERE id = 100",
                "INSERT INTO child SELECT i, 1000 + i FROM generate_series(1, 50) i",
                "INSERT INTO later SELECT 1000 + i, 1000 + i, 'late'"
                        + " FROM generate_series(1, 50) i",
                "UPDATE later_key SET id = id + 1",
                "UPDATE later_key SET id = -1 WHERE id = " + other,
                "INSERT INTO later_key VALUES (" + (other + 1) + ", 'twice for a while')",
                "DELETE FROM later_key WHERE id = " + (other + 1) + " AND v = 'v'");
    }

    private static void merge(Installation installation, SplittableRandom random)
            throws SQLException {
        transaction(
                installation,
                """
                MERGE INTO merged t USING (SELECT generate_series(%d, 900) AS id) s ON t.id = s.id
                WHEN MATCHED AND t.id %% 3 = 0 THEN DELETE
                WHEN MATCHED THEN UPDATE SET n = n + 1, id = CASE WHEN t.id %% 5 = 0 THEN -t.id
                    ELSE t.id END
                WHEN NOT MATCHED AND s.id %% 7 = 0 THEN DO NOTHING
                WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1, 'new')\
                """
                        .formatted(random.nextInt(1, 400)),
                "MERGE INTO merged t USING merged s ON t.id = s.id AND s.id % 11 = 0"
                        + " WHEN MATCHED THEN DELETE");
    }

    private static void copy(Installation installation, SplittableRandom random)
            throws SQLException, IOException {
        try (Connection session = installation.session()) {
            session.setAutoCommit(false);
            copyIn(session, "COPY copied FROM STDIN", 1, 3000);
            TransactionCase.execute(
                    session,
                    "SAVEPOINT a",
                    "UPDATE copied SET v = 'updated' WHERE id % 100 = " + random.nextInt(100));
            copyIn(session, "COPY copied FROM STDIN", 10_000, 2000);
            TransactionCase.execute(
                    session,
                    "ROLLBACK TO a",
                    "INSERT INTO copied SELECT i, 'selected' FROM generate_series(5000, 6000) i",
                    "DELETE FROM copied WHERE id % 10 = 0",
                    "TRUNCATE frozen");
            copyIn(session, "COPY frozen FROM STDIN (FREEZE)", 1, 2000);
            TransactionCase.execute(
                    session, "CREATE TABLE frozen_new (id int PRIMARY KEY, v text)");
            copyIn(session, "COPY frozen_new FROM STDIN (FREEZE)", 1, 2000);
            session.commit();
        }
        installation.execute(
                "UPDATE frozen SET v = 'thawed' WHERE id < 10",
                "DELETE FROM frozen_new WHERE id > 1990",
                "VACUUM (FREEZE) frozen_new");
    }

    private static void copyIn(Connection session, String sql, int from, int count)
            throws SQLException, IOException {
        StringBuilder rows = new StringBuilder();
        for (int i = from; i < from + count; i++) {
            rows.append(i).append("\tcopied ").append(i).append('\n');
        }
        session.unwrap(PGConnection.class)
                .getCopyAPI()
                .copyIn(sql, new StringReader(rows.toString()));
    }

    private static void partitions(Installation installation, SplittableRandom random)
            throws SQLException {
        int to = random.nextInt(1, 6);
        transaction(
                installation,
                "UPDATE moved SET part = part + 1 WHERE id <= 200",
                "UPDATE moved SET part = " + to + ", v = 'moved' WHERE id BETWEEN 150 AND 250",
                "UPDATE moved SET id = -id, part = 1 WHERE part = 3",
                "SAVEPOINT a",
                "UPDATE moved SET part = 9",
                "ROLLBACK TO a",
                "DELETE FROM moved WHERE id = 300",
                "INSERT INTO moved VALUES (300, 1, 'again')",
                "UPDATE moved SET part = 2 WHERE id = 300",
                "UPDATE moved SET part = 1 WHERE id = 300");
    }
}
