package dev.walshadow.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.TransactionRecordLayout;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sequences that no server writes on demand. */
class SyntheticWalTest {
    private static final int USER_TABLE = 50_000;

    private static byte[] commit() {
        return new byte[8];
    }

    private static byte[] map(int database) {
        ByteBuilder map = new ByteBuilder(600);
        map.putInt(database);
        map.putInt(1663);
        map.putInt(524);
        map.putInt(0x592717);
        map.putInt(1);
        map.putInt(Catalogs.PG_CLASS);
        map.putInt(60_000);
        map.putZeros(524 - 16);
        return map.toByteArray();
    }

    private static StreamCapture stream(SyntheticWal wal, int chunk) throws InterruptedException {
        StreamCapture capture = new StreamCapture(wal.initial());
        WalStream stream = new WalStream(wal.initial(), 0, capture, capture, capture);
        byte[] bytes = wal.bytes();
        for (int at = 0; at < bytes.length; at += chunk) {
            stream.push(wal.start() + at, bytes, at, Math.min(chunk, bytes.length - at));
        }
        return capture;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 64, 8192, 1 << 20})
    void aBoundaryInsideARelationMapChangeWaitsForItsEnd(int chunk) throws InterruptedException {
        SyntheticWal wal = new SyntheticWal(1 << 20);
        int heap = ResourceManager.HEAP;
        int insert = HeapRecordLayout.XLOG_HEAP_INSERT;
        int xact = ResourceManager.TRANSACTION;
        wal.block(heap, insert, 700, Catalogs.PG_CLASS, new byte[3]);
        wal.record(ResourceManager.RELMAP, 0, 701, map(5));
        long between = wal.record(xact, TransactionRecordLayout.XLOG_XACT_COMMIT, 700, commit());
        wal.block(heap, insert, 702, USER_TABLE, new byte[3]);
        wal.record(xact, TransactionRecordLayout.XLOG_XACT_COMMIT, 702, commit());
        wal.record(xact, TransactionRecordLayout.XLOG_XACT_COMMIT, 701, commit());
        long end = wal.position();
        wal.block(heap, insert, 703, USER_TABLE, new byte[3]);
        List<Long> order = new ArrayList<>();
        List<Integer> boundaries = new ArrayList<>();
        StreamCapture wire = new StreamCapture(wal.initial());
        RecordSink sink =
                new RecordSink() {
                    @Override
                    public void onRecord(
                            WalRecord original,
                            Decision decision,
                            @Nullable CatalogBoundary boundary) {
                        order.add(original.lsn());
                        if (boundary != null) {
                            boundaries.add(boundary.xid());
                            assertThat(original.lsn()).isEqualTo(between);
                            assertThat(boundary.nextLsn()).isLessThan(end);
                            assertThat(boundary.replayLsn()).isEqualTo(end);
                            assertThat(wire.publishedTo()).isEqualTo(end);
                        }
                    }
                };
        WalStream stream = new WalStream(wal.initial(), 0, wire, sink, wire);
        byte[] bytes = wal.bytes();
        for (int at = 0; at < bytes.length; at += chunk) {
            stream.push(wal.start() + at, bytes, at, Math.min(chunk, bytes.length - at));
        }
        assertThat(order).isEqualTo(wal.lsns);
        assertThat(boundaries).containsExactly(700);
    }

    /** At every distance from a page's and a segment's end. */
    @Test
    void aTablespacesPathIsZeroedWhereverTheRecordLies() throws InterruptedException {
        String path = "/a/long/path/to/some/tablespace";
        for (int distance = 0; distance <= 96; distance += 8) {
            for (int end : new int[] {XLogLayout.PAGE_SIZE, 1 << 20}) {
                SyntheticWal wal = new SyntheticWal(1 << 20);
                while (end - wal.position() % end > 20_000) {
                    wal.record(ResourceManager.LOGICAL_MESSAGE, 0, 9, new byte[9000]);
                }
                int missing = (int) (end - wal.position() % end) - distance;
                if (missing > 60) {
                    int crossed = wal.position() % XLogLayout.PAGE_SIZE + missing > 8192 ? 24 : 0;
                    wal.record(
                            ResourceManager.LOGICAL_MESSAGE,
                            0,
                            9,
                            new byte[Math.max(1, missing - 24 - 5 - crossed)]);
                }
                ByteBuilder create = new ByteBuilder(64);
                create.putInt(70_000);
                create.putBytes(path.getBytes(StandardCharsets.UTF_8));
                create.putByte(0);
                wal.record(ResourceManager.TABLESPACE, 0, 10, create.toByteArray());
                wal.record(ResourceManager.LOGICAL_MESSAGE, 0, 9, new byte[2_100_000]);
                StreamCapture capture = stream(wal, 5000);
                assertThat(text(capture.wire)).doesNotContain("path").doesNotContain("/some");
                assertReadable(wal, capture);
                for (StreamSnapshot from : capture.snapshots.values()) {
                    assertResumes(wal, capture, from);
                }
            }
        }
    }

    /**
     * An old row of any size (REPLICA IDENTITY FULL), and a message: not held, and all the same.
     */
    @ParameterizedTest
    @ValueSource(ints = {1000, 8192, 30_000, 1 << 20})
    void aLongRecordIsPassedOnWhileItComes(int chunk) throws InterruptedException {
        SyntheticWal wal = new SyntheticWal(1 << 20);
        byte[] delete = new byte[HeapRecordLayout.DELETE_LENGTH + 2_500_000];
        delete[HeapRecordLayout.DELETE_FLAGS] = HeapRecordLayout.XLH_DELETE_CONTAINS_OLD_TUPLE;
        Arrays.fill(delete, 2_000_000, 2_100_000, (byte) 7);
        int heap = ResourceManager.HEAP;
        wal.block(heap, HeapRecordLayout.XLOG_HEAP_INSERT, 700, USER_TABLE, new byte[3]);
        long deleted = wal.block(heap, HeapRecordLayout.XLOG_HEAP_DELETE, 700, USER_TABLE, delete);
        wal.record(ResourceManager.TRANSACTION, 0, 700, commit());
        wal.record(ResourceManager.LOGICAL_MESSAGE, 0, 701, new byte[3_000_000]);
        wal.block(heap, HeapRecordLayout.XLOG_HEAP_INSERT, 702, USER_TABLE, new byte[3]);
        wal.record(ResourceManager.LOGICAL_MESSAGE, 0, 701, new byte[500_000]);

        StreamCapture whole = stream(wal, chunk);
        StreamCapture capture = new StreamCapture(wal.initial());
        WalStream stream = new WalStream(wal.initial(), 0, capture, capture, capture, 400_000);
        byte[] bytes = wal.bytes();
        for (int at = 0; at < bytes.length; at += chunk) {
            stream.push(wal.start() + at, bytes, at, Math.min(chunk, bytes.length - at));
            long behind = wal.start() + at + chunk - capture.publishedTo();
            assertThat(behind).isLessThan(chunk + 100_000L);
        }
        assertThat(text(capture.wire)).isEqualTo(text(whole.wire));
        assertThat(capture.segments.keySet()).isEqualTo(whole.segments.keySet());
        capture.segments.forEach(
                (start, segment) -> assertThat(segment).isEqualTo(whole.segments.get(start)));
        capture.snapshots.forEach((start, snapshot) ->
                assertThat(snapshot.encode())
                        .isEqualTo(
                                java.util.Objects.requireNonNull(whole.snapshots.get(start))
                                        .encode()));
        assertThat(capture.records.stream().map(StreamCapture.Seen::nextLsn).toList())
                .isEqualTo(whole.records.stream().map(StreamCapture.Seen::nextLsn).toList());
        assertThat(capture.records)
                .filteredOn(each -> each.lsn() == deleted)
                .allMatch(each -> each.length() < 100 && each.xid() == 700);
        assertReadable(wal, capture);
        for (StreamSnapshot from : capture.snapshots.values()) {
            assertResumes(wal, capture, from);
        }
    }

    @Test
    void aLongRecordsChecksumIsVerified() throws InterruptedException {
        SyntheticWal wal = new SyntheticWal(1 << 20);
        wal.record(ResourceManager.LOGICAL_MESSAGE, 0, 701, new byte[3_000_000]);
        byte[] bytes = wal.bytes();
        bytes[2_500_000] ^= 1;
        StreamCapture capture = new StreamCapture(wal.initial());
        WalStream stream = new WalStream(wal.initial(), 0, capture, capture, capture, 400_000);
        assertThatThrownBy(() -> stream.push(wal.start(), bytes, 0, bytes.length))
                .hasMessageContaining("incorrect resource manager data checksum");
        assertThat(capture.records).isEmpty();
    }

    private static void assertReadable(SyntheticWal wal, StreamCapture capture)
            throws InterruptedException {
        StreamCapture again = new StreamCapture(wal.initial());
        WalStream second = new WalStream(wal.initial(), 0, again, again, again);
        second.push(wal.start(), capture.wire.array(), 0, capture.wire.length());
        assertThat(again.records.stream().map(StreamCapture.Seen::lsn).toList())
                .isEqualTo(wal.lsns);
    }

    private static void assertResumes(SyntheticWal wal, StreamCapture whole, StreamSnapshot from)
            throws InterruptedException {
        byte[] bytes = wal.bytes();
        int offset = (int) (from.segmentStart() - wal.start());
        if (offset >= bytes.length) {
            return;
        }
        StreamCapture resumed = new StreamCapture(from);
        WalStream stream = new WalStream(from, 0, resumed, resumed, resumed);
        stream.push(from.segmentStart(), bytes, offset, bytes.length - offset);
        assertThat(
                        Arrays.mismatch(
                                resumed.wire.array(),
                                0,
                                resumed.wire.length(),
                                whole.wire.array(),
                                offset,
                                whole.wire.length()))
                .isEqualTo(-1);
    }

    private static String text(ByteBuilder bytes) {
        return new String(bytes.array(), 0, bytes.length(), StandardCharsets.ISO_8859_1);
    }

    /** 64 MB segments: another place for everything that depends on the size. */
    @Test
    void otherSegmentSizes() throws InterruptedException {
        for (int segmentSize : new int[] {2 << 20, 64 << 20}) {
            SyntheticWal wal = new SyntheticWal(segmentSize);
            while (wal.position() < wal.start() + segmentSize + 100_000) {
                wal.block(ResourceManager.HEAP, 0, 5, USER_TABLE, new byte[3]);
                wal.block(ResourceManager.HEAP, 0, 5, Catalogs.PG_STATISTIC, new byte[200]);
                wal.record(ResourceManager.LOGICAL_MESSAGE, 0, 9, new byte[100_000]);
            }
            StreamCapture capture = stream(wal, 131_072);
            assertThat(capture.segments).hasSize(1);
            assertReadable(wal, capture);
        }
    }
}
