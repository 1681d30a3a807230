package dev.walshadow.systemtests.transaction;

import static dev.walshadow.systemtests.transaction.TransactionCase.execute;
import static dev.walshadow.systemtests.transaction.TransactionCase.start;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/** Several sessions at the same rows. */
final class ConcurrencyCases {
    private static final int SESSIONS = 6;
    private static final String UNIQUE_VIOLATION = "23505";
    private static final String DEADLOCK = "40P01";

    /**
     * In an index: called once to look for the key (waits for lock 3 of its session), once more
     * when the speculative row is there (waits for lock 2). As PostgreSQL's own isolation test
     * insert-conflict-specconflict has it.
     */
    private static final String HELD_UP =
            """
            CREATE FUNCTION spec_held_up(key text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
            DECLARE
                me int := coalesce(nullif(current_setting('spec.session', true), '')::int, 0);
            BEGIN
                IF me > 0 THEN
                    IF pg_try_advisory_xact_lock(me, 1) THEN
                        PERFORM pg_advisory_xact_lock(me, 2);
                    ELSE
                        PERFORM pg_advisory_xact_lock(me, 3);
                    END IF;
                END IF;
                RETURN key;
            END $$\
            """;

    static final List<TransactionCase> ALL =
            List.of(
                    new TransactionCase(
                            "speculative inserts that are taken back",
                            ConcurrencyCases::superDeletes,
                            HELD_UP,
                            "CREATE TABLE spec (id int PRIMARY KEY, key text, big text, n int)",
                            "ALTER TABLE spec ALTER big SET STORAGE EXTERNAL",
                            "CREATE UNIQUE INDEX spec_key ON spec (spec_held_up(key))"),
                    new TransactionCase(
                            "ON CONFLICT under concurrency",
                            ConcurrencyCases::onConflict,
                            "CREATE TABLE upserted (id int PRIMARY KEY, other int UNIQUE, n int,"
                                    + " big text)"),
                    new TransactionCase(
                            "row locks and multixacts",
                            ConcurrencyCases::rowLocks,
                            "CREATE TABLE locked (id int PRIMARY KEY, v text)",
                            "CREATE TABLE lock_child (id serial PRIMARY KEY,"
                                    + " parent int REFERENCES locked ON UPDATE CASCADE)",
                            "INSERT INTO locked SELECT i, 'v' FROM generate_series(1, 40) i"));

    /** A row's xmax that is no transaction's id, which is above that of the cluster's first. */
    private static final String MULTIXACTS =
            "SELECT count(*) FROM locked WHERE xmax <> '0' AND xmax::text::bigint < 700";

    private ConcurrencyCases() {}

    private static void superDeletes(Installation installation, SplittableRandom random)
            throws Exception {
        for (int key = 0; key < 3; key++) {
            boolean nothing = random.nextBoolean();
            String sql =
                    "INSERT INTO spec SELECT %d, 'k"
                            + key
                            + "', repeat('b', 20000), 0 ON CONFLICT (spec_held_up(key)) "
                            + (nothing ? "DO NOTHING" : "DO UPDATE SET n = spec.n + 1");
            try (Connection gate = installation.session();
                    Connection first = installation.session();
                    Connection second = installation.session()) {
                execute(
                        gate,
                        "SELECT pg_advisory_lock(s, l) FROM generate_series(1, 2) s,"
                                + " generate_series(1, 3) l");
                execute(first, "SET spec.session = 1", "BEGIN");
                execute(second, "SET spec.session = 2");
                CompletableFuture<Void> loser = start(first, sql.formatted(10 * key + 1), "COMMIT");
                CompletableFuture<Void> winner = start(second, sql.formatted(10 * key + 2));
                awaitWaiting(installation, gate, 2);
                // both have seen that the key is free, and write their rows
                execute(gate, unlock(1, 1), unlock(2, 1), unlock(1, 3), unlock(2, 3));
                installation.await("both rows are written", () -> waitingFor(gate, 2) == 2);
                execute(gate, unlock(2, 2));
                winner.join();
                execute(gate, unlock(1, 2));
                loser.join();
                execute(gate, "SELECT pg_advisory_unlock_all()");
            }
        }
        assertThat(count(installation, "SELECT count(*) FROM spec")).isEqualTo(3);
    }

    private static String unlock(int session, int lock) {
        return "SELECT pg_advisory_unlock(" + session + ", " + lock + ")";
    }

    private static void awaitWaiting(Installation installation, Connection gate, int sessions) {
        installation.await("sessions look for the key", () -> waitingFor(gate, 3) == sessions);
    }

    /** How many sessions wait for the advisory lock with this second number. */
    private static long waitingFor(Connection session, int lock) {
        try (Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT"
                                        + " granted AND objid = "
                                        + lock)) {
            row.next();
            return row.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long count(Installation installation, String sql) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Upserts of the same few keys by several sessions; which of them wins is theirs to settle. */
    private static void onConflict(Installation installation, SplittableRandom random)
            throws Exception {
        List<Connection> sessions = new ArrayList<>();
        List<CompletableFuture<Void>> running = new ArrayList<>();
        for (int i = 0; i < SESSIONS; i++) {
            Connection session = installation.session();
            sessions.add(session);
            SplittableRandom mine = random.split();
            List<String> statements = new ArrayList<>();
            for (int step = 0; step < 150; step++) {
                int key = mine.nextInt(12);
                statements.add(
                        switch (mine.nextInt(4)) {
                            case 0 ->
                                    "INSERT INTO upserted VALUES ("
                                            + key
                                            + ", "
                                            + key
                                            + ", 0, repeat('x', 9000)) ON CONFLICT DO NOTHING";
                            case 1 -> "DELETE FROM upserted WHERE id = " + key;
                            case 2 ->
                                    "INSERT INTO upserted VALUES ("
                                            + (key + 50)
                                            + ", "
                                            + key
                                            + ", 0, NULL) ON CONFLICT (other) DO UPDATE SET n ="
                                            + " upserted.n + 1";
                            default ->
                                    "INSERT INTO upserted VALUES ("
                                            + key
                                            + ", "
                                            + key
                                            + ", 0, 'b') ON CONFLICT (other) DO UPDATE SET n ="
                                            + " upserted.n + 1, big = excluded.big";
                        });
            }
            running.add(startTolerant(session, statements));
        }
        running.forEach(CompletableFuture::join);
        for (Connection session : sessions) {
            session.close();
        }
        assertThat(count(installation, "SELECT sum(n) FROM upserted")).isPositive();
    }

    /** Goes on after a statement that lost a key or a deadlock to another session. */
    private static CompletableFuture<Void> startTolerant(
            Connection session, List<String> statements) {
        return TransactionCase.start(() -> {
            for (String sql : statements) {
                try {
                    execute(session, sql);
                } catch (SQLException e) {
                    if (!UNIQUE_VIOLATION.equals(e.getSQLState())
                            && !DEADLOCK.equals(e.getSQLState())) {
                        throw e;
                    }
                }
            }
        });
    }

    /** Lockers become multixacts, an update among them has a multixact as xmax. */
    private static void rowLocks(Installation installation, SplittableRandom random)
            throws Exception {
        try (Connection a = installation.session();
                Connection b = installation.session();
                Connection c = installation.session()) {
            execute(a, "BEGIN", "SELECT FROM locked WHERE id <= 20 FOR KEY SHARE");
            execute(b, "BEGIN", "SELECT FROM locked WHERE id <= 30 FOR SHARE");
            execute(c, "BEGIN", "SELECT FROM locked WHERE id <= 20 FOR KEY SHARE");
            execute(b, "COMMIT");
            assertThat(count(installation, MULTIXACTS)).as("rows with a multixact").isPositive();
            execute(c, "UPDATE locked SET v = 'with sharers' WHERE id <= 10");
            execute(a, "INSERT INTO lock_child (parent) SELECT i FROM generate_series(1, 20) i");
            execute(c, "SAVEPOINT s", "UPDATE locked SET v = 'gone' WHERE id <= 15");
            execute(c, "ROLLBACK TO s", "COMMIT");
            execute(a, "UPDATE locked SET v = v || '!' WHERE id BETWEEN 5 AND 12", "COMMIT");
            execute(
                    b,
                    "BEGIN",
                    "SELECT FROM locked WHERE id > 30 FOR UPDATE",
                    "DELETE FROM locked WHERE id > 35",
                    "UPDATE locked SET id = id + 100 WHERE id IN (3, "
                            + random.nextInt(4, 30)
                            + ")",
                    "COMMIT");
            execute(a, "BEGIN", "SELECT FROM locked FOR NO KEY UPDATE", "ROLLBACK");
        }
    }
}
