package dev.walshadow.systemtests.transaction;

import static dev.walshadow.systemtests.transaction.TransactionCase.execute;
import static dev.walshadow.systemtests.transaction.TransactionCase.transaction;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/** Subtransactions: a rollback takes exactly what was done since, shapes of tables included. */
final class SavepointCases {
    private static final int STEPS = 4000;
    private static final int DEEPEST = 150;

    static final List<TransactionCase> ALL =
            List.of(
                    new TransactionCase(
                            "thousands of savepoints",
                            SavepointCases::randomSavepoints,
                            "CREATE TABLE sp (id bigint PRIMARY KEY, n int, v text)",
                            "CREATE TABLE sp_bare (n int, v text)",
                            "INSERT INTO sp SELECT i, 0, 'old' FROM generate_series(1, 200) i"),
                    new TransactionCase(
                            "exception blocks",
                            SavepointCases::exceptionBlocks,
                            "CREATE TABLE sp_loop (id int PRIMARY KEY, v text, CHECK (id % 3 <>"
                                    + " 0))",
                            """
                            CREATE FUNCTION sp_try(first int, last int) RETURNS void
                            LANGUAGE plpgsql AS $$
                            BEGIN
                                FOR i IN first .. last LOOP
                                    BEGIN
                                        INSERT INTO sp_loop VALUES (i - 1, 'before')
                                            ON CONFLICT (id) DO UPDATE SET v = sp_loop.v || '+';
                                        INSERT INTO sp_loop VALUES (i, 'row');
                                    EXCEPTION WHEN check_violation OR unique_violation THEN
                                        UPDATE sp_loop SET v = 'saved ' || i WHERE id = i - 2;
                                    END;
                                END LOOP;
                            END $$\
                            """),
                    new TransactionCase(
                            "changes of tables rolled back to savepoints",
                            SavepointCases::changesOfTables,
                            "CREATE TABLE sp_ddl (id int PRIMARY KEY, v text)",
                            "INSERT INTO sp_ddl SELECT i, 'old' FROM generate_series(1, 50) i"));

    private SavepointCases() {}

    /** A random walk over a stack of savepoints, the same rows written at every depth. */
    private static void randomSavepoints(Installation installation, SplittableRandom random)
            throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int transaction = 0; transaction < 3; transaction++) {
                statement.execute("BEGIN");
                Deque<String> open = new ArrayDeque<>();
                for (int step = 0; step < STEPS / 3; step++) {
                    savepoint(statement, open, random, step);
                    change(statement, random);
                }
                statement.execute(transaction == 1 ? "ROLLBACK" : "COMMIT");
            }
        }
    }

    private static void savepoint(
            Statement statement, Deque<String> open, SplittableRandom random, int step)
            throws SQLException {
        int dice = random.nextInt(100);
        if (dice < 60 && open.size() < DEEPEST) {
            open.push("s" + step);
            statement.execute("SAVEPOINT s" + step);
        } else if (dice < 75) {
            for (int left = random.nextInt(1, 4); left > 0 && !open.isEmpty(); left--) {
                statement.execute("RELEASE SAVEPOINT " + open.pop());
            }
        } else if (!open.isEmpty()) {
            for (int left = random.nextInt(3); left > 0 && open.size() > 1; left--) {
                open.pop();
            }
            statement.execute("ROLLBACK TO SAVEPOINT " + open.peek());
        }
    }

    private static void change(Statement statement, SplittableRandom random) throws SQLException {
        int id = random.nextInt(1, 400);
        statement.execute(
                switch (random.nextInt(6)) {
                    case 0 -> "DELETE FROM sp WHERE id = " + id;
                    case 1 ->
                            "UPDATE sp SET id = -id WHERE id = "
                                    + id
                                    + " AND NOT EXISTS (SELECT"
                                    + " FROM sp WHERE id = -"
                                    + id
                                    + ")";
                    case 2 -> "INSERT INTO sp_bare VALUES (" + id + ", 'v')";
                    case 3 -> "DELETE FROM sp_bare WHERE n = " + id;
                    case 4 -> "UPDATE sp SET n = n + 1 WHERE id IN (" + id + ", -" + id + ")";
                    default ->
                            "INSERT INTO sp VALUES ("
                                    + id
                                    + ", 1, 'new') ON CONFLICT (id) DO"
                                    + " UPDATE SET n = sp.n + 1, v = sp.v || 'x'";
                });
    }

    private static void exceptionBlocks(Installation installation, SplittableRandom random)
            throws SQLException {
        int split = random.nextInt(500, 2000);
        transaction(
                installation,
                "SELECT sp_try(1, " + split + ")",
                "SAVEPOINT a",
                "SELECT sp_try(" + split + ", 3000)",
                "ROLLBACK TO a",
                "SELECT sp_try(" + (split - 10) + ", 3100)");
    }

    private static void changesOfTables(Installation installation, SplittableRandom random)
            throws SQLException {
        transaction(
                installation,
                "INSERT INTO sp_ddl VALUES (101, 'first')",
                "SAVEPOINT a",
                "ALTER TABLE sp_ddl ADD COLUMN gone int DEFAULT 7",
                "INSERT INTO sp_ddl VALUES (102, 'gone', 8)",
                "UPDATE sp_ddl SET gone = id",
                "CREATE TABLE sp_gone (id int PRIMARY KEY)",
                "INSERT INTO sp_gone VALUES (1)",
                "ROLLBACK TO a",
                "UPDATE sp_ddl SET v = 'kept' WHERE id < 10",
                "SAVEPOINT b",
                "TRUNCATE sp_ddl",
                "INSERT INTO sp_ddl VALUES (1, 'after a TRUNCATE that was not')",
                "ROLLBACK TO b",
                "ALTER TABLE sp_ddl ADD COLUMN stays int DEFAULT 9",
                "INSERT INTO sp_ddl VALUES (103, 'second', 10)",
                "SAVEPOINT c",
                "ALTER TABLE sp_ddl ALTER COLUMN stays TYPE text USING stays || '!'",
                "ALTER TABLE sp_ddl DROP COLUMN v",
                "DELETE FROM sp_ddl WHERE id > 20",
                "ROLLBACK TO c",
                "CREATE TABLE sp_made (id int PRIMARY KEY, v text)",
                "SAVEPOINT d",
                "INSERT INTO sp_made VALUES (1, 'kept')",
                "SAVEPOINT e",
                "INSERT INTO sp_made VALUES (2, 'gone')",
                "ALTER TABLE sp_made ADD COLUMN w int",
                "ROLLBACK TO e",
                "INSERT INTO sp_made VALUES (3, 'kept')",
                "RELEASE d");
        transaction(
                installation,
                "SAVEPOINT a",
                "CREATE TABLE sp_twice (id int PRIMARY KEY, v int)",
                "INSERT INTO sp_twice VALUES (1, 1)",
                "ROLLBACK TO a",
                "CREATE TABLE sp_twice (id text PRIMARY KEY)",
                "INSERT INTO sp_twice VALUES ('" + random.nextInt(100) + "')");
        try (Connection session = installation.session()) {
            execute(session, "BEGIN", "TRUNCATE sp_made", "ROLLBACK");
            execute(session, "UPDATE sp_made SET v = v || '!'");
        }
    }
}
