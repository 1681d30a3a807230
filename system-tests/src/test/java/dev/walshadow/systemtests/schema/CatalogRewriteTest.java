package dev.walshadow.systemtests.schema;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * System catalogs are rewritten (mapped, shared and other ones) while tables change and rows come,
 * the shadow and the daemon are killed meanwhile, and a transaction with more than 64
 * subtransactions stays open over that: nothing waits for ever, and both sides end equal. {@code
 * -Dwalshadow.seed=N}, {@code -Dwalshadow.major=N}; all majors in the soak.
 */
@Timeout(1800)
final class CatalogRewriteTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int ROUNDS = SOAK ? 60 : 6;
    private static final int SHADOW_KILLED_EVERY = 3;
    private static final int DAEMON_KILLED_EVERY = 4;
    private static final int SESSIONS = 2;
    private static final int SUBTRANSACTIONS = 70;
    private static final int CHANGES_BESIDE_SUBTRANSACTIONS = 2;

    /** Deadlocks and lock timeouts: statements of two sessions that met. */
    private static final Set<String> MET = Set.of("40P01", "55P03");

    private static final List<String> REWRITES =
            List.of(
                    // mapped
                    "VACUUM FULL pg_class",
                    "VACUUM FULL pg_attribute",
                    "VACUUM FULL pg_type",
                    "VACUUM FULL pg_proc",
                    "REINDEX TABLE pg_class",
                    "CLUSTER pg_attribute USING pg_attribute_relid_attnum_index",
                    // shared
                    "VACUUM FULL pg_database",
                    "VACUUM FULL pg_authid",
                    "VACUUM FULL pg_shdepend",
                    "REINDEX TABLE pg_tablespace",
                    // neither
                    "VACUUM FULL pg_index",
                    "VACUUM FULL pg_depend",
                    "VACUUM FULL pg_namespace",
                    "VACUUM FULL pg_enum",
                    "REINDEX TABLE pg_constraint",
                    "CLUSTER pg_index USING pg_index_indexrelid_index");

    private final SplittableRandom random = new SplittableRandom(SEED);
    private final AtomicInteger changes = new AtomicInteger();
    private volatile boolean over;

    static Stream<Integer> majors() {
        Integer only = Integer.getInteger("walshadow.major");
        if (only != null) {
            return Stream.of(only);
        }
        return SOAK ? Stream.of(15, 16, 17, 18) : Stream.of(15 + (int) (SEED % 4));
    }

    @ParameterizedTest
    @MethodSource("majors")
    void endsEqual(int major) throws Exception {
        System.out.println("CatalogRewriteTest: PostgreSQL " + major + ", seed " + SEED);
        try (Installation installation = Installation.start(major)) {
            IntStream.rangeClosed(0, SESSIONS)
                    .forEach(number -> execute(installation, table(number)));
            installation.execute(
                    "CREATE TABLE still (id int PRIMARY KEY, v text)",
                    "CREATE TYPE mood AS ENUM ('a')",
                    "CREATE TABLE moods (id bigserial PRIMARY KEY, m mood)");
            installation.startDaemon();
            installation.awaitStreaming();
            storm(installation);
            compare(installation, "the storm");
            besideSubtransactions(installation);
            compare(installation, "the subtransactions");
        }
    }

    private static String table(int number) {
        return "CREATE TABLE moving" + number + " (id bigserial PRIMARY KEY, v text)";
    }

    private void storm(Installation installation) throws Exception {
        over = false;
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Boolean>> changing = new ArrayList<>();
            for (int i = 0; i < SESSIONS; i++) {
                int number = i;
                changing.add(threads.submit(() -> changeUntilOver(installation, number)));
            }
            try {
                for (int round = 1; round <= ROUNDS; round++) {
                    rewrite(installation);
                    if (round % SHADOW_KILLED_EVERY == 0) {
                        installation.killShadow();
                    }
                    rewrite(installation);
                    if (round % DAEMON_KILLED_EVERY == 0) {
                        installation.killDaemon();
                        installation.startDaemon();
                    }
                }
            } finally {
                over = true;
            }
            for (Future<Boolean> each : changing) {
                each.get();
            }
        }
    }

    private void rewrite(Installation installation) {
        for (int i = 0; i < 3; i++) {
            execute(installation, REWRITES.get(random.nextInt(REWRITES.size())));
        }
    }

    private boolean changeUntilOver(Installation installation, int number) {
        while (!over) {
            change(installation, number);
        }
        return true;
    }

    private void change(Installation installation, int number) {
        String table = "moving" + number;
        int turn = changes.incrementAndGet();
        execute(
                installation,
                "INSERT INTO " + table + " (v) SELECT 'v' FROM generate_series(1, 5)");
        execute(
                installation,
                "ALTER TABLE "
                        + table
                        + " DROP COLUMN IF EXISTS c, ADD COLUMN c int DEFAULT "
                        + turn);
        execute(installation, "UPDATE " + table + " SET v = 'u' WHERE id % 3 = 0");
        execute(
                installation,
                "BEGIN; CREATE TABLE new"
                        + turn
                        + " (id int PRIMARY KEY); INSERT INTO new"
                        + turn
                        + " VALUES (1); SAVEPOINT a; ALTER TABLE "
                        + table
                        + " ADD COLUMN gone int; ROLLBACK TO a; COMMIT");
        execute(installation, "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'v" + turn + "'");
        execute(
                installation,
                "INSERT INTO moods (m) SELECT enumlabel::mood FROM pg_enum WHERE enumtypid ="
                        + " 'mood'::regtype ORDER BY enumsortorder DESC LIMIT 1");
        execute(installation, "DROP TABLE IF EXISTS new" + Math.max(0, turn - 2));
    }

    /**
     * A shadow that begins behind them accepts no connections before they end, so copies of it are
     * read.
     */
    private void besideSubtransactions(Installation installation) throws Exception {
        try (Connection session = installation.session();
                Statement open = session.createStatement()) {
            open.execute("BEGIN");
            for (int i = 0; i < SUBTRANSACTIONS; i++) {
                open.execute("SAVEPOINT s" + i);
                open.execute("INSERT INTO still VALUES (" + i + ", 'open')");
            }
            installation.execute("CHECKPOINT");
            change(installation, SESSIONS);
            stopShadow(installation);
            for (int i = 0; i < CHANGES_BESIDE_SUBTRANSACTIONS; i++) {
                change(installation, SESSIONS);
                execute(installation, REWRITES.get(random.nextInt(REWRITES.size())));
            }
            open.execute("ROLLBACK TO s3");
            open.execute("COMMIT");
        }
        change(installation, SESSIONS);
    }

    /** As a service manager would: with a restartpoint at the newest checkpoint. */
    private static void stopShadow(Installation installation) throws Exception {
        long restarts = restarts(installation);
        String pid = installation.status().path("shadow").path("pid").asString();
        new ProcessBuilder("kill", "-INT", pid).start().waitFor();
        installation.await("the shadow runs again", () -> restarts(installation) > restarts);
    }

    private static long copiesRead(Installation installation) throws IOException {
        try (Stream<String> lines = Files.lines(installation.log())) {
            return lines.filter(line -> line.contains("a promoted copy is read")).count();
        }
    }

    private static long restarts(Installation installation) {
        return installation.status().path("shadow").path("restarts").asLong(0);
    }

    private void compare(Installation installation, String after) throws Exception {
        assertThat(installation.verify().reason()).as("after %s, seed %d", after, SEED).isEmpty();
        SchemaStormTest.requireSameCatalog(installation, SEED);
        System.out.printf(
                "  equal after %s, %d changes; restarts of the shadow: %d, copies of it read: %d%n",
                after, changes.get(), restarts(installation), copiesRead(installation));
    }

    private static void execute(Installation installation, String sql) {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            statement.execute("SET lock_timeout = '5s'");
            statement.execute(sql);
        } catch (SQLException e) {
            if (!MET.contains(String.valueOf(e.getSQLState()))) {
                throw new IllegalStateException(sql, e);
            }
        }
    }
}
