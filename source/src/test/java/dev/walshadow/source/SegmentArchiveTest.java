package dev.walshadow.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.XLogLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SegmentArchiveTest {
    private static final int SIZE = 1 << 20;
    private static final WalPages PAGES = new WalPages(17, 77, 1, SIZE);

    @TempDir private Path directory = Path.of("");

    private static StreamSnapshot snapshot(long redo) {
        return StreamSnapshot.initial(
                PAGES, redo, List.of(new CatalogSeed(new RelationLocator(1663, 5, 20000), 1259)));
    }

    private SegmentArchive filled(int segments) throws InterruptedException {
        SegmentArchive archive = new SegmentArchive(directory, PAGES);
        archive.begin(snapshot(5L * SIZE + 40));
        for (int i = 5; i < 5 + segments; i++) {
            byte[] segment = new byte[SIZE];
            segment[0] = (byte) i;
            archive.segmentComplete((long) i * SIZE, segment, SIZE, snapshot((i + 1L) * SIZE));
        }
        return archive;
    }

    @Test
    void resumesAtTheSegmentOfAFloor() throws InterruptedException {
        SegmentArchive archive = filled(3);
        assertThat(archive.segments()).containsExactly(5L * SIZE, 6L * SIZE, 7L * SIZE);
        assertThat(archive.resumeAt(5L * SIZE + 100).firstRecord()).isEqualTo(5L * SIZE + 40);
        assertThat(archive.resumeAt(8L * SIZE + 7).segmentStart()).isEqualTo(8L * SIZE);
    }

    /** A daemon may be killed at any position, and starts again from where it could resume then. */
    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void whereverTheStreamEndsThereIsAPointToResumeFrom(int major) throws InterruptedException {
        RealWal wal = RealWal.of(major);
        SegmentArchive archive = new SegmentArchive(directory, wal.pages);
        archive.begin(wal.initial());
        StreamCapture capture = new StreamCapture(wal.initial());
        WalStream stream = new WalStream(wal.initial(), wal.redo, capture, capture, archive);
        int behindSwitches = 0;
        for (int at = 0; at < wal.bytes.length; at += XLogLayout.PAGE_SIZE) {
            stream.push(wal.start + at, wal.bytes, at, XLogLayout.PAGE_SIZE);
            long floor = stream.resumableTo();
            assertThat(archive.resumeAt(floor).segmentStart())
                    .isEqualTo(wal.pages.segmentStart(floor));
            if (stream.lastRecordEnd() > stream.nextLsn()) {
                behindSwitches++;
            }
        }
        assertThat(behindSwitches).as("ends between a switch and the segment's end").isPositive();
    }

    @Test
    void filesAreReadableByTheShadowsUserAndNothingIsLeftBeside()
            throws IOException, InterruptedException {
        SegmentArchive archive = filled(1);
        assertThat(
                        PosixFilePermissions.toString(
                                Files.getPosixFilePermissions(archive.segmentFile(5L * SIZE))))
                .isEqualTo("rw-r--r--");
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files.map(f -> f.getFileName().toString()))
                    .containsExactlyInAnyOrder(
                            "000000010000000000000005",
                            "000000010000000000000005.state",
                            "000000010000000000000006.state");
        }
    }

    /** On the build's file system and on one in memory: by direct writes or through the cache. */
    @Test
    void aSegmentHasTheBytesThatItWasGiven() throws IOException, InterruptedException {
        Path shared = Files.createTempDirectory(Path.of("/dev/shm"), "archive");
        try {
            for (Path folder : List.of(directory, shared)) {
                SegmentArchive archive = new SegmentArchive(folder, PAGES);
                byte[] segment = new byte[3 * SIZE];
                new SplittableRandom(7).nextBytes(segment);
                for (int length : new int[] {SIZE, SIZE + 4096, SIZE + 1, 2 * SIZE + 8192, 1}) {
                    archive.segmentComplete(5L * SIZE, segment, length, snapshot(6L * SIZE));
                    assertThat(archive.segmentFile(5L * SIZE))
                            .hasBinaryContent(Arrays.copyOf(segment, length));
                }
            }
        } finally {
            try (Stream<Path> files = Files.list(shared)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(shared);
        }
    }

    @Test
    void keepsTheSegmentOfTheRetentionPointAndLater() throws InterruptedException {
        SegmentArchive archive = filled(4);
        assertThat(archive.retain(7L * SIZE + 5)).isEqualTo(2);
        assertThat(archive.segments()).containsExactly(7L * SIZE, 8L * SIZE);
        assertThat(archive.resumeAt(7L * SIZE).segmentStart()).isEqualTo(7L * SIZE);
        assertThatThrownBy(() -> archive.resumeAt(6L * SIZE))
                .isInstanceOf(HaltException.class)
                .hasMessageStartingWith(SourceCodes.RESUME_POINT_MISSING.toString());
    }

    @Test
    void anyDamageOfAStateIsNoticed() throws InterruptedException {
        filled(0);
        byte[] good = snapshot(5L * SIZE + 40).encode();
        assertThat(StreamSnapshot.decode(good, "good").encode()).isEqualTo(good);
        for (int length = 0; length < good.length; length++) {
            byte[] torn = Arrays.copyOf(good, length);
            assertThatThrownBy(() -> StreamSnapshot.decode(torn, "torn"))
                    .isInstanceOf(HaltException.class);
        }
        for (int at = 0; at < good.length; at++) {
            byte[] damaged = good.clone();
            damaged[at] ^= 4;
            assertThatThrownBy(() -> StreamSnapshot.decode(damaged, "damaged"))
                    .isInstanceOf(HaltException.class)
                    .hasMessageStartingWith(SourceCodes.RESUME_POINT_CORRUPT.toString());
        }
    }

    @Test
    void refusesTheStateOfAnotherCluster() throws InterruptedException {
        filled(1);
        SegmentArchive foreign = new SegmentArchive(directory, new WalPages(17, 78, 1, SIZE));
        assertThatThrownBy(() -> foreign.resumeAt(5L * SIZE))
                .isInstanceOf(HaltException.class)
                .hasMessageStartingWith(SourceCodes.RESUME_POINT_FOREIGN.toString())
                .hasMessageContaining("another cluster");
    }
}
