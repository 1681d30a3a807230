package dev.walshadow.bootstrap.walg;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.BackupOutcome;
import dev.walshadow.bootstrap.backup.BaseBackupRun;
import dev.walshadow.bootstrap.walg.HandmadeBucket.Backup;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.source.store.FileObjectStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WalgBackupSourceTest {
    private static final int PAGE = HandmadeBucket.PAGE;
    private static final String CATALOG = "/base/5/1259";
    private static final String TABLE = "/base/5/16390";
    private static final String SPACE = "/pg_tblspc/16400/PG_16_202307071/5/16391.1";
    private static final String FIRST = "base_000000010000000000000001";
    private static final String SECOND = "base_000000010000000000000003_D_000000010000000000000001";
    private static final String THIRD = "base_000000010000000000000005_D_000000010000000000000003";

    @TempDir private Path folder;

    private final SplittableRandom random = new SplittableRandom(19);
    private int runs;

    /** What came of each segment of each relation, as a file. */
    private static final class Heaps implements HeapFileSink {
        private final Map<String, byte[]> files = new HashMap<>();
        private String current = "";
        private int position;

        @Override
        public boolean wants(RelationLocator locator) {
            return true;
        }

        @Override
        public void begin(RelationLocator locator, int segmentNumber, long fileSize) {
            current =
                    locator.tablespaceOid() + "/" + locator.relationNumber() + "." + segmentNumber;
            position = 0;
            files.computeIfAbsent(current, _ -> new byte[(int) fileSize]);
        }

        @Override
        public void skipTo(int block) {
            position = block * PAGE;
        }

        @Override
        public void data(byte[] bytes, int offset, int length) {
            byte[] file = files.get(current);
            assertThat(file).isNotNull();
            System.arraycopy(bytes, offset, file, position, length);
            position += length;
        }

        @Override
        public void end() {}
    }

    private static final BackupListener SILENT =
            new BackupListener() {
                @Override
                public void started(long startLsn, int timeline) {}

                @Override
                public void progress(BackupProgress progress) {
                    assertThat(progress.bytesDone()).isLessThanOrEqualTo(progress.bytesTotal());
                }
            };

    private HandmadeBucket bucket() {
        return new HandmadeBucket(folder.resolve("bucket"));
    }

    private Path shadow() {
        return folder.resolve("shadow" + runs);
    }

    private BackupOutcome load(String name, Heaps heaps) throws InterruptedException {
        runs++;
        FileObjectStore store = new FileObjectStore(folder.resolve("bucket"));
        return new WalgBackupSource(WalgBackup.find(store, name))
                .run(
                        new BaseBackupRun.Options(shadow(), 4711, new HashSet<>(), "x", 0),
                        heaps,
                        SILENT);
    }

    private byte[] pages(int count) {
        byte[] bytes = new byte[count * PAGE];
        random.nextBytes(bytes);
        return bytes;
    }

    private byte[] changed(byte[] file, int pages, int... blocks) {
        byte[] now = Arrays.copyOf(file, pages * PAGE);
        for (int block : blocks) {
            System.arraycopy(pages(1), 0, now, block * PAGE, PAGE);
        }
        return now;
    }

    @Test
    void aFullBackupIsLaidAndItsHeapsAreHandedOn() throws Exception {
        byte[] catalog = pages(3);
        byte[] table = pages(200);
        byte[] space = pages(2);
        bucket().push(
                        new Backup(FIRST, 0x1000028)
                                .whole(CATALOG, catalog)
                                .whole(TABLE, table)
                                .whole(TABLE + "_vm", pages(1))
                                .whole("/server.key", pages(1))
                                .whole("/" + "a".repeat(150) + ".log", pages(1))
                                .whole(SPACE, space));
        Heaps heaps = new Heaps();
        BackupOutcome outcome = load(WalgBackup.LATEST, heaps);
        assertThat(outcome.startLsn()).isEqualTo(0x1000028);
        assertThat(outcome.endLsn()).isEqualTo(0x1000028 + 1000);
        assertThat(outcome.filesTapped()).isEqualTo(2);
        assertThat(shadow().resolve("base/5/1259")).hasBinaryContent(catalog);
        assertThat(shadow().resolve("global/pg_control")).exists();
        for (String directory : List.of("pg_wal/archive_status", "pg_commit_ts", "pg_twophase")) {
            assertThat(shadow().resolve(directory)).isDirectory();
        }
        assertThat(shadow().resolve("server.key")).doesNotExist();
        assertThat(heaps.files).containsOnlyKeys("1663/16390.0", "16400/16391.1");
        assertThat(heaps.files.get("1663/16390.0")).isEqualTo(table);
        assertThat(heaps.files.get("16400/16391.1")).isEqualTo(space);
    }

    @Test
    void everyPageOfADeltaIsTheNewestAndWhatWasCutOffStaysAway() throws Exception {
        byte[] catalog = pages(4);
        byte[] table = pages(10);
        byte[] space = pages(3);
        Backup first =
                new Backup(FIRST, 0x1000028)
                        .whole(CATALOG, catalog)
                        .whole(TABLE, table)
                        .whole(SPACE, space)
                        .whole("/base/5/16399", pages(1));
        byte[] catalog2 = changed(catalog, 6, 1, 4, 5);
        byte[] table2 = changed(table, 12, 0, 3, 10, 11);
        Backup second =
                new Backup(SECOND, 0x3000028)
                        .on(first)
                        .increment(CATALOG, catalog2, 1, 4, 5)
                        .increment(TABLE, table2, 0, 3, 10, 11)
                        .skipped(SPACE);
        byte[] catalog3 = changed(catalog2, 5, 0, 4);
        byte[] table3 = changed(table2, 7, 3, 6);
        Backup third =
                new Backup(THIRD, 0x5000028)
                        .on(second)
                        .increment(CATALOG, catalog3, 4, 0)
                        .increment(TABLE, table3, 6, 3)
                        .skipped(SPACE);
        for (Backup each : List.of(first, second, third)) {
            bucket().push(each);
        }
        Heaps heaps = new Heaps();
        BackupOutcome outcome = load(THIRD, heaps);
        assertThat(outcome.startLsn()).isEqualTo(0x5000028);
        assertThat(shadow().resolve("base/5/1259")).hasBinaryContent(catalog3);
        assertThat(heaps.files.get("1663/16390.0")).isEqualTo(table3);
        assertThat(heaps.files.get("16400/16391.1")).isEqualTo(space);
        assertThat(heaps.files).doesNotContainKey("1663/16399.0");
        heaps = new Heaps();
        load(SECOND, heaps);
        assertThat(heaps.files.get("1663/16390.0")).isEqualTo(table2);
    }

    @Test
    void theLatestIsTheOneThatWasFinishedLast() throws Exception {
        for (String name : List.of(THIRD, FIRST)) {
            bucket().push(new Backup(name, 0x1000028));
        }
        Path older = bucket().backups().resolve(THIRD + WalgBackup.SENTINEL);
        Files.setLastModifiedTime(older, FileTime.fromMillis(1_000));
        FileObjectStore store = new FileObjectStore(folder.resolve("bucket"));
        assertThat(WalgBackup.find(store, WalgBackup.LATEST).name()).isEqualTo(FIRST);
        assertThatThrownBy(() -> WalgBackup.find(store, "base_x"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(FIRST)
                .hasMessageContaining("[backup] name");
    }

    @Test
    void whatIsMissingIsNamed() throws Exception {
        Backup first = new Backup(FIRST, 0x1000028).whole(TABLE, pages(1));
        Backup second = new Backup(SECOND, 0x3000028).on(first).skipped(TABLE).skipped(SPACE);
        bucket().push(first);
        bucket().push(second);
        refused(SECOND, "none of its archives has pg_tblspc/16400");
        Path archives = bucket().backups().resolve(FIRST).resolve("tar_partitions");
        Files.delete(archives.resolve("part_002.tar.gz"));
        refused(FIRST, "has lost its archive part_002.tar.gz");
        Files.delete(archives.resolve("pg_control.tar.gz"));
        refused(FIRST, "no pg_control.tar");
        Files.writeString(archives.resolve("part_001.tar.lzo"), "x");
        refused(FIRST, "part_001.tar.lzo");
        Files.delete(bucket().backups().resolve(FIRST + WalgBackup.SENTINEL));
        refused(SECOND, FIRST + WalgBackup.SENTINEL + " is not there");
    }

    private void refused(String name, String message) {
        assertThatThrownBy(() -> load(name, new Heaps()))
                .isInstanceOf(HaltException.class)
                .hasMessageContaining(message);
    }

    @Test
    void anArchiveThatWasCutOffBetweenTwoFilesIsNotTakenForWhole() throws Exception {
        bucket().push(new Backup(FIRST, 0x1000028).whole(TABLE, new byte[PAGE]));
        Path archives = bucket().backups().resolve(FIRST).resolve("tar_partitions");
        byte[] plain;
        try (var in =
                new GZIPInputStream(Files.newInputStream(archives.resolve("part_002.tar.gz")))) {
            plain = in.readAllBytes();
        }
        Files.delete(archives.resolve("part_002.tar.gz"));
        Path metadata = bucket().backups().resolve(FIRST).resolve("files_metadata.json");
        Files.writeString(
                metadata, Files.readString(metadata).replace("part_002.tar.gz", "part_002.tar"));
        int firstFile = 512 + 1024;
        Files.write(archives.resolve("part_002.tar"), Arrays.copyOf(plain, firstFile));
        refused(FIRST, "it was cut off");
    }

    /** Sentinels, lists of files and archives with any bytes: refused, or read without harm. */
    @Test
    void anyBytesAreReadOrRefused() throws Exception {
        byte[] table = pages(4);
        Backup first = new Backup(FIRST, 0x1000028).whole(TABLE, table).whole(CATALOG, pages(2));
        Backup second = new Backup(SECOND, 0x3000028).on(first).increment(TABLE, table, 1, 2);
        bucket().push(first);
        bucket().push(second);
        List<Path> objects;
        try (Stream<Path> found = Files.walk(bucket().backups())) {
            objects = found.filter(Files::isRegularFile).sorted().toList();
        }
        List<String> surprises = new ArrayList<>();
        for (int round = 0; round < 150; round++) {
            Path object = objects.get(random.nextInt(objects.size()));
            byte[] whole = Files.readAllBytes(object);
            Files.write(object, damaged(whole));
            try {
                load(SECOND, new Heaps());
            } catch (WalshadowException e) {
                assertThat(e.getMessage()).isNotBlank();
            } catch (RuntimeException e) {
                surprises.add(object + ": " + e);
            }
            Files.write(object, whole);
        }
        assertThat(surprises).isEmpty();
    }

    private byte[] damaged(byte[] whole) throws IOException {
        byte[] bytes = whole.clone();
        switch (random.nextInt(3)) {
            case 0 -> bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            case 1 -> bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length));
            default -> {
                int from = random.nextInt(bytes.length);
                for (int i = from; i < Math.min(bytes.length, from + 8); i++) {
                    bytes[i] = (byte) random.nextInt();
                }
            }
        }
        return bytes;
    }
}
