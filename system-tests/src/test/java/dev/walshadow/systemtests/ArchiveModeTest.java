package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.source.store.Compression;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.MixedLoad;
import dev.walshadow.testkit.Sql;
import dev.walshadow.testkit.cluster.Standby;
import dev.walshadow.testkit.store.WalgBucket;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A bucket of wal-g is followed without any connection to its source. */
@Timeout(900)
final class ArchiveModeTest {
    private static final long PAUSE_NANOS = 20_000_000;
    private static final long SWITCH_NANOS = 200_000_000;

    static Stream<Integer> majors() {
        return Boolean.getBoolean("walshadow.soak")
                ? Stream.of(15, 16, 17, 18)
                : Stream.of(Integer.getInteger("walshadow.major", 17));
    }

    @TempDir private Path folder;
    private Path bucket = Path.of("");

    @SuppressWarnings("NullAway.Init") // every test starts with it
    private Installation at;

    @BeforeEach
    void makeBucket() throws IOException {
        bucket = WalgBucket.createIn(folder);
    }

    private EmbeddedPostgres.Builder archiving(EmbeddedPostgres.Builder source) {
        return WalgBucket.archiving(source, bucket);
    }

    @ParameterizedTest
    @MethodSource("majors")
    void backupSegmentsAndTimelinesAreFollowed(int major) throws Exception {
        try (Installation installation =
                Installation.start(
                        major, source -> archiving(source).initdbOption("--wal-segsize=1"))) {
            at = installation;
            createTables();
            try (MixedLoad writers = new MixedLoad(at::session, 2, 4711, PAUSE_NANOS)) {
                new WalgBucket(bucket, Compression.ZSTD).push(at.source());
                assertThat(writers.committed()).isPositive();
            }
            change(at.source(), 1);
            useArchive();
            try (Switcher _ = new Switcher(at.source())) {
                at.launchDaemon();
                at.await("the load has begun", () -> at.logged("base backup begins at"));
                at.killDaemon();
                at.startDaemon();
                at.awaitStreaming();
                assertEqual(at.source());
                change(at.source(), 2);
                at.killDaemon();
                change(at.source(), 3);
                at.startDaemon();
                assertEqual(at.source());
            }
            assertThat(Sql.ask(at.source(), "SELECT count(*) FROM pg_replication_slots"))
                    .isEqualTo("0");
            assertThat(at.state().resolve("seed")).doesNotExist();
            failOver();
            at.stopDaemon();
        }
    }

    @ParameterizedTest
    @MethodSource("majors")
    void whatWasAlteredWhileTheBackupWasMadeIsReadAsOfItsEnd(int major) throws Exception {
        try (Installation installation =
                Installation.start(
                        major,
                        source ->
                                archiving(source)
                                        .initdbOption("--wal-segsize=1")
                                        .setting("max_prepared_transactions", "5"))) {
            at = installation;
            createTables();
            at.execute(TO_BE_ALTERED);
            new WalgBucket(bucket, Compression.LZ4).push(at.source(), "", this::alter);
            Map<String, String> values = sequences();
            at.execute("ALTER TABLE held ADD COLUMN behind int DEFAULT 1");
            change(at.source(), 1);
            useArchive();
            try (Switcher _ = new Switcher(at.source())) {
                at.launchDaemon();
                at.await("a table is read", () -> at.logged("from the backup's end"));
                at.killDaemon();
                at.startDaemon();
                at.awaitStreaming();
                assertEqual(at.source());
                assertThat(shownSequences()).isEqualTo(values);
                at.execute(
                        "COMMIT PREPARED 'p'",
                        "ROLLBACK PREPARED 'r'",
                        "SELECT nextval('used') FROM generate_series(1, 100)",
                        "ALTER TABLE wider ADD COLUMN more int DEFAULT 3",
                        "REFRESH MATERIALIZED VIEW view_of");
                change(at.source(), 2);
                assertEqual(at.source());
                assertThat(shownSequences()).isEqualTo(sequences());
            }
            assertThat(at.logged("WS-1955")).isFalse();
            assertThat(at.state().resolve("seed")).doesNotExist();
            at.stopDaemon();
        }
    }

    private void alter() {
        try {
            at.execute(ALTERING);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static final String[] TO_BE_ALTERED = {
        "CREATE TABLE wider (id int PRIMARY KEY, a int, b text)",
        "INSERT INTO wider SELECT i, i, 'b' || i FROM generate_series(1, 3000) i",
        "CREATE INDEX ON wider (b)",
        "CREATE TABLE retyped (id int PRIMARY KEY, a int, big text)",
        "ALTER TABLE retyped ALTER big SET STORAGE EXTERNAL",
        "INSERT INTO retyped SELECT i, i, repeat(md5(i::text), 200) FROM generate_series(1, 200) i",
        "CREATE TABLE emptied (id int PRIMARY KEY)",
        "INSERT INTO emptied SELECT generate_series(1, 1000)",
        "CREATE TABLE keyless (body text, n int)",
        "INSERT INTO keyless SELECT 'k' || i % 5, i % 3 FROM generate_series(1, 500) i",
        "CREATE TABLE parts (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
        "CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1)",
        "INSERT INTO parts SELECT i, 1, 'one' FROM generate_series(1, 500) i",
        "CREATE TYPE mood AS ENUM ('sad', 'glad')",
        "CREATE TABLE moody (id int PRIMARY KEY, m mood)",
        "INSERT INTO moody SELECT i, 'sad' FROM generate_series(1, 50) i",
        "CREATE TABLE held (id int PRIMARY KEY, v text)",
        "INSERT INTO held SELECT i, 'v' FROM generate_series(1, 500) i",
        "BEGIN; INSERT INTO held VALUES (-1, 'before'); DELETE FROM held WHERE id % 3 = 0;"
                + " PREPARE TRANSACTION 'o'",
        "CREATE SEQUENCE unused START 7",
        "CREATE SEQUENCE used INCREMENT 3",
        "CREATE SEQUENCE down INCREMENT -2",
        "CREATE SEQUENCE altered",
        "CREATE UNLOGGED SEQUENCE kept",
        "SELECT nextval('used') FROM generate_series(1, 50)",
        "SELECT nextval('down') FROM generate_series(1, 5)",
        "SELECT nextval('altered')",
        "SELECT nextval('kept')"
    };

    private static final String[] ALTERING = {
        "COMMIT PREPARED 'o'",
        "UPDATE wider SET a = -a WHERE id % 7 = 0",
        "ALTER TABLE wider ADD COLUMN c text DEFAULT 'c', DROP COLUMN b",
        "INSERT INTO wider SELECT i, i, 'new' FROM generate_series(5000, 5100) i",
        "DELETE FROM wider WHERE id % 11 = 0",
        "BEGIN; DELETE FROM wider WHERE id % 13 = 0; SAVEPOINT s;"
                + " UPDATE wider SET c = 'prepared' WHERE id % 17 = 0; PREPARE TRANSACTION 'p'",
        "UPDATE retyped SET big = big || 'x' WHERE id % 3 = 0",
        "ALTER TABLE retyped ALTER a TYPE bigint USING a * 10",
        "UPDATE retyped SET a = 1 WHERE id % 5 = 0",
        "BEGIN; UPDATE retyped SET a = 2; PREPARE TRANSACTION 'r'",
        "TRUNCATE emptied",
        "INSERT INTO emptied VALUES (5)",
        "ALTER TABLE keyless ALTER n TYPE text",
        "DELETE FROM keyless WHERE body = 'k1'",
        "CREATE TABLE parts2 PARTITION OF parts FOR VALUES IN (2)",
        "INSERT INTO parts SELECT i, 2, 'two' FROM generate_series(1, 50) i",
        "ALTER TABLE parts ADD COLUMN w int DEFAULT 4",
        "UPDATE parts SET k = 2 WHERE id BETWEEN 400 AND 410 AND k = 1",
        "ALTER TYPE mood ADD VALUE 'new'",
        "ALTER TABLE moody RENAME TO minded",
        "UPDATE minded SET m = 'new' WHERE id % 5 = 0",
        "CREATE TABLE born (id int PRIMARY KEY, v text)",
        "INSERT INTO born SELECT i, repeat('v', i) FROM generate_series(1, 300) i",
        "CREATE MATERIALIZED VIEW view_of AS SELECT id, a FROM wider WHERE id < 100",
        "SELECT nextval('used') FROM generate_series(1, 40)",
        "ALTER SEQUENCE altered INCREMENT 5",
        "SELECT nextval('altered') FROM generate_series(1, 3)",
        "ALTER SEQUENCE kept SET LOGGED"
    };

    private Map<String, String> sequences() throws SQLException {
        Map<String, String> values = new TreeMap<>();
        for (String name :
                Sql.ask(
                                at.source(),
                                "SELECT string_agg(oid::regclass::text, ' ') FROM pg_class WHERE"
                                        + " relkind = 'S' AND relpersistence = 'p'")
                        .split(" ", -1)) {
            values.put(
                    name,
                    Sql.ask(
                            at.source(),
                            "SELECT last_value + log_cnt * seqincrement || ' ' || is_called FROM "
                                    + name
                                    + " JOIN pg_sequence ON seqrelid = '"
                                    + name
                                    + "'::regclass"));
        }
        return values;
    }

    private Map<String, String> shownSequences() {
        Map<String, String> shown = new TreeMap<>();
        at.target()
                .query(
                        "SELECT name, last_value, is_called FROM walshadow._sequences FINAL FORMAT"
                                + " TSVRaw")
                .lines()
                .map(line -> line.split("\t", -1))
                .forEach(fields -> shown.put(fields[0], fields[1] + " " + fields[2]));
        return shown;
    }

    /** Two files that begin with the same position: the old timeline's last and the new one's. */
    private void failOver() throws Exception {
        try (EmbeddedPostgres second = Standby.of(at.source(), at.folder("b"), this::archiving)) {
            change(at.source(), 4);
            Standby.awaitCaughtUp(at.source(), second);
            at.source().kill();
            Standby.promote(second);
            change(second, 5);
            try (Switcher _ = new Switcher(second)) {
                assertEqual(second);
                at.stopDaemon();
                change(second, 6);
                at.startDaemon();
                assertEqual(second);
            }
        }
    }

    private void createTables() throws Exception {
        at.execute(MixedLoad.SCHEMA);
        at.execute(
                "CREATE TABLE plain (id int PRIMARY KEY, name text, v int)",
                "CREATE TABLE big (id serial PRIMARY KEY, body text)",
                "ALTER TABLE big ALTER COLUMN body SET STORAGE EXTERNAL",
                "CREATE TABLE note (body text)",
                "INSERT INTO plain SELECT i, 'n' || i, i FROM generate_series(1, 5000) i",
                "INSERT INTO big (body) SELECT repeat(md5(i::text), 300) FROM generate_series(1,"
                        + " 50) i",
                "INSERT INTO note SELECT 'note ' || i % 7 FROM generate_series(1, 100) i",
                "UPDATE plain SET name = name || '.' WHERE id % 3 = 0",
                "BEGIN; DELETE FROM plain WHERE id % 5 = 0; ROLLBACK",
                "VACUUM FULL pg_class",
                "VACUUM FULL pg_depend",
                "VACUUM FULL pg_authid");
    }

    private static void change(EmbeddedPostgres server, int round) throws SQLException {
        Sql.on(
                server,
                "INSERT INTO plain (id, name, v) SELECT i, 'r', %d FROM generate_series(%d, %d) i"
                        .formatted(round, 10_000 * round, 10_000 * round + 500),
                "UPDATE plain SET v = v + 1 WHERE id % 11 = 0",
                "DELETE FROM plain WHERE id % 101 = " + round,
                "UPDATE big SET id = id + 1000 WHERE id % 9 = " + round,
                "DELETE FROM note WHERE body = 'note " + round + "'",
                "ALTER TABLE plain ADD COLUMN c%d text DEFAULT 'd%d'".formatted(round, round),
                "CREATE TABLE late%d AS SELECT * FROM plain WHERE id < 500".formatted(round),
                "ALTER TABLE late%d ADD PRIMARY KEY (id)".formatted(round),
                "UPDATE late%d SET name = 'late' WHERE id %% 2 = 0".formatted(round));
    }

    private void useArchive() {
        at.configure(text ->
                text.replaceFirst(
                        "url = \"postgres:.*", "mode = \"archive\"\ndatabases = [\"postgres\"]"));
        at.configure("\n[backup]\nurl = \"file://" + bucket + "\"\n");
    }

    private void assertEqual(EmbeddedPostgres server) throws Exception {
        Sql.on(server, "SELECT pg_switch_wal()");
        assertThat(at.command("wait").output()).doesNotContain("not");
        Verification.Outcome outcome = at.verify(server);
        assertThat(outcome.reason()).isEmpty();
    }

    /** Has the source archive what it writes, segment by segment, until it is closed. */
    private static final class Switcher implements AutoCloseable {
        private final Thread thread;
        private volatile boolean closed;

        Switcher(EmbeddedPostgres server) {
            thread =
                    Thread.ofPlatform()
                            .start(() -> {
                                while (!closed) {
                                    try {
                                        Sql.on(server, "SELECT pg_switch_wal()");
                                    } catch (SQLException e) {
                                        // it is being stopped
                                    }
                                    LockSupport.parkNanos(SWITCH_NANOS);
                                }
                            });
        }

        @Override
        public void close() {
            closed = true;
            boolean interrupted = false;
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
