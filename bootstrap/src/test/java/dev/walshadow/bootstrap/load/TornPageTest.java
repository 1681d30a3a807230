package dev.walshadow.bootstrap.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.source.WalStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Pages of a real base backup, mixed of halves of two versions as a page is that was written while
 * it was copied: half of a sector boundary comes from before the backup, half from during it.
 */
@Timeout(600)
final class TornPageTest {
    private static final String FLUSHED = "SELECT pg_current_wal_flush_lsn()";

    @TempDir Path folder;

    private static void run(Connection session, String... statements) throws SQLException {
        try (Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static Map<Integer, String> rows(Connection session) throws SQLException {
        Map<Integer, String> found = new TreeMap<>();
        try (Statement statement = session.createStatement();
                ResultSet rows = statement.executeQuery("SELECT id, v FROM t")) {
            while (rows.next()) {
                found.put(rows.getInt(1), CollectedRows.brief(rows.getString(2)));
            }
        }
        return found;
    }

    private static void fill(Connection session) throws SQLException {
        run(
                session,
                "CREATE TABLE t (id int PRIMARY KEY, v text) WITH (fillfactor = 90)",
                "ALTER TABLE t ALTER v SET STORAGE EXTERNAL",
                "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 4000) i",
                "INSERT INTO t SELECT i, repeat(md5(i::text), 200) FROM generate_series(5001,"
                        + " 5060) i",
                "UPDATE t SET v = 'updated ' || id WHERE id % 7 = 0",
                "DELETE FROM t WHERE id % 11 = 0",
                "VACUUM (FREEZE) t",
                "INSERT INTO t SELECT i, 'young ' || i FROM generate_series(6001, 6300) i",
                "CHECKPOINT");
    }

    /** Everything that changes a page or moves its tuples; the files then have it all. */
    private static void change(Connection session) throws SQLException {
        run(
                session,
                "UPDATE t SET v = 'never ' || id WHERE id BETWEEN 100 AND 400",
                "DELETE FROM t WHERE id BETWEEN 700 AND 1100",
                "INSERT INTO t SELECT i, 'new ' || i FROM generate_series(7001, 7500) i",
                "UPDATE t SET v = 'moved', id = id + 10000 WHERE id BETWEEN 1500 AND 1600",
                "UPDATE t SET v = repeat('no', 3000) WHERE id BETWEEN 5001 AND 5020",
                "DELETE FROM t WHERE id BETWEEN 5030 AND 5040",
                "BEGIN; SELECT count(*) FROM (SELECT * FROM t WHERE id BETWEEN 2000 AND 2100 FOR"
                        + " UPDATE) l; COMMIT",
                "VACUUM t",
                "VACUUM (FREEZE) t",
                "INSERT INTO t SELECT i, 'reused ' || i FROM generate_series(8001, 8400) i",
                "CHECKPOINT");
    }

    private static Map<RelationLocator, byte[]> files(EmbeddedPostgres server, Connection session)
            throws SQLException, IOException {
        Map<RelationLocator, byte[]> files = new HashMap<>();
        for (char kind : new char[] {'r', 't'}) {
            for (RelationDescriptor each : LiveBackup.relations(session, kind)) {
                files.put(
                        Objects.requireNonNull(each.locator()),
                        LiveBackup.file(server, session, each));
            }
        }
        return files;
    }

    @ParameterizedTest
    @CsvSource({"15, true, off", "16, false, pglz", "17, true, pglz", "18, false, off"})
    void aTornPageIsReadFromItsImage(int major, boolean checksums, String compression)
            throws Exception {
        try (EmbeddedPostgres server = start(major, checksums, compression);
                Connection session = LiveBackup.open(server)) {
            fill(session);
            Map<Integer, String> atStart = rows(session);
            Map<RelationLocator, byte[]> before = files(server, session);
            Map<RelationLocator, byte[]> after = new HashMap<>();
            long[] changed = new long[1];
            LiveBackup backup = new LiveBackup(server, major, folder, checksums);
            Tearing[] tearing = new Tearing[1];
            backup.load(
                    sink -> tearing[0] = new Tearing(sink, before, after),
                    () -> {
                        change(session);
                        after.putAll(files(server, session));
                        changed[0] = Lsn.parse(LiveBackup.ask(session, FLUSHED));
                    });

            assertThat(backup.endLsn).isGreaterThanOrEqualTo(changed[0]);
            assertThat(tearing[0].torn).isGreaterThan(30);
            assertThat(backup.images).isGreaterThan(30);
            assertThat(backup.outcome.damaged()).isEmpty();
            assertThat(backup.outcome.doubtful()).isEmpty();
            assertThat(backup.target.rows()).isEqualTo(atStart);

            // the same files without the WAL: what the test would not see if tearing did no harm
            LiveBackup blind = new LiveBackup(server, major, folder.resolve("blind"), false);
            blind.loadFiles(tearing[0].files, backup.snapshot());
            assertThat(blind.outcome.damaged().isEmpty() && blind.target.rows().equals(atStart))
                    .isFalse();
        }
    }

    private EmbeddedPostgres start(int major, boolean checksums, String compression) {
        EmbeddedPostgres.Builder builder =
                EmbeddedPostgres.at(folder.resolve("server"))
                        .version(major)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .setting("wal_keep_size", "1GB")
                        .setting("wal_compression", compression);
        String option = checksums ? "--data-checksums" : major >= 18 ? "--no-data-checksums" : "";
        return (option.isEmpty() ? builder : builder.initdbOption(option)).start();
    }

    @ParameterizedTest
    @CsvSource({"15, false", "18, true"})
    void damageOfAPageThatNobodyWroteIsNamedAndNotLoaded(int major, boolean inToast)
            throws Exception {
        try (EmbeddedPostgres server = start(major, true, "off");
                Connection session = LiveBackup.open(server)) {
            fill(session);
            RelationDescriptor table = LiveBackup.relations(session, 'r').getFirst();
            RelationDescriptor damaged =
                    inToast
                            ? LiveBackup.relations(session, 't').stream()
                                    .filter(each -> each.ownerRelationOid() == table.oid())
                                    .findFirst()
                                    .orElseThrow()
                            : table;
            LiveBackup backup = new LiveBackup(server, major, folder, true);
            backup.load(
                    sink -> new Damaging(sink, Objects.requireNonNull(damaged.locator()), 3),
                    () -> run(session, "UPDATE t SET v = 'x' WHERE id = 1"));
            assertThat(backup.outcome.doubtful()).isEmpty();
            assertThat(backup.outcome.damaged()).containsOnlyKeys(table.oid());
            assertThat(backup.outcome.damaged().get(table.oid()))
                    .contains(damaged.label(), "block 3", "checksum");
            assertThat(backup.target.complete).doesNotContain(table.oid());
        }
    }

    @Test
    void aFirstTouchThatExplainsNothingMakesTheTableDoubtfulUnlessTheBackupWasOver()
            throws Exception {
        try (EmbeddedPostgres server =
                        EmbeddedPostgres.at(folder.resolve("server"))
                                .setting("autovacuum", "off")
                                .setting("full_page_writes", "off")
                                .start();
                Connection session = LiveBackup.open(server)) {
            fill(session);
            long start = Lsn.parse(LiveBackup.ask(session, "SELECT pg_current_wal_insert_lsn()"));
            RelationDescriptor shape = LiveBackup.relations(session, 'r').getFirst();
            LoadedRelation relation =
                    new LoadedRelation(0, shape, Objects.requireNonNull(shape.locator()), false);
            TouchedBlocks touched = new TouchedBlocks(18, LiveBackup.NOTHING_KNOWN);
            long[] first = new long[1];
            Path images = Files.createDirectory(folder.resolve("images"));
            try (ImageSpool spool = new ImageSpool(images.resolve("images"), List.of(relation))) {
                touched.add(relation, spool);
                WalStream stream =
                        LiveBackup.stream(
                                server,
                                18,
                                Lsn.parse(
                                        LiveBackup.ask(
                                                session,
                                                "SELECT redo_lsn FROM pg_control_checkpoint()")),
                                record -> {
                                    if (record.lsn() >= start) {
                                        touched.onRecord(record);
                                        first[0] = first[0] == 0 ? record.lsn() : first[0];
                                    }
                                });
                run(session, "DELETE FROM t WHERE id = 1");
                LiveBackup.readOn(server, session, stream);
            }
            assertThat(relation.doubt(Long.MAX_VALUE)).contains("block 0", "has no image");
            assertThat(relation.doubt(first[0])).isNull();
        }
    }

    /** The last page waits for the WAL; meanwhile images come, and the backup's end. */
    @Test
    void theEndIsNotMissedBehindImages() throws Exception {
        try (EmbeddedPostgres server = start(18, false, "off");
                Connection session = LiveBackup.open(server)) {
            fill(session);
            run(
                    session,
                    "INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(10001, 13000) i",
                    "CHECKPOINT");
            long start = Lsn.parse(LiveBackup.ask(session, "SELECT pg_current_wal_insert_lsn()"));
            int next =
                    Integer.parseInt(
                            LiveBackup.ask(
                                    session, "SELECT pg_snapshot_xmax(pg_current_snapshot())"));
            Map<Integer, String> atStart = rows(session);
            RelationDescriptor table = LiveBackup.relations(session, 'r').getFirst();
            byte[] file = LiveBackup.file(server, session, table);
            TouchedBlocks touched = new TouchedBlocks(18, LiveBackup.NOTHING_KNOWN);
            WalGate gate = new WalGate();
            CollectedRows target = new CollectedRows();
            try (BaselineLoader loader =
                    new BaselineLoader(
                            new BaselineLoader.Options(
                                    Files.createDirectory(folder.resolve("load")),
                                    LiveBackup.IDENTIFIER,
                                    5,
                                    start,
                                    0,
                                    1,
                                    1 << 20,
                                    false),
                            List.of(table),
                            List.of(),
                            target,
                            () -> LiveBackup.open(server),
                            new BaselineLoader.WalSinceStart(
                                    touched, gate, LiveBackup.NOTHING_KNOWN, _ -> 1L))) {
                loader.start(new BackupSnapshot(start, next, next, false, new int[0]));
                RelationLocator locator = Objects.requireNonNull(table.locator());
                loader.begin(locator, 0, file.length);
                loader.data(file, 0, file.length);
                loader.end();
                run(session, "UPDATE t SET v = v || '!'");
                WalStream stream =
                        LiveBackup.stream(
                                server,
                                18,
                                start,
                                record -> {
                                    if (record.lsn() >= start) {
                                        touched.onRecord(record);
                                    }
                                });
                LiveBackup.readOn(server, session, stream);
                FutureTask<BaselineLoader.Outcome> finish =
                        new FutureTask<>(() -> loader.finish(Long.MAX_VALUE));
                Thread finishing = Thread.ofPlatform().daemon().start(finish);
                while (finishing.getState() != Thread.State.WAITING) {
                    Thread.onSpinWait(); // until it waits for the walker
                }
                gate.readTo(Long.MAX_VALUE);
                assertThat(finish.get(2, TimeUnit.MINUTES).damaged()).isEmpty();
                assertThat(loader.images()).isGreaterThan(100); // so that some are in the file
            }
            assertThat(target.rows().keySet()).isSubsetOf(atStart.keySet());
        }
    }

    /**
     * Gives files as a backup would that read them while they were written: pages that differ are
     * half of one version, half of the other. (The server itself reads ahead of the test.)
     */
    private static final class Tearing implements HeapFileSink {
        private static final int SECTOR = 512;

        private final HeapFileSink to;
        private final Map<RelationLocator, byte[]> before;
        private final Map<RelationLocator, byte[]> after;
        private final Map<RelationLocator, byte[]> files = new HashMap<>();
        private RelationLocator open = new RelationLocator(0, 0, 0);
        private int torn;

        Tearing(
                HeapFileSink to,
                Map<RelationLocator, byte[]> before,
                Map<RelationLocator, byte[]> after) {
            this.to = to;
            this.before = before;
            this.after = after;
        }

        @Override
        public boolean wants(RelationLocator locator) {
            return to.wants(locator);
        }

        @Override
        public void begin(RelationLocator locator, int segmentNumber, long fileSize)
                throws InterruptedException {
            open = locator;
            to.begin(locator, segmentNumber, fileSize);
        }

        @Override
        public void data(byte[] bytes, int offset, int length) {}

        @Override
        public void end() throws InterruptedException {
            byte[] then = Objects.requireNonNull(before.get(open));
            byte[] now = Objects.requireNonNull(after.get(open)).clone();
            for (int at = 0; at < Math.min(now.length, then.length); at += HeapPage.SIZE) {
                int next = at + HeapPage.SIZE;
                if (!Arrays.equals(now, at, next, then, at, next)) {
                    // the old header or the new one; cut at every sector in turn
                    int cut = at + SECTOR * (1 + torn % 15);
                    int from = torn % 2 == 0 ? at : cut;
                    int end = torn % 2 == 0 ? cut : next;
                    System.arraycopy(then, from, now, from, end - from);
                    torn++;
                }
            }
            files.put(open, now);
            to.data(now, 0, now.length);
            to.end();
        }
    }

    /** Flips a bit of one page. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Damaging(HeapFileSink to, RelationLocator locator, int block, long[] passed)
            implements HeapFileSink {
        Damaging(HeapFileSink to, RelationLocator locator, int block) {
            this(to, locator, block, new long[2]);
        }

        @Override
        public boolean wants(RelationLocator asked) {
            return to.wants(asked);
        }

        @Override
        public void begin(RelationLocator opened, int segmentNumber, long fileSize)
                throws InterruptedException {
            passed[0] = opened.equals(locator) ? 0 : Long.MIN_VALUE;
            to.begin(opened, segmentNumber, fileSize);
        }

        @Override
        public void data(byte[] bytes, int offset, int length) throws InterruptedException {
            long wanted = (long) block * HeapPage.SIZE + 8000 - passed[0];
            byte[] copy = Arrays.copyOfRange(bytes, offset, offset + length);
            if (passed[0] >= 0 && wanted >= 0 && wanted < length) {
                copy[(int) wanted] ^= 4;
            }
            passed[0] += length;
            to.data(copy, 0, length);
        }

        @Override
        public void end() throws InterruptedException {
            to.end();
        }
    }
}
