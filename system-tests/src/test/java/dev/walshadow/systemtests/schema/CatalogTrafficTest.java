package dev.walshadow.systemtests.schema;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Much that happens to catalogs beside the rows: temporary tables, statistics, autovacuum and the
 * tables of a database that is not followed, which park nothing, and ALTERs, which lose nothing;
 * and what many tables cost in memory. Prints times, CPU seconds and the machine's load; {@code
 * -Dwalshadow.soak=true} runs all in full size, {@code -Dwalshadow.alters=N} so many ALTERs.
 */
@Timeout(3600)
final class CatalogTrafficTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final int SECONDS = SOAK ? 60 : 3;
    private static final int TEMPORARY_PER_SECOND = 300;
    private static final int OTHER_PER_SECOND = 5;
    private static final int ROWS_PER_SECOND = 5_000;
    private static final int SESSIONS = 4;
    private static final int ROWS_AT_ONCE = 50;
    private static final int ALTERS = Integer.getInteger("walshadow.alters", SOAK ? 1_000 : 60);
    private static final int ALTERED_TABLES = Math.min(100, Math.max(1, ALTERS / 6));
    private static final int MANY_TABLES = SOAK ? 20_000 : 300;
    private static final long MOST_BYTES_PER_TABLE = (200L << 20) / 20_000;

    @Test
    void trafficThatConcernsNoTableParksNothingAndAltersLoseNothing() throws Exception {
        try (Installation installation =
                Installation.start(
                        17,
                        source ->
                                source.setting("autovacuum_naptime", "1s")
                                        .setting("autovacuum_vacuum_threshold", "0")
                                        .setting("autovacuum_analyze_threshold", "0"))) {
            installation.execute("CREATE TABLE rows (id bigserial PRIMARY KEY, v text)");
            installation.execute("CREATE DATABASE other");
            for (int i = 0; i < ALTERED_TABLES; i++) {
                installation.execute("CREATE TABLE a" + i + " (id bigserial PRIMARY KEY, v text)");
            }
            installation.execute(
                    "CREATE TABLE left_out (id int, v text)",
                    "INSERT INTO left_out SELECT i, 'v' || i FROM generate_series(1, 100) i",
                    "CREATE INDEX old ON left_out (v)",
                    "CREATE TABLE aside (id int PRIMARY KEY, v text NOT NULL)",
                    "CREATE UNIQUE INDEX aside_v ON aside (v)");
            installation.configure("tables", "exclude = [\"public.left_out\", \"public.aside\"]");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.awaitDurable();
            concerningNoTable(installation);
            changingWhatIsLeftOut(installation);
            alters(installation);
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    /**
     * Temporary tables, statistics, autovacuum, tables of a database that is not followed, and
     * indexes of a table that is left out.
     */
    private static void concerningNoTable(Installation installation) throws Exception {
        long holds = holds(installation);
        Duration cpu = cpu();
        long started = System.nanoTime();
        long worst = 0;
        try (ExecutorService sessions = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < SESSIONS; i++) {
                running.add(
                        sessions.submit(
                                paced(
                                        installation,
                                        "postgres",
                                        TEMPORARY_PER_SECOND * SECONDS / SESSIONS,
                                        "BEGIN; CREATE TEMP TABLE t (id int PRIMARY KEY, v text);"
                                                + " CREATE INDEX ON t (v); INSERT INTO t VALUES (1,"
                                                + " 'a'); TRUNCATE t; DROP TABLE t; COMMIT")));
            }
            running.add(
                    sessions.submit(
                            paced(
                                    installation,
                                    "postgres",
                                    ROWS_PER_SECOND * SECONDS / ROWS_AT_ONCE,
                                    "INSERT INTO rows (v) SELECT 'v' FROM generate_series(1, "
                                            + ROWS_AT_ONCE
                                            + ")")));
            running.add(
                    sessions.submit(
                            paced(installation, "postgres", 2 * SECONDS, "VACUUM ANALYZE rows")));
            running.add(
                    sessions.submit(
                            paced(
                                    installation,
                                    "other",
                                    OTHER_PER_SECOND * SECONDS,
                                    "CREATE TABLE o (id int); INSERT INTO o VALUES (1); ALTER TABLE"
                                            + " o ADD COLUMN a int DEFAULT 2; CREATE INDEX ON o"
                                            + " (a); TRUNCATE o; DROP TABLE o")));
            running.add(
                    sessions.submit(
                            paced(
                                    installation,
                                    "postgres",
                                    SECONDS,
                                    "CREATE INDEX newTURN ON left_out (v)",
                                    "CREATE INDEX CONCURRENTLY slowTURN ON left_out (v)",
                                    "REINDEX TABLE left_out",
                                    "REINDEX INDEX old",
                                    "VACUUM ANALYZE left_out",
                                    "CREATE INDEX ofRowsTURN ON rows (v)",
                                    "CREATE UNIQUE INDEX oneTURN ON aside (id, v)",
                                    "CREATE UNIQUE INDEX CONCURRENTLY otherTURN ON aside (v, id)",
                                    "REINDEX TABLE CONCURRENTLY aside",
                                    "ALTER TABLE aside DROP CONSTRAINT aside_pkey",
                                    "ALTER TABLE aside ADD PRIMARY KEY (id)",
                                    "DROP INDEX oneTURN",
                                    "DROP INDEX CONCURRENTLY otherTURN")));
            for (Future<?> each : running) {
                while (!each.isDone()) {
                    worst = Math.max(worst, lagMillis(installation));
                    LockSupport.parkNanos(50_000_000);
                }
                each.get();
            }
        }
        double seconds = (System.nanoTime() - started) / 1e9;
        installation.awaitDurable();
        say(
                ("%d temporary tables beside %d rows in %.1f s; worst commit to durable %d ms;"
                                + " daemon %.1f CPU s; load average %s")
                        .formatted(
                                TEMPORARY_PER_SECOND * SECONDS,
                                ROWS_PER_SECOND * SECONDS,
                                seconds,
                                worst,
                                cpu().minus(cpu).toMillis() / 1e3,
                                loadAverage()));
        assertThat(holds(installation)).as("holds").isEqualTo(holds);
    }

    /**
     * What the log has of a table that may be added some day is true, or owed: its name and storage
     * are known at any time.
     */
    private static void changingWhatIsLeftOut(Installation installation) throws Exception {
        for (String sql :
                List.of(
                        "VACUUM FULL left_out",
                        "CREATE UNIQUE INDEX one ON left_out (id)",
                        "REINDEX INDEX CONCURRENTLY one",
                        "BEGIN; REINDEX TABLE left_out; TRUNCATE left_out; COMMIT",
                        "BEGIN; CREATE INDEX ON left_out (id); ALTER TABLE left_out ADD x int;"
                                + " COMMIT",
                        "CLUSTER left_out USING old",
                        "BEGIN; REINDEX INDEX old; ALTER TABLE left_out REPLICA IDENTITY FULL;"
                                + " COMMIT",
                        "ALTER TABLE left_out RENAME TO left_behind",
                        "ALTER TABLE left_behind RENAME TO left_out")) {
            installation.execute(sql);
            installation.awaitDurable();
            SchemaStormTest.requireSameCatalog(installation, 0);
        }
    }

    /**
     * The statements so often (TURN is the number of the time), evenly over the time; as fast as it
     * goes once that has passed.
     */
    private static Callable<Boolean> paced(
            Installation installation, String database, int times, String... statements) {
        return () -> {
            long interval = SECONDS * 1_000_000_000L / times;
            long next = System.nanoTime();
            try (Connection session = installation.session(database);
                    Statement statement = session.createStatement()) {
                for (int i = 0; i < times; i++) {
                    long left = next - System.nanoTime();
                    if (left > 0) {
                        LockSupport.parkNanos(left);
                    }
                    next += interval;
                    for (String sql : statements) {
                        statement.execute(sql.replace("TURN", Integer.toString(i)));
                    }
                }
            }
            return true;
        };
    }

    private static void alters(Installation installation) throws Exception {
        long holds = holds(installation);
        Duration cpu = cpu();
        Duration targetCpu = targetCpu(installation);
        long started = System.nanoTime();
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int i = 0; i < ALTERS; i++) {
                String table = "a" + i % ALTERED_TABLES;
                int turn = i / ALTERED_TABLES;
                statement.execute(
                        "INSERT INTO " + table + " (v) SELECT 'v' FROM generate_series(1, 20)");
                statement.execute("ALTER TABLE " + table + " " + alter(turn));
                statement.execute("UPDATE " + table + " SET v = 'u' WHERE id % 7 = 0");
            }
        }
        long done = System.nanoTime();
        installation.awaitDurable();
        say(
                ("%d ALTERs over %d tables in %.1f s, durable %.1f s later; %d holds; daemon %.1f"
                                + " CPU s, ClickHouse %.1f; load average %s")
                        .formatted(
                                ALTERS,
                                ALTERED_TABLES,
                                (done - started) / 1e9,
                                (System.nanoTime() - done) / 1e9,
                                holds(installation) - holds,
                                cpu().minus(cpu).toMillis() / 1e3,
                                targetCpu(installation).minus(targetCpu).toMillis() / 1e3,
                                loadAverage()));
    }

    private static String alter(int turn) {
        return switch (turn % 3) {
            case 0 -> "ADD COLUMN c" + turn + " int DEFAULT " + turn;
            case 1 -> "RENAME COLUMN c" + (turn - 1) + " TO d" + turn;
            default -> "DROP COLUMN d" + (turn - 1);
        };
    }

    @Test
    void manyTablesFitIntoMemory() throws Exception {
        try (Installation installation =
                Installation.start(16, source -> source.setting("fsync", "off"))) {
            ManyTablesTest.create(installation, MANY_TABLES);
            try (Connection session = installation.session()) {
                long started = System.nanoTime();
                List<RelationDescriptor> found = new CatalogReader().readAll(session);
                long read = System.nanoTime();
                Path folder = installation.folder("many");
                Runtime runtime = Runtime.getRuntime();
                try (DescriptorLog log = DescriptorLog.open(folder, 1)) {
                    log.append(1, found, List.of());
                    int relations = found.size();
                    found = List.of();
                    System.gc();
                    long with = runtime.totalMemory() - runtime.freeMemory();
                    assertThat(log.active(1)).hasSize(relations);
                    long without = memoryWithout(log);
                    say(
                            ("%d tables (%d relations): catalogs read in %.1f s, descriptors %.1f"
                                            + " MB; load average %s")
                                    .formatted(
                                            MANY_TABLES,
                                            relations,
                                            (read - started) / 1e9,
                                            (with - without) / 1048576.0,
                                            loadAverage()));
                    assertThat((with - without) / MANY_TABLES).isLessThan(MOST_BYTES_PER_TABLE);
                }
            }
        }
    }

    private static long memoryWithout(DescriptorLog log) {
        List<DescriptorLog.Dropped> all =
                log.active(1).stream()
                        .map(each -> new DescriptorLog.Dropped(each.databaseOid(), each.oid()))
                        .toList();
        log.append(2, List.of(), all);
        log.compact(3);
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private static long holds(Installation installation) {
        return installation.progress().path("shadow").path("holds").asLong(0);
    }

    private static long lagMillis(Installation installation) {
        return installation.progress().path("commit_to_durable_millis").asLong(0);
    }

    /** Of the daemon, which is a child of this process. */
    private static Duration cpu() {
        return ProcessHandle.current()
                .children()
                .filter(CatalogTrafficTest::isDaemon)
                .map(child -> child.info().totalCpuDuration().orElse(Duration.ZERO))
                .reduce(Duration.ZERO, Duration::plus);
    }

    private static Duration targetCpu(Installation installation) {
        return ProcessHandle.of(installation.target().pid())
                .flatMap(process -> process.info().totalCpuDuration())
                .orElse(Duration.ZERO);
    }

    /** What ProcessHandle knows of a command line ends before the class. */
    private static boolean isDaemon(ProcessHandle child) {
        try {
            return Files.readString(Path.of("/proc/" + child.pid() + "/cmdline"))
                    .contains("dev.walshadow.cli.Main\0run\0");
        } catch (IOException _) {
            return false; // it has ended
        }
    }

    private static String loadAverage() throws IOException {
        return Files.readString(Path.of("/proc/loadavg")).split(" ", 2)[0];
    }

    private static void say(String line) {
        System.out.println(line);
    }
}
