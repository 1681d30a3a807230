package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * The spool lets the source recycle WAL that is not yet durable in ClickHouse, and nothing is lost:
 * the source here may keep so little that without it the slot would lose its WAL.
 *
 * <p>{@code -Dwalshadow.seed=N} picks the same major again; {@code -Dwalshadow.soak=true} takes all
 * of them, with segments of 1 and 16 MB.
 */
final class SpoolTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};

    private int segmentSize;
    private int written;

    @Test
    void theSourceNeedNotKeepWhatTheSpoolHolds() throws Exception {
        say("seed " + SEED);
        if (SOAK) {
            for (int major : MAJORS) {
                run(major, 1);
                run(major, 16);
            }
        } else {
            run(
                    Integer.getInteger(
                            "walshadow.major",
                            MAJORS[new SplittableRandom(SEED).nextInt(MAJORS.length)]),
                    1);
        }
    }

    private void run(int major, int segmentMegabytes) throws Exception {
        segmentSize = segmentMegabytes << 20;
        try (Installation installation =
                Installation.start(
                        major,
                        source ->
                                source.initdbOption("--wal-segsize=" + segmentMegabytes)
                                        .setting("min_wal_size", 2 * segmentMegabytes + "MB")
                                        .setting("max_wal_size", 4 * segmentMegabytes + "MB")
                                        .setting("fsync", "off")
                                        .setting("wal_keep_size", "0")
                                        // more than what a scan writes for hint bits, at once
                                        .setting(
                                                "max_slot_wal_keep_size",
                                                128 * segmentMegabytes + "MB"))) {
            installation.configure("wal", "spool_max = \"" + 200 * segmentMegabytes + "MB\"");
            installation.configure("memory", "batches = \"4MB\"");
            installation.configure("memory", "transactions = \"8MB\"");
            installation.execute("CREATE TABLE journal (id int PRIMARY KEY, payload text)");
            installation.startDaemon();
            installation.awaitStreaming();
            outage(installation);
            longTransaction(installation);
            limit(installation, segmentMegabytes);
        }
    }

    private void outage(Installation installation) throws Exception {
        installation.target().kill();
        long started = System.nanoTime();
        for (int i = 0; i < 9; i++) {
            write(installation, 5);
            requireSlotFollows(installation);
        }
        // the pipeline's memory is full; now more commits than may wait for it, so the pump waits
        installation.execute(
                """
                DO $$ BEGIN
                  FOR i IN 1..1500 LOOP
                    INSERT INTO journal VALUES (-1000 - i, 'small');
                    COMMIT;
                  END LOOP;
                END $$
                """);
        write(installation, 3);
        requireSlotFollows(installation);
        requireRecycled(installation);
        say(
                "outage: 48 segments and 1500 commits in %.1f s"
                        .formatted((System.nanoTime() - started) / 1e9));
        installation.await(
                "the pump waits for ClickHouse, the spool goes on without it",
                () -> {
                    JsonNode status = installation.status();
                    return lsn(status, "handed_on")
                            < lsn(status.path("spool"), "end") - segmentSize;
                });
        installation.killDaemon();
        installation.target().start();
        installation.startDaemon();
        requireEqual(installation);
        awaitEmptied(installation);
    }

    private void longTransaction(Installation installation) throws Exception {
        try (Connection open = installation.session();
                Statement statement = open.createStatement()) {
            open.setAutoCommit(false);
            statement.execute("INSERT INTO journal VALUES (-1, 'held')");
            for (int i = 0; i < 3; i++) {
                write(installation, 5);
                requireSlotFollows(installation);
            }
            requireRecycled(installation);
            installation.killDaemon();
            installation.startDaemon();
            write(installation, 1);
            open.commit();
        }
        requireEqual(installation);
        awaitEmptied(installation);
    }

    private void limit(Installation installation, int segmentMegabytes) throws Exception {
        installation.killDaemon();
        installation.configure("wal", "spool_max = \"" + 4 * segmentMegabytes + "MB\"");
        installation.startDaemon();
        try (Connection open = installation.session();
                Statement statement = open.createStatement()) {
            open.setAutoCommit(false);
            statement.execute("INSERT INTO journal VALUES (-2, 'held')");
            write(installation, 8);
            installation.await(
                    "the spool is full",
                    () -> spool(installation).path("state").asString("").equals("full"));
            JsonNode full = spool(installation);
            assertThat(full.path("bytes").asLong()).isLessThanOrEqualTo(4L * segmentSize);
            assertThat(full.path("reason").asString("")).contains("spool_max");
            assertThat(installation.command("status").output()).contains("\"state\":\"full\"");
            installation.execute("CHECKPOINT");
            assertThat(restartLsn(installation)).isLessThanOrEqualTo(lsn(full, "end"));
            installation.await(
                    "rows arrive past the limit",
                    () -> installation.status().path("lag_bytes").asLong(-1) == 0);
            installation.killDaemon();
            installation.startDaemon();
            open.commit();
        }
        requireEqual(installation);
        installation.await(
                "a new run begins",
                () -> {
                    requireSlotFollows(installation);
                    write(installation, 1);
                    return spool(installation).path("state").asString("").equals("open");
                });
        requireEqual(installation);
        assertThat(Files.readString(installation.log())).contains("WS-1470");
    }

    /** About so many segments of WAL, each committed, and a checkpoint behind them. */
    private void write(Installation installation, int segments) {
        List<String> statements = new ArrayList<>();
        int rows = segmentSize / 1200;
        for (int i = 0; i < segments; i++) {
            statements.add(
                    "INSERT INTO journal SELECT g, repeat(md5(g::text), 32)"
                            + " FROM generate_series(%d, %d) g"
                                    .formatted(written + 1, written + rows));
            written += rows;
        }
        statements.add("CHECKPOINT");
        try {
            installation.execute(statements);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private void requireSlotFollows(Installation installation) {
        installation.await(
                "the source may forget",
                () ->
                        ask(
                                        installation,
                                        "SELECT pg_current_wal_lsn() - restart_lsn < "
                                                + 6L * segmentSize
                                                + " FROM pg_replication_slots")
                                .equals("t"));
    }

    /** The source has let go of the segment that a restart of the daemon begins with. */
    private void requireRecycled(Installation installation) {
        long floor = lsn(installation.status(), "resume_floor");
        String segment = Lsn.segmentFileName(1, floor, segmentSize);
        installation.await(
                "the source has recycled " + segment,
                () -> {
                    requireSlotFollows(installation);
                    ask(installation, "SELECT 1 FROM pg_switch_wal()");
                    ask(installation, "CHECKPOINT");
                    return !Files.exists(
                            installation
                                    .source()
                                    .dataDirectory()
                                    .resolve("pg_wal")
                                    .resolve(segment));
                });
        assertThat(lsn(installation.status(), "resume_floor")).isEqualTo(floor);
        assertThat(restartLsn(installation)).isGreaterThan(floor + segmentSize);
        assertThat(installation.state().resolve("wal").resolve(segment)).exists();
    }

    private void awaitEmptied(Installation installation) throws Exception {
        Path segments = installation.state().resolve("wal");
        installation.await(
                "the spool lets go of what is durable",
                () -> {
                    requireSlotFollows(installation);
                    write(installation, 1);
                    JsonNode status = installation.status();
                    return spool(installation).path("bytes").asLong(-1) < 4L * segmentSize
                            && !Files.exists(
                                    segments.resolve(
                                            Lsn.segmentFileName(
                                                    1,
                                                    lsn(status, "resume_floor") - segmentSize,
                                                    segmentSize)));
                });
    }

    private static JsonNode spool(Installation installation) {
        return installation.status().path("spool");
    }

    private static long lsn(JsonNode node, String key) {
        return Lsn.parse(node.path(key).asString(""));
    }

    private static long restartLsn(Installation installation) {
        return Lsn.parse(ask(installation, "SELECT restart_lsn FROM pg_replication_slots"));
    }

    private static String ask(Installation installation, String sql) {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            if (!statement.execute(sql)) {
                return "";
            }
            try (ResultSet row = statement.getResultSet()) {
                row.next();
                return row.getString(1);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void requireEqual(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("seed %d, %s", SEED, outcome.results()).isEmpty();
        say("equal: " + outcome.toJson());
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
