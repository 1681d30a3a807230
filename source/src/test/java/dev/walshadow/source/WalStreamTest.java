package dev.walshadow.source;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.WalSegmentReader;
import dev.walshadow.postgres.wal.XLogLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WalStreamTest {
    /** How many bytes to push next at this position. */
    private interface Cut {
        int next(long lsn);
    }

    private static StreamCapture stream(RealWal wal, StreamSnapshot from, long limit, Cut cut)
            throws InterruptedException {
        StreamCapture capture = new StreamCapture(from);
        WalStream stream = new WalStream(from, from.firstRecord(), capture, capture, capture);
        long at = from.segmentStart();
        while (at < limit) {
            int count = (int) Math.min(limit - at, cut.next(at));
            // an array of its own each time: nothing may be kept beyond the call
            byte[] chunk =
                    Arrays.copyOfRange(
                            wal.bytes, (int) (at - wal.start), (int) (at - wal.start) + count);
            stream.push(at, chunk, 0, count);
            Arrays.fill(chunk, (byte) 0x5A);
            at += count;
        }
        return capture;
    }

    private static long limit(RealWal wal) {
        return wal.start + wal.bytes.length;
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void readsEveryRecordThatASegmentReaderReads(int major) throws InterruptedException {
        RealWal wal = RealWal.of(major);
        StreamCapture capture = stream(wal, wal.initial(), limit(wal), lsn -> 128 * 1024);
        List<Long> seen = new ArrayList<>();
        for (StreamCapture.Seen record : capture.records) {
            if (record.lsn() / RealWal.SEGMENT_SIZE
                    == (record.nextLsn() - 1) / RealWal.SEGMENT_SIZE) {
                seen.add(record.lsn());
            }
        }
        List<Long> expected = new ArrayList<>();
        WalRecord record = new WalRecord();
        for (int at = 0; at < wal.bytes.length; at += RealWal.SEGMENT_SIZE) {
            WalSegmentReader reader =
                    new WalSegmentReader(
                            Arrays.copyOfRange(wal.bytes, at, at + RealWal.SEGMENT_SIZE));
            while (reader.next(record)) {
                if (record.lsn() >= wal.redo) {
                    expected.add(record.lsn());
                }
            }
            assertThat(reader.end()).isNotEqualTo(WalSegmentReader.End.DAMAGED);
        }
        assertThat(seen).isEqualTo(expected).hasSizeGreaterThan(20_000);
        assertThat(capture.records.stream().filter(r -> r.boundary()).count()).isGreaterThan(50);
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void rewritesToValidRecordsAtTheSamePositions(int major) throws InterruptedException {
        RealWal wal = RealWal.of(major);
        StreamCapture first = stream(wal, wal.initial(), limit(wal), lsn -> 1 << 20);
        RecordsOnly again = new RecordsOnly();
        WalStream second = new WalStream(wal.initial(), 0, again, again, again);
        second.push(wal.start, first.wire.array(), 0, first.wire.length());
        assertThat(again.records).hasSize(first.records.size());
        for (int i = 0; i < again.records.size(); i++) {
            StreamCapture.Seen before = first.records.get(i);
            StreamCapture.Seen after = again.records.get(i);
            assertThat(after.lsn()).isEqualTo(before.lsn());
            assertThat(after.nextLsn()).isEqualTo(before.nextLsn());
            assertThat(after.length()).isEqualTo(before.length());
            assertThat(after.xid()).isEqualTo(before.xid());
            if (before.decision() == Decision.DROP) {
                assertThat(after.manager()).isZero();
                assertThat(after.info()).isEqualTo(XLogLayout.XLOG_NOOP);
            } else if (before.decision() == Decision.KEEP) {
                assertThat(after.crcOfBytes()).isEqualTo(before.crcOfBytes());
            }
        }
        assertThat(first.segments.size()).isEqualTo(wal.bytes.length / RealWal.SEGMENT_SIZE);
        first.segments.forEach((at, segment) -> {
            int from = (int) (at - wal.start);
            assertThat(
                            Arrays.equals(
                                    segment,
                                    0,
                                    segment.length,
                                    first.wire.array(),
                                    from,
                                    from + segment.length))
                    .as("the archive holds what the wire got")
                    .isTrue();
        });
    }

    private static final class RecordsOnly implements WireSink, RecordSink, SegmentSink {
        private final List<StreamCapture.Seen> records = new ArrayList<>();

        @Override
        public void publish(long startLsn, byte[] bytes, int offset, int length) {}

        @Override
        public void onRecord(
                WalRecord record, Decision decision, @Nullable CatalogBoundary boundary) {
            CRC32C crc = new CRC32C();
            crc.update(record.buffer(), record.offset(), record.length());
            records.add(
                    new StreamCapture.Seen(
                            record.lsn(),
                            record.nextLsn(),
                            record.length(),
                            record.resourceManager(),
                            record.info(),
                            record.xid(),
                            (int) crc.getValue(),
                            decision,
                            boundary != null));
        }

        @Override
        public void segmentComplete(
                long startLsn, byte[] segment, int length, StreamSnapshot next) {}
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void anyChunkingGivesTheSame(int major) throws InterruptedException {
        RealWal wal = RealWal.of(major);
        StreamCapture whole = stream(wal, wal.initial(), limit(wal), lsn -> Integer.MAX_VALUE);
        int page = XLogLayout.PAGE_SIZE;
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        same("pages", whole, stream(wal, wal.initial(), limit(wal), lsn -> page));
        same(
                "one byte before each page's end",
                whole,
                stream(
                        wal,
                        wal.initial(),
                        limit(wal),
                        lsn -> (int) (lsn % page == page - 1 ? page : page - 1 - lsn % page)));
        same(
                "one byte behind each page's start",
                whole,
                stream(
                        wal,
                        wal.initial(),
                        limit(wal),
                        lsn -> (int) (lsn % page == 0 ? 1 : page - lsn % page + 1)));
        same(
                "random, seed " + seed,
                whole,
                stream(wal, wal.initial(), limit(wal), lsn -> 1 + random.nextInt(5000)));
    }

    @Test
    void oneByteAtATimeGivesTheSame() throws InterruptedException {
        RealWal wal = RealWal.of(17);
        long limit = Math.min(limit(wal), wal.start + 12L * RealWal.SEGMENT_SIZE);
        StreamCapture whole = stream(wal, wal.initial(), limit, lsn -> Integer.MAX_VALUE);
        same("one byte", whole, stream(wal, wal.initial(), limit, lsn -> 1));
    }

    private static void same(String how, StreamCapture expected, StreamCapture found) {
        assertThat(found.records).as(how).isEqualTo(expected.records);
        assertThat(found.publishedTo()).as(how).isEqualTo(expected.publishedTo());
        assertThat(
                        Arrays.equals(
                                found.wire.array(),
                                0,
                                found.wire.length(),
                                expected.wire.array(),
                                0,
                                expected.wire.length()))
                .as(how)
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void framesEndAtPagesOrRecords(int major) throws InterruptedException {
        RealWal wal = RealWal.of(major);
        Random random = new Random(7);
        StreamCapture capture =
                stream(wal, wal.initial(), limit(wal), lsn -> 1 + random.nextInt(300));
        Set<Long> ends = new HashSet<>();
        ends.add(wal.redo);
        capture.records.forEach(record -> {
            ends.add(record.nextLsn());
            ends.add(XLogLayout.align(record.lsn() + record.length()));
        });
        for (long[] frame : capture.frames) {
            assertThat(frame[1] % XLogLayout.PAGE_SIZE == 0 || ends.contains(frame[1])).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void resumesAtAnySegmentWithTheSameBytesAndDecisions(int major) throws InterruptedException {
        RealWal wal = RealWal.of(major);
        StreamCapture whole = stream(wal, wal.initial(), limit(wal), lsn -> 1 << 20);
        int tails = 0;
        for (StreamSnapshot from : whole.snapshots.values()) {
            if (from.segmentStart() >= limit(wal)) {
                continue;
            }
            tails += from.tail().isRewritten() ? 1 : 0;
            long until = Math.min(limit(wal), from.segmentStart() + 6L * RealWal.SEGMENT_SIZE);
            StreamCapture resumed = stream(wal, from, until, lsn -> 100_000);
            int offset = (int) (from.segmentStart() - wal.start);
            int mismatch =
                    Arrays.mismatch(
                            resumed.wire.array(),
                            0,
                            resumed.wire.length(),
                            whole.wire.array(),
                            offset,
                            offset + resumed.wire.length());
            assertThat(mismatch).as("from %s", from).isEqualTo(-1);
            List<StreamCapture.Seen> expected =
                    whole.records.stream()
                            .filter(r -> r.lsn() >= from.firstRecord())
                            .limit(resumed.records.size())
                            .toList();
            assertThat(resumed.records).as("from %s", from).isEqualTo(expected);
        }
        assertThat(tails).as("rewritten records crossed segments").isGreaterThan(5);
    }

    @Test
    void blanksWhatPrecedesTheRedoPointButKeepsPageHeaders() throws InterruptedException {
        RealWal wal = RealWal.of(16);
        StreamCapture capture = stream(wal, wal.initial(), limit(wal), lsn -> 8192);
        int prefix = (int) (wal.redo - wal.start);
        assertThat(prefix).isGreaterThan(2 * XLogLayout.PAGE_SIZE);
        for (int at = 0; at < prefix; at++) {
            int inPage = at % XLogLayout.PAGE_SIZE;
            int header = at < XLogLayout.PAGE_SIZE ? 40 : 24;
            byte expected = inPage < header ? wal.bytes[at] : 0;
            assertThat(capture.wire.array()[at]).isEqualTo(expected);
        }
        assertThat(LittleEndian.getLong(capture.wire.array(), XLogLayout.PAGE_ADDRESS))
                .isEqualTo(wal.start);
    }
}
