package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.daemon.verify.VerifyProgress;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.source.store.Compression;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.MixedLoad;
import dev.walshadow.testkit.cluster.Standby;
import dev.walshadow.testkit.store.WalgBucket;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
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
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        bucket = UnprivilegedUser.createDirectory(folder.resolve("bucket"));
        UnprivilegedUser.createDirectory(bucket.resolve("wal_005"));
    }

    private EmbeddedPostgres.Builder archiving(EmbeddedPostgres.Builder source) {
        String target = bucket.resolve("wal_005") + "/%f.gz";
        return source.setting("archive_mode", "on")
                .setting(
                        "archive_command",
                        "gzip -c %p > " + target + ".tmp && mv " + target + ".tmp " + target);
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
            assertThat(ask(at.source(), "SELECT count(*) FROM pg_replication_slots"))
                    .isEqualTo("0");
            assertThat(at.state().resolve("seed")).doesNotExist();
            failOver();
            at.stopDaemon();
        }
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
        on(
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
        on(server, "SELECT pg_switch_wal()");
        assertThat(at.command("wait").output()).doesNotContain("not");
        Verification.Outcome outcome =
                Verification.of(
                                ConfigurationLoader.load(
                                        at.configurationFile(),
                                        Map.of(),
                                        Map.of(
                                                "--source-mode",
                                                "stream",
                                                "--source-url",
                                                server.url("postgres"))),
                                Installation.PATIENCE)
                        .run(null, VerifyProgress.NONE);
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
                                        on(server, "SELECT pg_switch_wal()");
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

    private static void on(EmbeddedPostgres server, String... statements) throws SQLException {
        try (Connection session = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static String ask(EmbeddedPostgres server, String query) throws SQLException {
        try (Connection session = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getString(1);
        }
    }
}
