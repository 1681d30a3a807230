package dev.walshadow.source.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import dev.walshadow.source.WalChunk;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SegmentReaderTest {
    private static final int SEGMENT = 1 << 20;
    private static final long START = 5L * SEGMENT;

    @TempDir private Path root;

    private final byte[] wal = new byte[3 * SEGMENT];

    @BeforeEach
    void archive() throws IOException {
        new SplittableRandom(3).nextBytes(wal);
        Files.createDirectories(root.resolve("wal_005"));
        List<Compression> hows = List.of(Compression.LZ4, Compression.ZSTD, Compression.NONE);
        for (int i = 0; i < 3; i++) {
            put(i, hows.get(i), Arrays.copyOfRange(wal, i * SEGMENT, (i + 1) * SEGMENT));
        }
    }

    private void put(int segment, Compression how, byte[] bytes) throws IOException {
        String name = "0000000100000000%08X".formatted(5 + segment);
        Files.write(
                root.resolve("wal_005").resolve(name + how.suffix()),
                CompressedBytes.of(how, bytes));
    }

    private SegmentReader reader() {
        return new SegmentReader(new WalgArchive(new FileObjectStore(root), SEGMENT), SEGMENT);
    }

    @Test
    void segmentsFollowEachOtherWhateverTheirCompressionUntilTheArchiveEnds() {
        WalChunk chunk = new WalChunk();
        long from = START + 12_345;
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        try (SegmentReader reader = reader()) {
            long at = from;
            while (reader.next(1, at, 0, chunk)) {
                assertThat(chunk.startLsn()).isEqualTo(at);
                read.write(chunk.buffer(), chunk.offset(), chunk.length());
                at = chunk.endLsn();
            }
            assertThat(at).isEqualTo(START + wal.length);
            assertThat(reader.next(1, START - 1, 0, chunk)).isFalse();
            assertThat(reader.next(2, START, 0, chunk)).isFalse();
        }
        assertThat(read.toByteArray()).isEqualTo(Arrays.copyOfRange(wal, 12_345, wal.length));
    }

    @Test
    void aSegmentOfAnotherLengthIsRefusedByName() throws Exception {
        for (int length : new int[] {0, SEGMENT - 1, SEGMENT + 1}) {
            put(2, Compression.NONE, new byte[length]);
            assertThatThrownBy(
                            () -> {
                                try (SegmentReader reader = reader()) {
                                    WalChunk chunk = new WalChunk();
                                    long at = START + 2L * SEGMENT;
                                    while (reader.next(1, at, 0, chunk)) {
                                        at = chunk.endLsn();
                                    }
                                }
                            })
                    .as("%d bytes", length)
                    .isInstanceOf(HaltException.class)
                    .hasMessageContaining("000000010000000000000007");
        }
    }

    @Test
    void aHistoryTellsWhereAncestorsEnd() throws Exception {
        Files.writeString(
                root.resolve("wal_005").resolve("00000003.history"),
                "1\t0/5000098\tno recovery target specified\n\n# a comment\n2\t0/7000000\tx y\n",
                StandardCharsets.UTF_8);
        WalgArchive archive = new WalgArchive(new FileObjectStore(root), SEGMENT);
        TimelineHistory history = archive.history(3).orElseThrow();
        assertThat(history.endOf(1)).isEqualTo(OptionalLong.of(0x5000098L));
        assertThat(history.endOf(2)).isEqualTo(OptionalLong.of(0x7000000L));
        assertThat(history.endOf(4)).isEmpty();
        assertThat(archive.history(2)).isEmpty();
        assertThat(history.timelineOf(0x5000097L)).isEqualTo(1);
        assertThat(history.timelineOf(0x5000098L)).isEqualTo(2);
        assertThat(history.timelineOf(0x7000000L)).isEqualTo(3);
        for (String bad : List.of("1", "x\t0/1", "1\tnowhere", "2\t0/1\n1\t0/2", "3\t0/1")) {
            Files.writeString(root.resolve("wal_005").resolve("00000003.history"), bad);
            assertThatThrownBy(() -> archive.history(3))
                    .as(bad)
                    .isInstanceOf(HaltException.class)
                    .hasMessageContaining("00000003.history");
        }
    }

    @Test
    void theNewestDescendantIsTheOneThatHasEverythingThatWasReceived() throws Exception {
        history(2, "1\t0/5000098\tx\n");
        history(3, "1\t0/4000000\tback in time\n");
        history(4, "1\t0/5000098\tx\n2\t0/6000000\ty\n");
        history(6, "1\t0/5000098\tbehind a gap\n");
        try (SegmentReader reader = reader()) {
            TimelineHistory newest = Objects.requireNonNull(reader.newest(1, 0x5000098L));
            assertThat(newest.timeline()).isEqualTo(4);
            assertThat(reader.newest(1, 0x5000099L)).isNull();
            assertThat(reader.newest(3, START)).isNull();
            assertThat(reader.nameOf(newest, 0x4FFFFFFL)).isEqualTo(1);
            assertThat(reader.nameOf(newest, 0x5000000L)).isEqualTo(2);
            assertThat(reader.nameOf(newest, 0x6000000L)).isEqualTo(4);
        }
    }

    private void history(int timeline, String text) throws IOException {
        Files.writeString(
                root.resolve("wal_005").resolve("%08X.history".formatted(timeline)), text);
    }
}
