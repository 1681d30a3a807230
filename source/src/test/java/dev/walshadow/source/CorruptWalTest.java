package dev.walshadow.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.wal.BlockImage;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.WalSegmentReader;
import dev.walshadow.postgres.wal.XLogLayout;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Damaged bytes: a typed error with its position, whatever they are. */
class CorruptWalTest {
    private static final long SEED = Long.getLong("walshadow.seed", 20261129);

    private static WalStream stream(byte[] segment) {
        WalPages pages =
                new WalPages(
                        15,
                        LittleEndian.getLong(segment, XLogLayout.PAGE_SYSTEM_IDENTIFIER),
                        1,
                        1 << 20);
        long start = LittleEndian.getLong(segment, XLogLayout.PAGE_ADDRESS);
        StreamSnapshot from =
                StreamSnapshot.initial(pages, start + XLogLayout.LONG_HEADER_LENGTH, List.of());
        return new WalStream(
                from,
                0,
                (lsn, bytes, offset, length) -> {},
                (record, decision, boundary) -> {},
                (lsn, bytes, length, next) -> {});
    }

    /** Where the golden segment's records are; it begins with one. */
    private static List<WalRecord> records(byte[] segment) {
        WalSegmentReader reader = new WalSegmentReader(segment);
        List<WalRecord> records = new ArrayList<>();
        WalRecord next = new WalRecord();
        while (reader.next(next)) {
            records.add(next);
            next = new WalRecord();
        }
        return records;
    }

    @Test
    void everyDamagedRecordByteIsNoticed() throws IOException, InterruptedException {
        byte[] segment = WalInspectorTest.golden("segment.gz");
        long start = LittleEndian.getLong(segment, XLogLayout.PAGE_ADDRESS);
        List<WalRecord> records = records(segment);
        int used = (int) (records.getLast().nextLsn() - start);
        Random random = new Random(SEED);
        for (int round = 0; round < 300; round++) {
            WalRecord record = records.get(random.nextInt(records.size()));
            int offset = (int) (record.lsn() - start) + random.nextInt(24);
            if (offset / XLogLayout.PAGE_SIZE != (record.lsn() - start) / XLogLayout.PAGE_SIZE) {
                continue;
            }
            byte[] damaged = segment.clone();
            damaged[offset] ^= (byte) (1 << random.nextInt(8));
            WalStream stream = stream(damaged);
            try {
                stream.push(start, damaged, 0, used);
            } catch (HaltException e) {
                assertThat(e.getMessage()).startsWith("WS-110");
                assertThat(stream.lastRecordEnd()).isLessThanOrEqualTo(record.lsn());
                assertThatThrownBy(() -> stream.push(stream.nextLsn(), damaged, 0, 1))
                        .isInstanceOf(HaltException.class)
                        .hasMessageStartingWith(SourceCodes.STREAM_POISONED.toString());
                continue;
            }
            // a longer xl_tot_len may wait for bytes that never come, but nothing passes
            assertThat(stream.lastRecordEnd())
                    .as("seed %s round %s", SEED, round)
                    .isLessThanOrEqualTo(record.lsn());
        }
    }

    @Test
    void anyDamageGivesATypedErrorOrNone() throws IOException, InterruptedException {
        byte[] segment = WalInspectorTest.golden("segment.gz");
        long start = LittleEndian.getLong(segment, XLogLayout.PAGE_ADDRESS);
        Random random = new Random(SEED);
        for (int round = 0; round < 200; round++) {
            byte[] damaged = segment.clone();
            int at = random.nextInt(450_000);
            for (int i = random.nextInt(40); i >= 0; i--) {
                damaged[at + random.nextInt(64)] = (byte) random.nextInt();
            }
            WalStream stream = stream(damaged);
            try {
                for (int i = 0; i < 440_000; i += 4096) {
                    stream.push(start + i, damaged, i, 4096);
                }
            } catch (HaltException e) {
                assertThat(e.code().number()).isBetween(1100, 1199);
            }
        }
    }

    @Test
    void aGapIsRefused() throws IOException, InterruptedException {
        byte[] segment = WalInspectorTest.golden("segment.gz");
        long start = LittleEndian.getLong(segment, XLogLayout.PAGE_ADDRESS);
        WalStream stream = stream(segment);
        stream.push(start, segment, 0, 8192);
        assertThatThrownBy(() -> stream.push(start + 16384, segment, 16384, 8192))
                .isInstanceOf(HaltException.class)
                .hasMessageStartingWith(SourceCodes.WAL_GAP.toString());
        stream.push(start + 8192, segment, 8192, 8192);
    }

    @Test
    void aFailingSinkPoisonsTheStream() throws IOException, InterruptedException {
        byte[] segment = WalInspectorTest.golden("segment.gz");
        long start = LittleEndian.getLong(segment, XLogLayout.PAGE_ADDRESS);
        WalPages pages = new WalSegmentReader(segment).pages();
        WalStream stream =
                new WalStream(
                        StreamSnapshot.initial(pages, start + 40, List.of()),
                        0,
                        (lsn, bytes, offset, length) -> {},
                        (record, decision, boundary) -> {
                            throw new IllegalStateException("sink");
                        },
                        (lsn, bytes, length, next) -> {});
        try {
            stream.push(start, segment, 0, 8192);
            fail("the sink's failure must come out");
        } catch (IllegalStateException e) {
            assertThat(e).hasMessage("sink");
        }
        assertThatThrownBy(() -> stream.push(stream.nextLsn(), segment, 8192, 8192))
                .hasMessageStartingWith(SourceCodes.STREAM_POISONED.toString());
    }

    /** pglz on 15-18, lz4 in the golden segment; heap pages tell whether they came out right. */
    @Test
    void imagesOfRealServersRestoreToPages() throws IOException {
        int restored = restoreAll(WalInspectorTest.golden("segment.gz"));
        RealWal wal = RealWal.of(18);
        for (int at = 0; at < wal.bytes.length && restored < 5000; at += RealWal.SEGMENT_SIZE) {
            byte[] segment = new byte[RealWal.SEGMENT_SIZE];
            System.arraycopy(wal.bytes, at, segment, 0, segment.length);
            restored += restoreAll(segment);
        }
        assertThat(restored).isGreaterThan(1000);
    }

    private static int restoreAll(byte[] segment) {
        BlockImage images = new BlockImage();
        byte[] page = new byte[HeapPage.SIZE];
        int restored = 0;
        WalSegmentReader reader = new WalSegmentReader(segment);
        WalRecord record = new WalRecord();
        while (reader.next(record)) {
            for (int i = 0; i < record.blockCount(); i++) {
                if (record.hasImage(i)) {
                    images.restore(record, i, page);
                    int lower = LittleEndian.getUnsignedShort(page, HeapPage.PD_LOWER);
                    int upper = LittleEndian.getUnsignedShort(page, HeapPage.PD_UPPER);
                    int special = LittleEndian.getUnsignedShort(page, HeapPage.PD_SPECIAL);
                    assertThat(lower).isBetween(0, upper);
                    assertThat(upper).isBetween(lower, special);
                    assertThat(special).isLessThanOrEqualTo(HeapPage.SIZE);
                    restored++;
                }
            }
        }
        return restored;
    }
}
