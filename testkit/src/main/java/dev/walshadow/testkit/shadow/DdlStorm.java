package dev.walshadow.testkit.shadow;

import dev.walshadow.testkit.shadow.DdlChanges.Change;
import dev.walshadow.testkit.shadow.DdlChanges.Session;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that change the schema of one database at random: tables of all kinds, types, functions,
 * indexes, rewrites of catalogs, databases, tablespaces, temporary tables, aborts, savepoints,
 * prepared transactions; between them rows, all of which carry {@link #CANARY}. Same seed, same
 * statements per session; sessions run side by side, so a statement may meet a deadlock or a table
 * that is gone. {@link #succeeded} tells what did work.
 */
public final class DdlStorm {
    /** In every user row, and nowhere else. */
    public static final String CANARY = "canary-c41f7e2b90";

    static final int TABLES = 6;

    /** The session of {@link #runEach}: it uses no other's tables. */
    static final int ALONE = 99;

    private final String url;
    private final long seed;
    private final Map<String, Integer> succeeded = new ConcurrentSkipListMap<>();

    /**
     * @param url JDBC, of a superuser; {@code lock_timeout} and in-place tablespaces are set by the
     *     storm itself
     */
    public DdlStorm(String url, long seed) {
        this.url = url;
        this.seed = seed;
    }

    /** How often each kind of change worked. */
    public Map<String, Integer> succeeded() {
        return Map.copyOf(succeeded);
    }

    /** Names of all kinds of changes that the sessions make. */
    public static List<String> kinds() {
        return DdlChanges.ALL.stream().map(Change::name).toList();
    }

    /** Runs the sessions side by side; each makes {@code changes} changes. */
    public void run(int sessions, int changes) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        List<SQLException> failures = new ArrayList<>();
        for (int i = 0; i < sessions; i++) {
            int number = i;
            threads.add(
                    Thread.ofVirtual()
                            .start(() -> {
                                try {
                                    work(number, changes);
                                } catch (SQLException e) {
                                    synchronized (failures) {
                                        failures.add(e);
                                    }
                                }
                            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException(
                    "the storm (seed " + seed + ") broke", failures.getFirst());
        }
    }

    /** Every kind once, in order, by one session: for a run that must have seen everything. */
    public void runEach() throws SQLException {
        try (Connection connection = open();
                Statement statement = connection.createStatement()) {
            Session session = new Session(statement, new Random(seed), ALONE);
            for (Change change : DdlChanges.ALL) {
                makeWork(session, change);
            }
        }
    }

    /** Tables are made anew if what earlier changes left of them does not allow this one. */
    private void makeWork(Session session, Change change) throws SQLException {
        SQLException refusal = null;
        for (int attempt = 0; attempt < 10; attempt++) {
            for (int table = 0; table < TABLES; table++) {
                String name = "t" + ALONE + "_" + table;
                if (attempt == 0) {
                    session.createIfMissing(name);
                } else {
                    session.createTable(name);
                }
            }
            refusal = attempt(session, change);
            if (refusal == null) {
                return;
            }
        }
        throw new SQLException(change.name() + " never worked", refusal);
    }

    private Connection open() throws SQLException {
        Connection connection = DriverManager.getConnection(url);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET lock_timeout = '3s'");
            statement.execute("SET allow_in_place_tablespaces = on");
            statement.execute("SET client_min_messages = error");
        }
        return connection;
    }

    private void work(int number, int changes) throws SQLException {
        Random random = new Random(seed * 31 + number);
        int total = DdlChanges.ALL.stream().mapToInt(Change::weight).sum();
        try (Connection connection = open();
                Statement statement = connection.createStatement()) {
            Session session = new Session(statement, random, number);
            attempt(session, DdlChanges.ALL.getFirst());
            for (int i = 0; i < changes; i++) {
                int pick = random.nextInt(total);
                int at = 0;
                while (pick >= DdlChanges.ALL.get(at).weight()) {
                    pick -= DdlChanges.ALL.get(at++).weight();
                }
                attempt(session, DdlChanges.ALL.get(at));
            }
        }
    }

    /** What PostgreSQL refused it with; null if it worked. */
    private @Nullable SQLException attempt(Session session, Change change) throws SQLException {
        try {
            change.script().run(session);
            succeeded.merge(change.name(), 1, Integer::sum);
            return null;
        } catch (SQLException e) {
            if (!isExpected(e)) {
                throw new SQLException("in " + change.name() + ": " + e.getMessage(), e);
            }
            return e;
        } finally {
            session.run("ROLLBACK");
        }
    }

    /** Conflicts between sessions, and objects that an earlier statement did or did not leave. */
    private static boolean isExpected(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        return state.startsWith("42")
                || state.startsWith("40")
                || state.startsWith("55")
                || state.startsWith("2B")
                || state.startsWith("23")
                || state.startsWith("0A")
                || state.startsWith("25")
                || String.valueOf(e.getMessage()).contains("concurrently");
    }
}
