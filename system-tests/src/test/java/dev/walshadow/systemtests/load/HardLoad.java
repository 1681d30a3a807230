package dev.walshadow.systemtests.load;

import dev.walshadow.testkit.MixedLoad;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/**
 * Sessions that each do another thing that is hard for who copies the tables meanwhile. All of them
 * go on until {@link #close}, whatever happens to the server; then nothing of them is open.
 */
final class HardLoad implements AutoCloseable {
    /** What a session does over and over. */
    enum Kind {
        /** TPC-B: three updates and an insert. */
        BANK,
        BANK_TOO,
        /** Many statements in one transaction, row locks of several sessions among them. */
        LONG,
        /** Savepoints, more than the 64 that a snapshot can list, many rolled back. */
        SAVEPOINTS,
        /** Values out of line come, change, stay as they are and go. */
        VALUES,
        /** VACUUM in all its forms, CLUSTER, REINDEX. */
        MAINTENANCE,
        /** Shapes and storage change, tables come and go. */
        SHAPES,
        /** Transactions that are prepared now and end later. */
        TWO_PHASE
    }

    private static final int OPEN_AT_ONCE = 4;
    private static final long PAUSE_NANOS = 5_000_000;

    private final MixedLoad.Sessions sessions;
    private final Predicate<Kind> mayGoOn;
    private final Map<Kind, AtomicLong> done = new EnumMap<>(Kind.class);
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopping;

    /**
     * @param keepsUp whether somebody who stops at each change of a catalog is not left far behind
     */
    HardLoad(MixedLoad.Sessions sessions, BooleanSupplier keepsUp, long seed) {
        this(
                sessions,
                EnumSet.allOf(Kind.class),
                kind -> !holds(kind) || keepsUp.getAsBoolean(),
                seed);
    }

    private HardLoad(
            MixedLoad.Sessions sessions, Set<Kind> kinds, Predicate<Kind> mayGoOn, long seed) {
        this.sessions = sessions;
        this.mayGoOn = mayGoOn;
        SplittableRandom seeds = new SplittableRandom(seed);
        for (Kind kind : kinds) {
            done.put(kind, new AtomicLong());
            SplittableRandom random = seeds.split();
            threads.add(Thread.ofPlatform().name("load-" + kind).start(() -> run(kind, random)));
        }
    }

    /**
     * Only what changes rows: savepoints, values out of line, many statements in a transaction.
     *
     * @param keepsUp whether the sessions do not wait
     */
    static HardLoad ofRows(MixedLoad.Sessions sessions, BooleanSupplier keepsUp, long seed) {
        Set<Kind> kinds = EnumSet.of(Kind.LONG, Kind.SAVEPOINTS, Kind.VALUES, Kind.TWO_PHASE);
        return new HardLoad(sessions, kinds, _ -> keepsUp.getAsBoolean(), seed);
    }

    /** How often each kind of session has ended what it does. */
    Map<Kind, AtomicLong> done() {
        return done;
    }

    long least() {
        return done.values().stream().mapToLong(AtomicLong::get).min().orElseThrow();
    }

    private void run(Kind kind, SplittableRandom random) {
        Deque<String> prepared = new ArrayDeque<>();
        while (!stopping) {
            try (Connection session = sessions.open();
                    Statement statement = session.createStatement()) {
                // who waits for a transaction that is open for long does something else instead
                statement.execute("SET lock_timeout = '1s'");
                while (!stopping) {
                    if (mayGoOn.test(kind)) {
                        attempt(kind, statement, random, prepared);
                    }
                    LockSupport.parkNanos(random.nextLong(pauseNanos(kind)));
                }
            } catch (SQLException e) {
                // the server was ended by the test; it will be back
                LockSupport.parkNanos(10 * PAUSE_NANOS);
            }
        }
        end(prepared, random);
    }

    /**
     * Each change of a shape is a hold: of a second or more where the shadow came back while a
     * transaction with many subtransactions is open.
     */
    private static boolean holds(Kind kind) {
        return kind == Kind.SHAPES || kind == Kind.MAINTENANCE;
    }

    private static long pauseNanos(Kind kind) {
        return holds(kind) ? 300 * PAUSE_NANOS : PAUSE_NANOS;
    }

    private void attempt(
            Kind kind, Statement statement, SplittableRandom random, Deque<String> prepared)
            throws SQLException {
        try {
            switch (kind) {
                case BANK, BANK_TOO -> bank(statement, random);
                case LONG -> longTransaction(statement, random);
                case SAVEPOINTS -> savepoints(statement, random);
                case VALUES -> values(statement, random);
                case MAINTENANCE -> maintain(statement, random);
                case SHAPES -> Shapes.change(statement, random);
                case TWO_PHASE -> twoPhase(statement, random, prepared);
            }
            Objects.requireNonNull(done.get(kind)).incrementAndGet();
        } catch (SQLException e) {
            if (!statement.getConnection().isValid(1)) {
                throw e;
            }
            // a duplicate key, a deadlock, a lock that was not had: all belong to the load
            statement.execute("ROLLBACK");
        }
    }

    static void all(Statement statement, String... lines) throws SQLException {
        for (String sql : lines) {
            statement.execute(sql);
        }
    }

    private static int account(SplittableRandom random) {
        return 1 + random.nextInt(HardSchema.ACCOUNTS);
    }

    private static void bank(Statement statement, SplittableRandom random) throws SQLException {
        int account = account(random);
        int teller = 1 + random.nextInt(HardSchema.TELLERS);
        int branch = 1 + random.nextInt(3);
        int delta = random.nextInt(-5000, 5000);
        all(
                statement,
                "BEGIN",
                "UPDATE accounts SET abalance = abalance + " + delta + " WHERE aid = " + account,
                "UPDATE tellers SET tbalance = tbalance + " + delta + " WHERE tid = " + teller,
                "UPDATE branches SET bbalance = bbalance + " + delta + " WHERE bid = " + branch,
                "INSERT INTO history VALUES (%d, %d, %d, %d, now(), 'new')"
                        .formatted(teller, branch, account, delta),
                random.nextInt(10) == 0 ? "ROLLBACK" : "COMMIT");
    }

    private void longTransaction(Statement statement, SplittableRandom random) throws SQLException {
        statement.execute("BEGIN");
        for (int i = random.nextInt(10, 60); i > 0 && !stopping; i--) {
            int id = account(random);
            all(
                    statement,
                    switch (random.nextInt(7)) {
                        case 0 -> "DELETE FROM accounts WHERE aid = " + id;
                        case 1 ->
                                "INSERT INTO accounts VALUES (%d, 1, 0, 'n')".formatted(id)
                                        + " ON CONFLICT (aid) DO UPDATE SET filler = 'merged'";
                        case 2 ->
                                "DELETE FROM history WHERE ctid IN (SELECT ctid FROM history"
                                        + " WHERE aid % 50 = "
                                        + id % 50
                                        + " LIMIT 20)";
                        case 3 ->
                                "SELECT * FROM shared WHERE id = "
                                        + (1 + id % 200)
                                        + (id % 2 == 0 ? " FOR SHARE" : " FOR KEY SHARE");
                        case 4 -> "UPDATE shared SET n = n + 1 WHERE id = " + (1 + id % 200);
                        case 5 ->
                                "UPDATE parts SET id = %d, v = v || '.' WHERE id = %d"
                                        .formatted(account(random) % 3500, id % 3500);
                        default ->
                                "UPDATE churned SET v = md5('%d') WHERE id %% 200 = %d"
                                        .formatted(id, id % 200);
                    });
            LockSupport.parkNanos(random.nextLong(2 * PAUSE_NANOS));
        }
        statement.execute(random.nextInt(4) == 0 ? "ROLLBACK" : "COMMIT");
    }

    /** Each in its own subtransaction, some of them within others. */
    private static void savepoints(Statement statement, SplittableRandom random)
            throws SQLException {
        statement.execute("BEGIN");
        int count = random.nextInt(3) == 0 ? random.nextInt(70, 120) : random.nextInt(2, 20);
        int deep = 0;
        for (int i = 0; i < count; i++) {
            int id = account(random);
            all(
                    statement,
                    "SAVEPOINT s" + deep,
                    switch (random.nextInt(4)) {
                        case 0 ->
                                "UPDATE accounts SET filler = 's%d' WHERE aid = %d"
                                        .formatted(i, id);
                        case 1 ->
                                "INSERT INTO churned VALUES (%d, 'sub') ON CONFLICT DO NOTHING"
                                        .formatted(id);
                        case 2 -> "DELETE FROM churned WHERE id = " + id % 5000;
                        default ->
                                "INSERT INTO scraps VALUES (%d, repeat('s', %d))"
                                        .formatted(id % 100, random.nextInt(4000));
                    });
            switch (random.nextInt(4)) {
                case 0 -> statement.execute("ROLLBACK TO s" + deep);
                case 1 -> statement.execute("RELEASE s" + deep);
                default -> deep++;
            }
        }
        statement.execute(random.nextInt(6) == 0 ? "ROLLBACK" : "COMMIT");
    }

    private static void values(Statement statement, SplittableRandom random) throws SQLException {
        statement.execute("BEGIN");
        for (int i = random.nextInt(1, 5); i > 0; i--) {
            int id = 1 + random.nextInt(HardSchema.DOCUMENTS + 200);
            int length = random.nextInt(400);
            all(
                    statement,
                    switch (random.nextInt(7)) {
                        case 0 ->
                                "UPDATE documents SET body = repeat(md5('%d'), %d) WHERE id = %d"
                                        .formatted(length, length, id);
                        case 1 ->
                                "UPDATE documents SET n = n + 1 WHERE id BETWEEN %d AND %d"
                                        .formatted(id, id + 5);
                        case 2 -> "UPDATE documents SET packed = packed || 'x' WHERE id = " + id;
                        case 3 -> "DELETE FROM documents WHERE id = " + id;
                        case 4 ->
                                "INSERT INTO documents VALUES (%d, 0, repeat('d', %d), NULL)"
                                                .formatted(id, 30 * length)
                                        + " ON CONFLICT DO NOTHING";
                        case 5 ->
                                "UPDATE documents SET id = %d WHERE id = %d"
                                        .formatted(
                                                1 + random.nextInt(HardSchema.DOCUMENTS + 200), id);
                        default -> "UPDATE scraps SET n = n + 1 WHERE n = " + id % 100;
                    });
        }
        statement.execute(random.nextInt(6) == 0 ? "ROLLBACK" : "COMMIT");
    }

    private static void maintain(Statement statement, SplittableRandom random) throws SQLException {
        String[] tables = {"churned", "scraps", "documents", "history", "parts_1", "shaped_1"};
        String table = tables[random.nextInt(tables.length)];
        statement.execute(
                switch (random.nextInt(8)) {
                    case 0 -> "VACUUM FULL " + table;
                    case 1 -> "VACUUM FREEZE " + table;
                    case 2 -> "CLUSTER churned USING churned_v_idx";
                    case 3 -> "REINDEX TABLE " + table;
                    case 4 -> "CHECKPOINT";
                    case 5 -> "VACUUM FREEZE accounts";
                    default -> "VACUUM (ANALYZE) " + table;
                });
    }

    private static void twoPhase(
            Statement statement, SplittableRandom random, Deque<String> prepared)
            throws SQLException {
        if (prepared.size() >= OPEN_AT_ONCE || (!prepared.isEmpty() && random.nextInt(3) == 0)) {
            String name = prepared.getFirst();
            end(statement, name, random);
            prepared.removeFirst();
            return;
        }
        String name = "hard " + random.nextLong();
        int id = account(random);
        all(
                statement,
                "BEGIN",
                "UPDATE accounts SET filler = 'two' WHERE aid BETWEEN %d AND %d"
                        .formatted(id, id + 3),
                "SAVEPOINT s",
                "DELETE FROM churned WHERE id = " + id % 5000,
                random.nextBoolean() ? "ROLLBACK TO s" : "RELEASE s",
                "INSERT INTO documents VALUES (%d, 2, repeat('t', 9000), NULL)"
                        .formatted(10_000 + random.nextInt(1_000_000)));
        // known before it exists: whoever dies in between asks for its end all the same
        prepared.addLast(name);
        statement.execute("PREPARE TRANSACTION '" + name + "'");
    }

    private static void end(Statement statement, String name, SplittableRandom random)
            throws SQLException {
        try {
            statement.execute(
                    (random.nextInt(4) == 0 ? "ROLLBACK" : "COMMIT") + " PREPARED '" + name + "'");
        } catch (SQLException e) {
            if (!"42704".equals(e.getSQLState())) { // never prepared
                throw e;
            }
        }
    }

    private void end(Deque<String> prepared, SplittableRandom random) {
        while (!prepared.isEmpty()) {
            try (Connection session = sessions.open();
                    Statement statement = session.createStatement()) {
                end(statement, prepared.getFirst(), random);
                prepared.removeFirst();
            } catch (SQLException e) {
                LockSupport.parkNanos(10 * PAUSE_NANOS);
            }
        }
    }

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

    /** What the session of {@link Kind#SHAPES} does. */
    private static final class Shapes {
        private Shapes() {}

        static void change(Statement statement, SplittableRandom random) throws SQLException {
            int number = random.nextInt(HardSchema.SHAPED);
            String table = "shaped_" + number;
            int id = random.nextInt(1000);
            switch (random.nextInt(12)) {
                case 0 ->
                        all(
                                statement,
                                "ALTER TABLE %s ADD COLUMN IF NOT EXISTS c int DEFAULT %d"
                                        .formatted(table, id));
                case 1 -> all(statement, "ALTER TABLE " + table + " DROP COLUMN IF EXISTS c");
                case 2 ->
                        all(
                                statement,
                                "BEGIN",
                                "ALTER TABLE %s ALTER a TYPE %s"
                                        .formatted(table, id % 2 == 0 ? "int" : "bigint"),
                                insert(table, id),
                                id % 3 == 0 ? "ROLLBACK" : "COMMIT");
                case 3 ->
                        all(
                                statement,
                                "BEGIN",
                                "TRUNCATE " + table,
                                insert(table, id),
                                id % 3 == 0 ? "ROLLBACK" : "COMMIT");
                case 4 ->
                        all(
                                statement,
                                "BEGIN",
                                "DROP TABLE " + table,
                                HardSchema.shaped(number),
                                insert(table, id),
                                "COMMIT");
                case 5 ->
                        all(
                                statement,
                                "CREATE TABLE made_%d AS SELECT aid, filler FROM accounts WHERE"
                                                .formatted(id % 5)
                                        + " aid % 20 = 3");
                case 6 -> all(statement, "DROP TABLE IF EXISTS made_" + id % 5);
                case 7 ->
                        all(
                                statement,
                                "BEGIN",
                                "ALTER TABLE " + table + " RENAME COLUMN b TO b2",
                                "UPDATE " + table + " SET b2 = 'renamed' WHERE id % 7 = 0",
                                "ALTER TABLE " + table + " RENAME COLUMN b2 TO b",
                                "COMMIT");
                default ->
                        all(
                                statement,
                                "BEGIN",
                                insert(table, id),
                                "UPDATE %s SET a = a + 1 WHERE a %% 10 = %d"
                                        .formatted(table, id % 10),
                                "DELETE FROM %s WHERE a %% 40 = %d".formatted(table, id % 40),
                                "COMMIT");
            }
        }

        private static String insert(String table, int id) {
            return "INSERT INTO %s (a, b) SELECT i, 'n' || i FROM generate_series(%d, %d) i"
                    .formatted(table, id, id + 15);
        }
    }
}
