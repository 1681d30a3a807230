package dev.walshadow.bootstrap.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapPage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.roaringbitmap.RoaringBitmap;

/** A load that is left on its way is gone on with: what was kept is not walked again. */
@Timeout(180)
final class InterruptedLoadTest {
    private static final long B = 0x1000;
    private static final long IDENTIFIER = 4711;
    private static final BackupSnapshot QUIET =
            new BackupSnapshot(B, 1_000_000, 1_000_000, false, new int[0]);

    @TempDir Path folder;

    private List<RelationDescriptor> tables = List.of();
    private List<RelationDescriptor> toast = List.of();
    private final Map<RelationDescriptor, byte[]> files = new LinkedHashMap<>();
    private final Map<Integer, String> expected = new TreeMap<>();

    private void fill(EmbeddedPostgres server) throws Exception {
        try (Connection session = LiveBackup.open(server);
                Statement statement = session.createStatement()) {
            statement.execute("CREATE TABLE t (id int, v text)");
            statement.execute("ALTER TABLE t ALTER v SET STORAGE EXTERNAL");
            statement.execute(
                    "INSERT INTO t SELECT i, repeat(md5(i::text), CASE WHEN i % 50 = 0 THEN 500"
                            + " ELSE 20 END) FROM generate_series(1, 4000) i");
            statement.execute("VACUUM FREEZE t");
            statement.execute("CHECKPOINT");
            tables = LiveBackup.relations(session, 'r');
            toast = LiveBackup.relations(session, 't');
            try (ResultSet rows = statement.executeQuery("SELECT id, v FROM t")) {
                while (rows.next()) {
                    expected.put(rows.getInt(1), CollectedRows.brief(rows.getString(2)));
                }
            }
        }
        tables = tables.stream().filter(each -> each.name().name().equals("t")).toList();
        int owner = tables.getFirst().oid();
        toast = toast.stream().filter(each -> each.ownerRelationOid() == owner).toList();
        for (RelationDescriptor each : List.of(toast.getFirst(), tables.getFirst())) {
            RelationLocator locator = Objects.requireNonNull(each.locator());
            Path file =
                    server.dataDirectory()
                            .resolve("base/" + locator.databaseOid())
                            .resolve(Integer.toString(locator.relationNumber()));
            files.put(each, Files.readAllBytes(file));
        }
    }

    private BaselineLoader loader(EmbeddedPostgres server, CollectedRows target, long startLsn) {
        WalGate gate = new WalGate();
        gate.readTo(Long.MAX_VALUE);
        BaselineLoader loader =
                new BaselineLoader(
                        new BaselineLoader.Options(
                                folder.resolve("load"),
                                IDENTIFIER,
                                5,
                                startLsn,
                                0,
                                2,
                                1 << 20,
                                false),
                        tables,
                        toast,
                        target,
                        () -> LiveBackup.open(server),
                        new BaselineLoader.WalSinceStart(
                                new TouchedBlocks(17, LiveBackup.NOTHING_KNOWN),
                                gate,
                                LiveBackup.NOTHING_KNOWN,
                                _ -> Long.MAX_VALUE));
        loader.start(QUIET);
        return loader;
    }

    /** All files, the last {@code less} bytes of each left out. */
    private void feed(BaselineLoader loader, int less) throws InterruptedException {
        for (Map.Entry<RelationDescriptor, byte[]> file : files.entrySet()) {
            RelationLocator locator = Objects.requireNonNull(file.getKey().locator());
            loader.begin(locator, 0, file.getValue().length);
            loader.data(file.getValue(), 0, file.getValue().length - less);
            loader.end();
        }
    }

    private long pages() {
        return files.values().stream().mapToLong(each -> each.length / HeapPage.SIZE).sum();
    }

    @Test
    void whatWasKeptIsNotWalkedAgain() throws Exception {
        Files.createDirectories(folder.resolve("load"));
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(folder.resolve("server")).version(17).start()) {
            fill(server);
            CollectedRows target = new CollectedRows();
            BaselineLoader first = loader(server, target, B);
            feed(first, 40 * HeapPage.SIZE);
            long walked = pages() - 80;
            while (first.pages() < walked || kept() < walked) {
                LockSupport.parkNanos(1_000_000);
            }
            first.leave();

            try (BaselineLoader second = loader(server, target, B)) {
                assertThat(second.blocksKept()).isEqualTo(walked);
                feed(second, 0);
                assertThat(second.finish(Long.MAX_VALUE).damaged()).isEmpty();
                assertThat(second.rows()).isEqualTo(expected.size());
            }
            assertThat(target.rows()).isEqualTo(expected);
            assertThat(target.complete).containsExactly(tables.getFirst().oid());
            assertThat(folder.resolve("load")).isEmptyDirectory();
        }
    }

    @Test
    void theValuesOfALoadThatIsDoneStayForALaterProcess() throws Exception {
        Path load = Files.createDirectories(folder.resolve("load"));
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(folder.resolve("server")).version(17).start()) {
            fill(server);
            BaselineLoader loader = loader(server, new CollectedRows(), B);
            feed(loader, 0);
            loader.finish(Long.MAX_VALUE);
            loader.keepValues();
            loader.leave();
            Files.createFile(load.resolve("images"));

            KeptValues values = KeptValues.open(load, IDENTIFIER, B);
            int relation = toast.getFirst().oid();
            assertThat(load.resolve("images")).doesNotExist();
            for (int id : valueIds(server)) {
                ByteBuilder out = new ByteBuilder(64);
                assertThat(values.values().append(relation, id, out)).isTrue();
                assertThat(out.length()).isEqualTo(32 * 500);
            }
            values.close();
            assertThat(load).isEmptyDirectory();
        }
    }

    private List<Integer> valueIds(EmbeddedPostgres server) throws Exception {
        List<Integer> ids = new ArrayList<>();
        try (Connection session = LiveBackup.open(server);
                Statement statement = session.createStatement();
                ResultSet rows =
                        statement.executeQuery(
                                "SELECT DISTINCT chunk_id FROM pg_toast.pg_toast_"
                                        + toast.getFirst().ownerRelationOid())) {
            while (rows.next()) {
                ids.add(rows.getInt(1));
            }
        }
        assertThat(ids).hasSize(80);
        return ids;
    }

    private long kept() {
        return LoadCheckpoint.read(folder.resolve("load"), IDENTIFIER, B).blocks();
    }

    @Test
    void whatDoesNotFitOrIsDamagedIsNotTakenUp() throws Exception {
        RoaringBitmap blocks = RoaringBitmap.bitmapOfRange(3, 100);
        LoadCheckpoint checkpoint =
                new LoadCheckpoint(
                        B,
                        10,
                        0,
                        List.of(7, 8),
                        List.of(new LoadCheckpoint.Toast(16390, 5, 0)),
                        Map.of(
                                new RelationLocator(1663, 5, 16384),
                                new LoadCheckpoint.Done(blocks, 500, "torn", 0x2000, 9)));
        checkpoint.write(folder, IDENTIFIER);
        assertThat(LoadCheckpoint.read(folder, IDENTIFIER, B).blocks()).isZero();
        Files.write(folder.resolve("externals"), new byte[10]);
        Files.write(folder.resolve(ToastStore.name(16390)), new byte[6]);
        assertThat(LoadCheckpoint.read(folder, IDENTIFIER, B)).isEqualTo(checkpoint);
        assertThat(LoadCheckpoint.read(folder, IDENTIFIER, B + 8).blocks()).isZero();
        assertThat(LoadCheckpoint.read(folder, IDENTIFIER + 1, B).blocks()).isZero();

        Path file = folder.resolve("checkpoint");
        byte[] sound = Files.readAllBytes(file);
        for (int at = 0; at < sound.length; at++) {
            byte[] changed = sound.clone();
            changed[at] = (byte) (changed[at] ^ 0x10);
            Files.write(file, changed);
            assertThat(LoadCheckpoint.read(folder, IDENTIFIER, B).blocks()).isZero();
            Files.write(file, Arrays.copyOf(sound, at));
            assertThat(LoadCheckpoint.read(folder, IDENTIFIER, B).blocks()).isZero();
        }
    }
}
