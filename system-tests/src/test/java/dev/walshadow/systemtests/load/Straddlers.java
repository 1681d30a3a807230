package dev.walshadow.systemtests.load;

import dev.walshadow.testkit.MixedLoad;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Transactions that begin before the base backup does and end after it: each does something whose
 * beginning is in no WAL that is read. What is not prepared is lost with the source's process.
 */
final class Straddlers implements AutoCloseable {
    /**
     * @param prepares whether it is prepared meanwhile, instead of held open by a session
     * @param commits how it ends
     */
    private record Straddler(boolean prepares, boolean commits, List<String> statements) {
        static Straddler open(String... statements) {
            return new Straddler(false, true, List.of(statements));
        }

        static Straddler prepared(String... statements) {
            return new Straddler(true, true, List.of(statements));
        }

        Straddler rolledBack() {
            return new Straddler(prepares, false, statements);
        }
    }

    /** 100 subtransactions, every third rolled back: more than a snapshot can list. */
    private static final String SUBTRANSACTIONS =
            """
            DO $$ BEGIN
              FOR i IN 1..100 LOOP
                BEGIN
                  UPDATE kept SET v = 'sub' || i WHERE id = 1000 + i;
                  INSERT INTO kept VALUES (10000 + i, 'sub', repeat('s' || i, 2000));
                  DELETE FROM kept WHERE id = 1200 + i;
                  INSERT INTO kept_bare VALUES (i, 'sub');
                  IF i % 3 = 0 THEN RAISE EXCEPTION 'back'; END IF;
                EXCEPTION WHEN raise_exception THEN NULL;
                END;
              END LOOP;
            END $$\
            """;

    private static final List<Straddler> ALL =
            List.of(
                    Straddler.open(
                            "UPDATE kept SET v = 'updated' WHERE id BETWEEN 1 AND 100",
                            "DELETE FROM kept WHERE id BETWEEN 101 AND 150",
                            "UPDATE kept SET id = id + 5000, v = 'moved' WHERE id BETWEEN 151 AND"
                                    + " 200",
                            "SAVEPOINT s",
                            "DELETE FROM kept WHERE id BETWEEN 201 AND 300",
                            "ROLLBACK TO s",
                            "UPDATE kept_bare SET v = 'updated' WHERE n < 50",
                            "DELETE FROM kept_bare WHERE n BETWEEN 50 AND 80"),
                    Straddler.open(
                                    "UPDATE kept SET v = 'never' WHERE id BETWEEN 501 AND 600",
                                    "DELETE FROM kept WHERE id BETWEEN 601 AND 700",
                                    "INSERT INTO kept SELECT i, 'never', repeat('n', 9000) FROM"
                                            + " generate_series(20001, 20050) i",
                                    "UPDATE kept_bare SET v = 'never' WHERE n BETWEEN 200 AND 250")
                            .rolledBack(),
                    Straddler.open(SUBTRANSACTIONS),
                    Straddler.prepared(
                            "UPDATE kept SET v = 'prepared' WHERE id BETWEEN 2001 AND 2050",
                            "SAVEPOINT s",
                            "DELETE FROM kept WHERE id BETWEEN 2051 AND 2100",
                            "RELEASE s",
                            "INSERT INTO kept SELECT i, 'prepared', repeat('p' || i, 3000) FROM"
                                    + " generate_series(30001, 30050) i",
                            "INSERT INTO kept VALUES (30100, NULL, repeat('q', 9000))",
                            "UPDATE kept_bare SET v = 'prepared' WHERE n BETWEEN 300 AND 330"),
                    Straddler.prepared(
                                    "UPDATE kept SET v = 'never' WHERE id BETWEEN 2201 AND 2250",
                                    "DELETE FROM kept_bare WHERE n BETWEEN 350 AND 370")
                            .rolledBack(),
                    Straddler.open(
                            "CREATE TABLE made AS SELECT id, v, body FROM kept",
                            "INSERT INTO made SELECT i, 'too', repeat('m', 9000) FROM"
                                    + " generate_series(40001, 40020) i"),
                    Straddler.open("CREATE TABLE never_made AS SELECT id, v FROM kept")
                            .rolledBack(),
                    Straddler.prepared(
                            "CREATE TABLE made_prepared (id int PRIMARY KEY, body text)",
                            "INSERT INTO made_prepared SELECT i, repeat('q' || i, 3000) FROM"
                                    + " generate_series(1, 300) i"),
                    Straddler.open(
                            "ALTER TABLE rewritten ALTER v TYPE bigint USING v * 2",
                            "UPDATE rewritten SET v = -1 WHERE id < 100"),
                    Straddler.open(
                            "INSERT INTO emptied VALUES (9000, 'gone')",
                            "TRUNCATE emptied",
                            "INSERT INTO emptied VALUES (1, 'new'), (9001, 'new')"),
                    Straddler.open(
                            "UPDATE clustered SET v = 'before' WHERE id % 3 = 0",
                            "CLUSTER clustered USING clustered_pkey",
                            "UPDATE clustered SET v = 'after' WHERE id % 5 = 0"),
                    Straddler.open(
                            "DELETE FROM clustered_bare WHERE n % 3 = 0",
                            "CLUSTER clustered_bare USING clustered_bare_n",
                            "INSERT INTO clustered_bare VALUES (1, 'after')"),
                    Straddler.open(
                            "UPDATE widened SET v = 'before' WHERE id % 2 = 0",
                            "ALTER TABLE widened ADD COLUMN w text DEFAULT 'wide'",
                            "UPDATE widened SET w = 'set' WHERE id % 3 = 0",
                            "INSERT INTO widened VALUES (9000, 'new', 'new')"),
                    Straddler.open("DROP TABLE dropped"),
                    Straddler.open("DROP TABLE nearly_dropped").rolledBack(),
                    Straddler.open(
                            "ALTER TABLE rekeyed DROP CONSTRAINT rekeyed_pkey",
                            "ALTER TABLE rekeyed REPLICA IDENTITY USING INDEX rekeyed_v_key",
                            "UPDATE rekeyed SET id = id + 1 WHERE id % 2 = 0"));

    private final List<Connection> open = new ArrayList<>();

    private Straddlers() {}

    /** All of them are under way, or prepared. */
    static Straddlers begin(MixedLoad.Sessions sessions) throws SQLException {
        Straddlers straddlers = new Straddlers();
        for (int i = 0; i < ALL.size(); i++) {
            Connection session = sessions.open();
            straddlers.open.add(session);
            try (Statement statement = session.createStatement()) {
                statement.execute("BEGIN");
                for (String sql : ALL.get(i).statements()) {
                    statement.execute(sql);
                }
                if (ALL.get(i).prepares()) {
                    statement.execute("PREPARE TRANSACTION 'straddler " + i + "'");
                }
            }
        }
        return straddlers;
    }

    /** Ends them in any order. */
    void end(SplittableRandom random) throws SQLException {
        List<Integer> left = new ArrayList<>();
        for (int i = 0; i < ALL.size(); i++) {
            left.add(i);
        }
        while (!left.isEmpty()) {
            Collections.swap(left, random.nextInt(left.size()), left.size() - 1);
            int number = left.removeLast();
            Straddler straddler = ALL.get(number);
            String how = straddler.commits() ? "COMMIT" : "ROLLBACK";
            try (Statement statement = open.get(number).createStatement()) {
                statement.execute(
                        straddler.prepares() ? how + " PREPARED 'straddler " + number + "'" : how);
            }
        }
    }

    @Override
    public void close() throws SQLException {
        for (Connection session : open) {
            session.close();
        }
    }
}
