package dev.walshadow.source.spool;

import static dev.walshadow.source.spool.RawWal.PAGES;
import static dev.walshadow.source.spool.RawWal.SEGMENT;
import static dev.walshadow.source.spool.RawWal.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.source.SourceCodes;
import dev.walshadow.source.WalChunk;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Spools that are cut, torn, full, foreign and failing. */
@Timeout(120)
final class WalSpoolTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final long PLENTY = 64L * SEGMENT;

    @TempDir private Path directory = Path.of("");

    private final RawWal wal = new RawWal(12, SEED);
    private final WalChunk chunk = new WalChunk();

    /** What the operating system does, until the test wants otherwise. */
    private static final class Disk extends SpoolDisk {
        private boolean full;
        private boolean crowded;
        private boolean failsToSync;
        private int syncs;

        @Override
        RandomAccessFile open(Path file) throws IOException {
            return full ? new FullFile() : super.open(file);
        }

        @Override
        void sync(RandomAccessFile file) throws IOException {
            syncs++;
            if (failsToSync) {
                throw new IOException("Input/output error");
            }
            super.sync(file);
        }

        @Override
        long roomBytes(Path where) throws IOException {
            return crowded ? 0 : super.roomBytes(where);
        }
    }

    /** Answers every write with the kernel's own ENOSPC. */
    private static final class FullFile extends RandomAccessFile {
        FullFile() throws IOException {
            super("/dev/full", "rw");
        }

        @Override
        public void setLength(long length) {}
    }

    private final Disk disk = new Disk();

    private WalSpool open(long resume, long limit) {
        return WalSpool.open(new WalSpool.Options(directory, PAGES, limit), resume, disk);
    }

    private boolean append(WalSpool spool, long from, long to) {
        wal.chunk(chunk, from, (int) (to - from));
        return spool.append(chunk);
    }

    private static long segment(double number) {
        return START + (long) (number * SEGMENT);
    }

    private static void sync(WalSpool spool) {
        while (!spool.syncIfDue()) {
            Thread.onSpinWait();
        }
    }

    private void requireHolds(WalSpool spool, long from, long to) {
        byte[] buffer = new byte[100_001];
        long at = from;
        while (at < to) {
            int count = spool.read(at, buffer);
            int begin = (int) (at - START);
            assertThat(count).isPositive();
            assertThat(Arrays.equals(buffer, 0, count, wal.bytes(), begin, begin + count))
                    .as("seed %d: bytes from %s on", SEED, Lsn.format(at))
                    .isTrue();
            at += count;
        }
        assertThat(at).isEqualTo(to);
        assertThat(spool.read(to, buffer)).isZero();
    }

    private Set<String> files() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            Set<String> names = new TreeSet<>();
            files.forEach(file -> names.add(file.getFileName().toString()));
            return names;
        }
    }

    private static String name(double number) {
        return Lsn.segmentFileName(1, segment(number), SEGMENT);
    }

    private Path file(double number) {
        return directory.resolve(name(number));
    }

    @Test
    void givesBackEveryByteInWhateverPiecesItCame() {
        Random random = new Random(SEED);
        try (WalSpool spool = open(START, PLENTY)) {
            long at = START;
            while (at < segment(3)) {
                long toEdge = 8192 - (at & 8191);
                int length =
                        switch (random.nextInt(5)) {
                            case 0 -> 1;
                            case 1 -> (int) toEdge;
                            case 2 -> (int) toEdge + 1;
                            case 3 -> (int) Math.max(1, toEdge - 1);
                            default -> 1 + random.nextInt(200_000);
                        };
                long to = Math.min(segment(3), at + length);
                assertThat(append(spool, at, to)).isTrue();
                at = to;
            }
            requireHolds(spool, START, segment(3));
        }
    }

    @Test
    void nothingIsMadeDurableWhileTheFloorFollows() {
        try (WalSpool spool = open(START, PLENTY)) {
            for (int i = 0; i < 10; i++) {
                append(spool, segment(i), segment(i + 1));
                spool.retain(segment(i + 0.5));
                assertThat(spool.syncIfDue()).isFalse();
            }
            assertThat(disk.syncs).isZero();
            assertThat(spool.durable()).isZero();
            assertThat(spool.status().bytes()).isEqualTo(SEGMENT);
        }
    }

    @Test
    void aRestartFindsWhatIsDurableAndCutsOffTheRestWhateverBecameOfIt() throws IOException {
        for (double behind : new double[] {0, 1.0 / SEGMENT, 0.3, 1, 2.5}) {
            for (String tail : List.of("whole", "none", "short", "zeros", "torn")) {
                clear();
                try (WalSpool spool = open(START, PLENTY)) {
                    append(spool, START, segment(2.4));
                    sync(spool);
                    assertThat(spool.durable()).isEqualTo(segment(2.4));
                    append(spool, segment(2.4), segment(2.4 + behind));
                }
                damageTail(tail);
                try (WalSpool spool = open(START, PLENTY)) {
                    assertThat(spool.end()).as(tail).isEqualTo(segment(2.4));
                    assertThat(spool.durable()).isEqualTo(segment(2.4));
                    requireHolds(spool, START, segment(2.4));
                    assertThat(append(spool, segment(2.4), segment(4.1))).isTrue();
                    requireHolds(spool, START, segment(4.1));
                }
            }
        }
    }

    /** What a crash of the machine makes of bytes that were never synchronised. */
    private void damageTail(String how) throws IOException {
        for (int i = 2; i < 6; i++) {
            if (!Files.exists(file(i))) {
                continue;
            }
            long from = i == 2 ? segment(2.4) - segment(2) : 0;
            try (RandomAccessFile raw = new RandomAccessFile(file(i).toFile(), "rw")) {
                switch (how) {
                    case "none" -> raw.setLength(from);
                    case "short" -> raw.setLength(from + (raw.length() - from) / 2);
                    case "zeros" -> {
                        long length = raw.length();
                        raw.setLength(from);
                        raw.setLength(length);
                    }
                    case "torn" -> {
                        raw.seek(from);
                        raw.write(new byte[(int) Math.min(4096, raw.length() - from)]);
                    }
                    default -> {}
                }
            }
            if (how.equals("none") && i > 2) {
                Files.delete(file(i));
            }
        }
    }

    private void clear() throws IOException {
        for (String name : files()) {
            Files.delete(directory.resolve(name));
        }
    }

    @Test
    void aRestartAtALaterFloorBeginsThere() throws IOException {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(4.5));
            sync(spool);
        }
        try (WalSpool spool = open(segment(3), PLENTY)) {
            requireHolds(spool, segment(3), segment(4.5));
            assertThat(files()).containsExactlyInAnyOrder(name(3), name(4), "spool.state");
        }
        try (WalSpool spool = open(segment(6), PLENTY)) {
            assertThat(spool.end()).isEqualTo(segment(6));
            assertThat(spool.durable()).isZero();
            assertThat(files()).containsExactly("spool.state");
        }
    }

    @Test
    void whatIsMissingIsNotPromisedAgain() throws IOException {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(4.5));
            sync(spool);
        }
        try (RandomAccessFile raw = new RandomAccessFile(file(2).toFile(), "rw")) {
            raw.setLength(SEGMENT - 1);
        }
        try (WalSpool spool = open(START, PLENTY)) {
            assertThat(spool.end()).isEqualTo(segment(2));
            append(spool, segment(2), segment(4.9));
        }
        // never synchronised, so it does not count, although files of the right length exist
        try (WalSpool spool = open(START, PLENTY)) {
            assertThat(spool.end()).isEqualTo(segment(2));
            requireHolds(spool, START, segment(2));
        }
    }

    @Test
    void aStateThatIsDamagedAnywhereIsRefused() throws IOException {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(3));
            sync(spool);
        }
        Path state = directory.resolve("spool.state");
        byte[] good = Files.readAllBytes(state);
        Set<String> before = files();
        for (int i = 0; i < good.length; i++) {
            byte[] bad = good.clone();
            bad[i] ^= 1;
            requireRefused(state, bad);
            requireRefused(state, Arrays.copyOf(good, i));
        }
        requireRefused(state, Arrays.copyOf(good, good.length + 1));
        assertThat(files()).isEqualTo(before);
        Files.write(state, good);
        try (WalSpool spool = open(START, PLENTY)) {
            requireHolds(spool, START, segment(3));
        }
    }

    private void requireRefused(Path state, byte[] bytes) throws IOException {
        Files.write(state, bytes);
        assertThatThrownBy(() -> open(START, PLENTY))
                .isInstanceOfSatisfying(
                        ConfigurationException.class,
                        e ->
                                assertThat(e.code())
                                        .isIn(SourceCodes.SPOOL_DAMAGED, SourceCodes.SPOOL_FOREIGN))
                .hasMessageContaining("Nothing was changed");
    }

    @Test
    void anotherClustersSpoolIsRefused() throws IOException {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(3));
            sync(spool);
        }
        Set<String> before = files();
        for (WalPages other :
                List.of(
                        new WalPages(18, 4712, 1, SEGMENT),
                        new WalPages(17, 4711, 1, SEGMENT),
                        new WalPages(18, 4711, 2, SEGMENT),
                        new WalPages(18, 4711, 1, 2 * SEGMENT))) {
            assertThatThrownBy(() ->
                            WalSpool.open(
                                    new WalSpool.Options(directory, other, PLENTY),
                                    8L * SEGMENT,
                                    disk))
                    .isInstanceOfSatisfying(
                            ConfigurationException.class,
                            e -> assertThat(e.code()).isEqualTo(SourceCodes.SPOOL_FOREIGN));
        }
        assertThat(files()).isEqualTo(before);
    }

    @Test
    void aFileOfAnotherClusterUnderOneOfOurNamesIsRefused() throws IOException {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(3));
            sync(spool);
        }
        try (RandomAccessFile raw = new RandomAccessFile(file(1).toFile(), "rw")) {
            raw.seek(24);
            raw.write(1);
        }
        assertThatThrownBy(() -> open(START, PLENTY)).isInstanceOf(HaltException.class);
    }

    @Test
    void takesNothingOverAtTheLimitAndGoesOnWhenThereIsRoom() {
        try (WalSpool spool = open(START, 4L * SEGMENT)) {
            assertThat(append(spool, START, segment(3.9))).isTrue();
            assertThat(append(spool, segment(3.9), segment(4.1))).isFalse();
            assertThat(spool.status().state()).isEqualTo("full");
            assertThat(spool.status().bytes()).isLessThanOrEqualTo(4L * SEGMENT);
            assertThat(spool.status().headroomBytes()).isLessThan(SEGMENT);
            spool.retain(segment(1.2));
            while (!append(spool, segment(3.9), segment(4.1))) {
                Thread.onSpinWait();
            }
            assertThat(spool.status().state()).isEqualTo("open");
            requireHolds(spool, segment(1), segment(4.1));
        }
    }

    @Test
    void whereTheStreamHasGoneOnWithoutItANewRunBeginsWithASegment() throws IOException {
        try (WalSpool spool = open(START, 4L * SEGMENT)) {
            append(spool, START, segment(4));
            sync(spool);
            assertThat(spool.durable()).isEqualTo(segment(4));
            assertThat(append(spool, segment(4), segment(4.2))).isFalse();
            spool.retain(segment(3.5));
            // the stream is at 4.2: nothing can follow 4.0 any more
            assertThat(append(spool, segment(4.2), segment(5.2))).isFalse();
            spool.retain(segment(4.1));
            assertThat(files()).containsExactly("spool.state");
            while (!append(spool, segment(5.2), segment(6.3))) {
                Thread.onSpinWait();
            }
            requireHolds(spool, segment(6), segment(6.3));
            append(spool, segment(6.3), segment(9.5));
            // the floor is not there yet: a restart would need what is not here
            assertThat(spool.syncIfDue()).isFalse();
            assertThat(spool.durable()).isZero();
            spool.retain(segment(6.1));
            sync(spool);
            assertThat(spool.durable()).isEqualTo(segment(9.5));
        }
        try (WalSpool spool = open(segment(6), 4L * SEGMENT)) {
            requireHolds(spool, segment(6), segment(9.5));
        }
    }

    @Test
    void aFullDiskIsWaitedOut() {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(1));
            disk.full = true;
            assertThat(append(spool, segment(1), segment(1.1))).isFalse();
            assertThat(spool.status().state()).isEqualTo("full");
            assertThat(spool.status().reason()).contains("No space left");
            disk.full = false;
            while (!append(spool, segment(1), segment(1.1))) {
                Thread.onSpinWait();
            }
            requireHolds(spool, START, segment(1.1));
        }
    }

    @Test
    void leavesTheLastOfTheDiskToOthers() {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(1));
            disk.crowded = true;
            append(spool, segment(1), segment(2));
            assertThat(append(spool, segment(2), segment(3))).isFalse();
            assertThat(spool.status().reason()).contains("no more to spare");
            disk.crowded = false;
            while (!append(spool, spool.end(), segment(3))) {
                Thread.onSpinWait();
            }
            requireHolds(spool, START, segment(3));
        }
    }

    @Test
    void nothingCountsAfterTheDiskHasLostAWrite() {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(3));
            sync(spool);
            append(spool, segment(3), segment(6));
            disk.failsToSync = true;
            int syncs = disk.syncs;
            while (disk.syncs == syncs) {
                assertThat(spool.syncIfDue()).isFalse();
            }
            disk.failsToSync = false;
            append(spool, segment(6), segment(9));
            assertThat(spool.syncIfDue()).isFalse();
            assertThat(spool.durable()).isEqualTo(segment(3));
            assertThat(spool.status().state()).isEqualTo("failed");
        }
        try (WalSpool spool = open(START, PLENTY)) {
            assertThat(spool.end()).isEqualTo(segment(3));
        }
    }

    @Test
    void switchedOffItStillGivesWhatTheSourceMayHaveForgotten() {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(3));
            sync(spool);
        }
        try (WalSpool spool = open(START, 0)) {
            requireHolds(spool, START, segment(3));
            assertThat(spool.durable()).isEqualTo(segment(3));
            assertThat(append(spool, segment(3), segment(4))).isFalse();
            assertThat(spool.status().state()).isEqualTo("draining");
            spool.retain(segment(3.5));
            assertThat(spool.status().state()).isEqualTo("off");
        }
    }

    @Test
    void othersCannotReadTheRows() throws IOException {
        try (WalSpool spool = open(START, PLENTY)) {
            append(spool, START, segment(0.1));
        }
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file(0))))
                .isEqualTo("rw-------");
    }
}
