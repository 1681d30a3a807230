package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.source.store.Compression;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.MixedLoad;
import dev.walshadow.testkit.store.S3Server;
import dev.walshadow.testkit.store.WalgBucket;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Backups and WAL in a bucket as wal-g leaves them: the first load costs the source no backup, and
 * WAL that the source has recycled comes out of the archive.
 *
 * <p>{@code -Dwalshadow.seed=N} picks the same major and compression again.
 */
final class ObjectStoreTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};
    private static final Compression[] COMPRESSIONS = {
        Compression.LZ4, Compression.ZSTD, Compression.LZMA, Compression.GZIP, Compression.NONE
    };
    private static final String KEY = "test-key";
    private static final long WRITERS_PAUSE_NANOS = 10_000_000;

    @TempDir private Path folder;

    private final SplittableRandom random = new SplittableRandom(SEED);
    private Path bucket = Path.of("");

    @BeforeEach
    void makeBucket() throws IOException {
        say("seed " + SEED);
        bucket = WalgBucket.createIn(folder);
    }

    private static void say(String what) {
        System.out.println("=== object store: " + what);
    }

    /** The source archives its WAL as wal-g would, and keeps as little as it can. */
    private Installation start() {
        return Installation.start(
                MAJORS[random.nextInt(MAJORS.length)],
                source ->
                        WalgBucket.archiving(source, bucket)
                                .initdbOption("--wal-segsize=1")
                                .setting("min_wal_size", "2MB")
                                .setting("max_wal_size", "4MB")
                                .setting("wal_keep_size", "0")
                                .setting("shared_buffers", "2MB")
                                .setting("max_prepared_transactions", "5")
                                .setting("fsync", "off"));
    }

    @Test
    void aFullBackupInADirectoryIsLoadedAndRecycledWalComesFromTheArchive() throws Exception {
        try (Installation installation = start()) {
            installation.configure(
                    """
                    [backup]
                    url = "file://%s"
                    initial_load = "object_store"
                    """
                            .formatted(bucket));
            loadAndFollow(installation, false);
        }
    }

    @Test
    void aDeltaBackupOnAServerThatSpeaksS3IsLoadedToo() throws Exception {
        try (S3Server server = new S3Server(folder, "bucket-of-tests", KEY, 3);
                Installation installation = start()) {
            installation.environment("AWS_ENDPOINT", server.endpoint());
            installation.environment("AWS_ACCESS_KEY_ID", KEY);
            installation.environment("AWS_SECRET_ACCESS_KEY", "secret");
            installation.environment("AWS_S3_FORCE_PATH_STYLE", "true");
            installation.configure(
                    """
                    [backup]
                    url = "s3://bucket-of-tests/bucket"
                    initial_load = "object_store"
                    """);
            loadAndFollow(installation, true);
        }
    }

    private void loadAndFollow(Installation installation, boolean delta) throws Exception {
        createTables(installation);
        WalgBucket backups =
                new WalgBucket(bucket, COMPRESSIONS[random.nextInt(COMPRESSIONS.length)]);
        installation.execute(MixedLoad.SCHEMA);
        String name;
        try (MixedLoad writers =
                new MixedLoad(installation::session, 2, random.nextLong(), WRITERS_PAUSE_NANOS)) {
            name = attach(installation, backups, delta);
            say(writers.committed() + " transactions meanwhile");
        }
        assertEqual(installation);
        String log = Files.readString(installation.log());
        assertThat(log).contains("loading backup " + name, "reading it from");
        say("loaded " + name + " of " + installation.source().version());
        gap(installation, delta);
    }

    /** Returns the backup's name; rows change all the time. */
    private String attach(Installation installation, WalgBucket backups, boolean delta)
            throws Exception {
        String name;
        try (Connection open = installation.session();
                Statement inserting = open.createStatement()) {
            open.setAutoCommit(false);
            inserting.execute("INSERT INTO plain VALUES (900001, 'open at the start', 1)");
            inserting.execute("DELETE FROM plain WHERE id = 77");
            installation.execute(
                    "BEGIN; INSERT INTO plain VALUES (900002, 'prepared', 2);"
                            + " UPDATE wide SET body = body || 'p' WHERE id = 3;"
                            + " PREPARE TRANSACTION 'early'");
            name = backups.push(installation.source());
            if (delta) {
                change(installation, 1);
                name = backups.push(installation.source(), name);
            }
            inserting.execute("INSERT INTO plain VALUES (900003, 'ends later', 3)");
            open.commit();
        }
        installation.execute("COMMIT PREPARED 'early'");
        alterSome(installation);
        change(installation, 2);
        recycle(installation);
        installation.startDaemon();
        installation.awaitStreaming();
        return name;
    }

    /** The source forgets WAL that the daemon has not read. */
    private void gap(Installation installation, boolean delta) throws Exception {
        installation.stopDaemon();
        if (delta) {
            installation.execute(
                    "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()");
        } else {
            installation.execute("SELECT pg_drop_replication_slot('walshadow')");
        }
        change(installation, 3);
        recycle(installation);
        assertThat(slot(installation)).isEqualTo(delta ? "lost" : "none");
        installation.execute(
                "ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()");
        installation.startDaemon();
        installation.awaitStreaming();
        change(installation, 4);
        assertEqual(installation);
        assertThat(slot(installation)).isIn("reserved", "extended");
        say("equal behind the gap");
    }

    private static void createTables(Installation installation) throws SQLException {
        installation.execute(
                "CREATE TABLE plain (id int PRIMARY KEY, name text, amount numeric)",
                "INSERT INTO plain SELECT i, 'row ' || i, i * 1.5 FROM generate_series(1, 20000) i",
                "CREATE TABLE wide (id int PRIMARY KEY, body text)",
                "ALTER TABLE wide ALTER body SET STORAGE EXTERNAL",
                "INSERT INTO wide SELECT i, repeat(md5(i::text), 200) FROM generate_series(1, 300)"
                        + " i",
                "CREATE TABLE still (id int PRIMARY KEY, t timestamptz, b bytea)",
                "INSERT INTO still SELECT i, now(), decode(md5(i::text), 'hex')"
                        + " FROM generate_series(1, 5000) i",
                "CREATE TABLE altered (id int PRIMARY KEY, a int)",
                "INSERT INTO altered SELECT i, i FROM generate_series(1, 3000) i",
                "CREATE TABLE rewritten (id int PRIMARY KEY, a int)",
                "INSERT INTO rewritten SELECT i, i FROM generate_series(1, 3000) i",
                "CREATE TABLE emptied (id int PRIMARY KEY)",
                "INSERT INTO emptied SELECT generate_series(1, 1000)",
                "CREATE TABLE gone (id int PRIMARY KEY)",
                "INSERT INTO gone VALUES (1)",
                "CREATE TABLE parts (id int, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
                "CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1)",
                "INSERT INTO parts SELECT i, 1 FROM generate_series(1, 500) i");
    }

    /** DDL behind the backup: these tables' pages in it are of another shape. */
    private static void alterSome(Installation installation) throws SQLException {
        installation.execute(
                "ALTER TABLE altered ADD COLUMN late text DEFAULT 'd'",
                "UPDATE altered SET a = -a WHERE id % 5 = 0",
                "ALTER TABLE rewritten ALTER a TYPE bigint",
                "TRUNCATE emptied",
                "INSERT INTO emptied VALUES (5)",
                "DROP TABLE gone",
                "CREATE TABLE parts2 PARTITION OF parts FOR VALUES IN (2)",
                "INSERT INTO parts SELECT i, 2 FROM generate_series(1, 50) i",
                "CREATE TABLE born (id int PRIMARY KEY, v text)",
                "INSERT INTO born VALUES (1, 'after the backup')");
    }

    private static void change(Installation installation, int round) throws SQLException {
        int base = 100_000 * round;
        installation.execute(
                "INSERT INTO plain SELECT %d + i, 'new', i FROM generate_series(1, 800) i"
                        .formatted(base),
                "UPDATE plain SET amount = amount + 1 WHERE id %% 7 = %d".formatted(round),
                "DELETE FROM plain WHERE id %% 101 = %d".formatted(round),
                "UPDATE wide SET body = repeat(md5(body), 150) WHERE id %% 20 = %d"
                        .formatted(round),
                "DELETE FROM wide WHERE id = %d".formatted(10 + round),
                "VACUUM plain, wide");
    }

    /** Until the source has no WAL any more of what lies before now. */
    private void recycle(Installation installation) throws SQLException {
        String oldest = ask(installation, "SELECT pg_walfile_name(pg_current_wal_insert_lsn())");
        for (int i = 0; i < 8; i++) {
            installation.execute(
                    "CREATE TABLE IF NOT EXISTS filler (id int PRIMARY KEY, t text)",
                    "INSERT INTO filler SELECT 10000 * (SELECT count(*) FROM filler) + i,"
                            + " repeat('x', 200) FROM generate_series(1, 900) i",
                    "SELECT pg_switch_wal()",
                    "CHECKPOINT");
        }
        installation.await(
                "the source has recycled " + oldest,
                () -> {
                    try {
                        installation.execute("SELECT pg_switch_wal()", "CHECKPOINT");
                        return ask(
                                        installation,
                                        "SELECT count(*) FROM pg_ls_waldir() WHERE"
                                                + " name ~ '^[0-9A-F]{24}$' AND name <= '"
                                                + oldest
                                                + "'")
                                .equals("0");
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                });
    }

    private static String slot(Installation installation) throws SQLException {
        return ask(
                installation,
                "SELECT coalesce((SELECT wal_status FROM pg_replication_slots"
                        + " WHERE slot_name = 'walshadow'), 'none')");
    }

    private static String ask(Installation installation, String sql) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    private static void assertEqual(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("seed %d, %s", SEED, outcome.results()).isEmpty();
    }

    @Test
    void aStoreWithoutABackupIsSaidBeforeAnythingBegins() throws Exception {
        try (Installation installation = start()) {
            installation.configure("[backup]\ninitial_load = \"object_store\"\n");
            installation.launchDaemon();
            assertThat(installation.awaitDaemonEnd()).isEqualTo(2);
            assertThat(Files.readString(installation.log())).contains("set [backup] url, too");
            installation.configure(text ->
                    text.replace("[backup]\n", "[backup]\nurl = \"file://" + bucket + "\"\n"));
            installation.launchDaemon();
            assertThat(installation.awaitDaemonEnd()).isEqualTo(2);
            assertThat(Files.readString(installation.log())).contains("WS-1483", "no finished");
            assertThat(slot(installation)).isEqualTo("none");
        }
    }
}
