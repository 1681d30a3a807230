package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import dev.walshadow.shadow.CatalogComparison;
import dev.walshadow.shadow.DatabaseInfo;
import dev.walshadow.testkit.shadow.ShadowFiles;
import dev.walshadow.testkit.shadow.ShadowRig;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What WAL and connections can be like at their worst, for the stream and the shadow: small and
 * large segments, records longer than a segment, segment switches that end on a page boundary,
 * records that a crash cut off, raised settings, a connection that is cut anywhere, a shadow that
 * stands still. The shadow's catalogs equal the source's after each.
 *
 * <p>{@code -Dwalshadow.seed=N} repeats a run; {@code -Dwalshadow.soak=true} takes all majors and
 * segment sizes and pauses the shadow for a minute.
 */
@Timeout(1200)
final class ShadowHardshipTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};
    private static final int PAUSE_SECONDS = SOAK ? 60 : 3;

    private final SplittableRandom random = new SplittableRandom(SEED);
    private int segmentSize;
    private int tables;
    private final AtomicInteger boundarySwitches = new AtomicInteger();
    private volatile long longestRecord;

    record Setting(int major, int segmentMegabytes) {}

    static Stream<Setting> settings() {
        if (!SOAK) {
            int major =
                    Integer.getInteger(
                            "walshadow.major", MAJORS[new SplittableRandom(SEED).nextInt(4)]);
            return Stream.of(new Setting(major, 1), new Setting(15 + (major - 14) % 4, 64));
        }
        List<Setting> all = new ArrayList<>();
        for (int major : MAJORS) {
            for (int size : new int[] {1, 16, 64}) {
                all.add(new Setting(major, size));
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("settings")
    void catalogsStayEqual(Setting setting) throws Exception {
        System.out.println("ShadowHardshipTest: " + setting + ", seed " + SEED);
        segmentSize = setting.segmentMegabytes() << 20;
        Path root = UnprivilegedUser.temporaryDirectory("walshadow-hardship");
        try (EmbeddedPostgres source = startSource(root, setting);
                ShadowRig rig = new ShadowRig(source, root.resolve("rig"))) {
            rig.onRecord((record, decision, boundary) -> see(record));
            rig.bootstrap();
            longRecords(rig);
            switches(rig);
            pause(rig);
        } finally {
            ShadowFiles.remove(root);
        }
    }

    private static EmbeddedPostgres startSource(Path root, Setting setting) {
        return EmbeddedPostgres.at(root.resolve("source"))
                .version(setting.major())
                .initdbOption("--wal-segsize=" + setting.segmentMegabytes())
                .setting("fsync", "off")
                .setting("autovacuum", "off")
                .setting("wal_recycle", "off")
                .setting("max_connections", "20")
                .setting("min_wal_size", 2 * setting.segmentMegabytes() + "MB")
                .setting("max_wal_size", 200 + 2 * setting.segmentMegabytes() + "MB")
                .start();
    }

    private void see(WalRecord record) {
        boolean isSwitch =
                record.resourceManager() == ResourceManager.XLOG
                        && (record.info() & XLogLayout.XLR_RMGR_INFO_MASK)
                                == XLogLayout.XLOG_SWITCH;
        if (!isSwitch) {
            // a long one comes in a short form, so its length is what it takes in the WAL
            longestRecord = Math.max(longestRecord, record.nextLsn() - record.lsn());
        } else if (XLogLayout.offsetInPage(record.lsn() + XLogLayout.RECORD_HEADER_LENGTH) == 0) {
            boundarySwitches.incrementAndGet();
        }
    }

    // ---- hardships

    private void longRecords(ShadowRig rig) throws Exception {
        longestRecord = 0;
        for (int i = 0; i < 3; i++) {
            emit(rig, segmentSize + random.nextInt(2 << 20));
            change(rig);
        }
        execute(
                rig,
                "CREATE TABLE wide (id int PRIMARY KEY, v text)",
                "ALTER TABLE wide REPLICA IDENTITY FULL",
                "ALTER TABLE wide ALTER v SET STORAGE EXTERNAL",
                "INSERT INTO wide VALUES (1, repeat('x', 3000000))",
                "UPDATE wide SET v = 'short'");
        requireEqual(rig, "records longer than a segment");
        assertThat(longestRecord).isGreaterThan(segmentSize);
    }

    /** A switch right behind a record that leaves a switch's length of the page. */
    private void switches(ShadowRig rig) throws Exception {
        boundarySwitches.set(0);
        for (int tries = 0; tries < 200 && boundarySwitches.get() < 2; tries++) {
            fillPage(rig);
            change(rig);
            rig.awaitStreamed();
        }
        requireEqual(rig, "switches");
        assertThat(boundarySwitches.get()).isEqualTo(2);
    }

    private static void fillPage(ShadowRig rig) throws SQLException {
        try (Connection session = rig.connect("postgres");
                Statement statement = session.createStatement()) {
            // one short record, to be behind the page's header
            statement.execute("SELECT pg_logical_emit_message(false, 'a', '')");
            statement.execute(
                    """
                    DO $$
                    DECLARE
                      here bigint;
                      room bigint;
                    BEGIN
                      here := pg_current_wal_insert_lsn() - '0/0'::pg_lsn;
                      room := 8192 - here % 8192 - 24;
                      IF room < 400 THEN
                        PERFORM pg_logical_emit_message(false, 'a', repeat('x', 500));
                        here := pg_current_wal_insert_lsn() - '0/0'::pg_lsn;
                        room := 8192 - here % 8192 - 24;
                      END IF;
                      -- record header, long data header, xl_logical_message, prefix
                      PERFORM pg_logical_emit_message(false, 'a', repeat('x', (room - 24 - 5 - 24 - 2)::int));
                      PERFORM pg_switch_wal();
                    END $$
                    """);
        }
    }

    /** The shadow falls many segments behind and gets them from the archive. */
    private void pause(ShadowRig rig) throws Exception {
        List<ProcessHandle> processes = processes(rig);
        signal("STOP", processes);
        try {
            long until = System.nanoTime() + PAUSE_SECONDS * 1_000_000_000L;
            int segments = 0;
            while (System.nanoTime() - until < 0 || segments < 4) {
                change(rig);
                emit(rig, 300_000);
                execute(rig, "SELECT pg_switch_wal()", "CHECKPOINT");
                segments++;
                rig.awaitStreamed();
            }
        } finally {
            signal("CONT", processes);
        }
        requireEqual(rig, "a pause");
    }

    private static List<ProcessHandle> processes(ShadowRig rig) {
        ProcessHandle postmaster = ProcessHandle.of(rig.cluster().health().pid()).orElseThrow();
        return Stream.concat(Stream.of(postmaster), postmaster.descendants()).toList();
    }

    private static void signal(String signal, List<ProcessHandle> processes) throws Exception {
        List<String> command = new ArrayList<>(List.of("kill", "-" + signal));
        processes.forEach(process -> command.add(Long.toString(process.pid())));
        // one that has ended meanwhile is no fault
        new ProcessBuilder(command).start().waitFor();
    }

    // ---- what changes, and what is compared

    private void change(ShadowRig rig) throws SQLException {
        String name = "t" + tables++;
        execute(
                rig,
                "CREATE TABLE " + name + " (id int PRIMARY KEY, v text DEFAULT 'x')",
                "ALTER TABLE " + name + " ADD COLUMN n numeric DEFAULT 1.5",
                "COMMENT ON TABLE " + name + " IS 'table " + name + "'");
        if (tables % 3 == 0) {
            execute(rig, "DROP TABLE t" + (tables - 2));
        }
    }

    private static void emit(ShadowRig rig, int bytes) throws SQLException {
        execute(rig, "SELECT pg_logical_emit_message(false, 'big', repeat('x', " + bytes + "))");
    }

    private static void requireEqual(ShadowRig rig, String after) throws Exception {
        long started = System.nanoTime();
        rig.awaitStreamed();
        for (DatabaseInfo database : rig.databases()) {
            try (Connection source = rig.connect(database.name())) {
                String differences =
                        rig.read(
                                        database.name(),
                                        shadow -> CatalogComparison.differences(source, shadow, 5))
                                .toString();
                assertThat(differences)
                        .as("differences in %s after %s (seed %d)", database.name(), after, SEED)
                        .isEqualTo("[]");
            }
        }
        System.out.printf(
                "  equal after %s, read in %.1f s%n", after, (System.nanoTime() - started) / 1e9);
    }

    private static void execute(ShadowRig rig, String... statements) throws SQLException {
        try (Connection session = rig.connect("postgres");
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
