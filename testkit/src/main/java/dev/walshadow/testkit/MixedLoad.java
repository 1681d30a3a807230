package dev.walshadow.testkit;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.postgresql.PGConnection;

/**
 * Sessions that write to three tables with few keys, so that the same rows are inserted, updated,
 * moved and deleted over and over: single rows and bulk, upserts, savepoints, rollbacks, values out
 * of line. A session whose server goes away comes back when the server does.
 */
public final class MixedLoad implements AutoCloseable {
    /** Run once, before the load. */
    public static final List<String> SCHEMA =
            List.of(
                    "CREATE TABLE account (id int PRIMARY KEY, name text NOT NULL, amount"
                            + " numeric(12,2), note text, changed timestamptz NOT NULL DEFAULT"
                            + " clock_timestamp())",
                    "ALTER TABLE account ALTER note SET STORAGE EXTERNAL",
                    "CREATE TABLE pair (a int, b text, v jsonb, tags text[], PRIMARY KEY (a, b))",
                    "CREATE TABLE journal (id bigserial PRIMARY KEY, kind text NOT NULL, payload"
                            + " bytea)",
                    "INSERT INTO account SELECT i, 'account ' || i, i, repeat(md5(i::text), i %"
                            + " 120) FROM generate_series(1, 3000) i",
                    "INSERT INTO pair SELECT i % 60, 'b' || i, jsonb_build_object('i', i),"
                            + " array['x', null] FROM generate_series(1, 3000) i",
                    "INSERT INTO journal (kind, payload) SELECT 'old', decode(md5(i::text), 'hex')"
                            + " FROM generate_series(1, 3000) i");

    private static final int ACCOUNTS = 4000;

    /** How a session is opened. */
    public interface Sessions {
        Connection open() throws SQLException;
    }

    private final Sessions sessions;
    private final long pauseNanos;
    private final AtomicLong committed = new AtomicLong();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopping;

    /**
     * Starts.
     *
     * @param pauseNanos between two transactions of one session
     */
    public MixedLoad(Sessions sessions, int count, long seed, long pauseNanos) {
        this.sessions = sessions;
        this.pauseNanos = pauseNanos;
        for (int i = 0; i < count; i++) {
            SplittableRandom random = new SplittableRandom(seed + i);
            threads.add(Thread.ofPlatform().name("load-" + i).start(() -> run(random)));
        }
    }

    /** Transactions committed so far. */
    public long committed() {
        return committed.get();
    }

    private void run(SplittableRandom random) {
        while (!stopping) {
            try (Connection session = sessions.open()) {
                session.setAutoCommit(false);
                while (!stopping) {
                    transaction(session, random);
                    LockSupport.parkNanos(pauseNanos);
                }
            } catch (SQLException e) {
                // the server was ended by the test; it will be back
                LockSupport.parkNanos(50_000_000);
            }
        }
    }

    private void transaction(Connection session, SplittableRandom random) throws SQLException {
        try {
            int statements = 1 + random.nextInt(4);
            for (int i = 0; i < statements; i++) {
                if (random.nextInt(5) == 0) {
                    Savepoint savepoint = session.setSavepoint();
                    statement(session, random);
                    if (random.nextBoolean()) {
                        session.rollback(savepoint);
                    }
                } else {
                    statement(session, random);
                }
            }
            if (random.nextInt(8) == 0) {
                session.rollback();
            } else {
                session.commit();
                committed.incrementAndGet();
            }
        } catch (SQLException e) {
            if (!session.isValid(1)) {
                throw e;
            }
            // a duplicate key or a deadlock: both belong to the load
            session.rollback();
        }
    }

    private static void statement(Connection session, SplittableRandom random) throws SQLException {
        int id = 1 + random.nextInt(ACCOUNTS);
        switch (random.nextInt(12)) {
            case 0 ->
                    run(
                            session,
                            "INSERT INTO account (id, name, amount, note) VALUES (?, 'new', ?,"
                                    + " repeat('n', 30))",
                            id,
                            id);
            case 1, 2 -> run(session, "UPDATE account SET amount = amount + ? WHERE id = ?", 1, id);
            case 3 ->
                    run(
                            session,
                            "UPDATE account SET note = repeat(md5(?::text), ?) WHERE id"
                                    + " = "
                                    + id,
                            random.nextInt(),
                            random.nextInt(150));
            case 4 ->
                    run(
                            session,
                            "UPDATE account SET id = ? WHERE id = ?",
                            id,
                            1 + random.nextInt(ACCOUNTS));
            case 5 -> run(session, "DELETE FROM account WHERE id BETWEEN ? AND ?", id, id + 2);
            case 6 ->
                    run(
                            session,
                            "INSERT INTO account (id, name, amount) VALUES (?, 'upsert', ?) ON"
                                    + " CONFLICT (id) DO UPDATE SET name = 'merged', amount ="
                                    + " excluded.amount",
                            id,
                            id % 100);
            case 7 ->
                    run(session, "DELETE FROM pair WHERE a = ? AND b = 'b' || ?::int", id % 60, id);
            case 8 ->
                    run(
                            session,
                            "INSERT INTO pair VALUES (?, 'b' || ?::int, '{\"k\": [1, 2]}',"
                                    + " '{}') ON CONFLICT DO NOTHING",
                            id % 60,
                            id);
            case 9 ->
                    run(
                            session,
                            "UPDATE pair SET a = ?, v = v || '{\"moved\": true}' WHERE a = ?"
                                    + " AND b LIKE 'b%7'",
                            id % 60,
                            random.nextInt(60));
            case 10 -> copy(session, random);
            default ->
                    run(
                            session,
                            "INSERT INTO journal (kind, payload) SELECT 'k' || g,"
                                    + " decode(md5(g::text), 'hex') FROM generate_series(?, ?) g",
                            id,
                            id + random.nextInt(20));
        }
    }

    private static void run(Connection session, String sql, int first, int second)
            throws SQLException {
        try (PreparedStatement statement = session.prepareStatement(sql)) {
            statement.setInt(1, first);
            statement.setInt(2, second);
            statement.executeUpdate();
        }
    }

    private static void copy(Connection session, SplittableRandom random) throws SQLException {
        StringBuilder lines = new StringBuilder();
        int rows = random.nextInt(100);
        for (int i = 0; i < rows; i++) {
            lines.append("copied\t\\\\x").append(Integer.toHexString(0x10000000 | i)).append('\n');
        }
        byte[] bytes = lines.toString().getBytes(StandardCharsets.UTF_8);
        var copy =
                session.unwrap(PGConnection.class)
                        .getCopyAPI()
                        .copyIn("COPY journal (kind, payload) FROM STDIN");
        copy.writeToCopy(bytes, 0, bytes.length);
        copy.endCopy();
    }

    /** Lets each session end its transaction. */
    @Override
    public void close() {
        stopping = true;
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
