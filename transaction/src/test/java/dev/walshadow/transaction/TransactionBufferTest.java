package dev.walshadow.transaction;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which records a commit hands on, and when the buffer lets go of them. */
final class TransactionBufferTest {
    private static final RelationLocator TABLE = SyntheticWal.table(16500);
    private static final RelationLocator TOAST = SyntheticWal.table(16503);
    private static final RelationLocator UNWANTED = SyntheticWal.table(2619);
    private static final int TOAST_OID = 90001;

    @TempDir Path directory;

    private final SyntheticWal wal = new SyntheticWal();
    private final List<Collected> commits = new ArrayList<>();
    private final List<CommittedChanges> held = new ArrayList<>();

    private TransactionBuffer buffer(long budget) {
        return buffer(budget, TransactionBuffer.MAX_LINKS);
    }

    private TransactionBuffer buffer(long budget, int maxLinks) {
        return new TransactionBuffer(
                options(directory, budget),
                changes -> {
                    commits.add(Collected.of(changes));
                    changes.close();
                },
                SpillDirectory::openFile,
                maxLinks);
    }

    private TransactionBuffer holdingBuffer(long budget) {
        return new TransactionBuffer(options(directory, budget), held::add);
    }

    static TransactionBuffer.Options options(Path directory, long budget) {
        RecordFilter filter =
                new RecordFilter() {
                    @Override
                    public boolean keepsDatabase(int databaseOid) {
                        return databaseOid == SyntheticWal.DATABASE;
                    }

                    @Override
                    public boolean keepsRelation(int tablespace, int database, int relation) {
                        return database == SyntheticWal.DATABASE && relation >= 16384;
                    }
                };
        return new TransactionBuffer.Options(
                budget,
                directory,
                77,
                18,
                filter,
                (locator, lsn) -> locator.equals(TOAST) ? TOAST_OID : 0,
                Duration.ZERO);
    }

    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i * 31 + length);
        }
        return bytes;
    }

    @Test
    void handsOnCommittedRecordsWithTheirCommit() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            long first = wal.nextLsn();
            buffer.onRecord(wal.insert(100, TABLE, bytes(40)));
            long second = wal.nextLsn();
            buffer.onRecord(wal.update(100, TABLE, bytes(8), bytes(50)));
            long commit = wal.nextLsn();
            buffer.onRecord(wal.commit(100));
            assertThat(commits).hasSize(1);
            Collected changes = commits.get(0);
            assertThat(changes.xid()).isEqualTo(100);
            assertThat(changes.databaseOid()).isEqualTo(SyntheticWal.DATABASE);
            assertThat(changes.firstLsn()).isEqualTo(first);
            assertThat(changes.commitLsn()).isEqualTo(commit);
            assertThat(changes.commitPosition()).isEqualTo(wal.nextLsn());
            assertThat(changes.commitMicros()).isEqualTo(commit * 10);
            assertThat(changes.lsns()).containsExactly(first, second);
            Collected.Entry update = changes.records().get(1);
            assertThat(update.block0()).isEqualTo(8);
            assertThat(update.block1()).isEqualTo(7);
            assertThat(update.dataHash()).isEqualTo(Arrays.hashCode(bytes(50)));
            assertThat(buffer.counters().memoryBytes()).isZero();
            assertThat(buffer.counters().live()).isZero();
        }
    }

    @Test
    void commitsComeInCommitOrder() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            buffer.onRecord(wal.insert(100, TABLE, bytes(40)));
            buffer.onRecord(wal.insert(101, TABLE, bytes(41)));
            buffer.onRecord(wal.insert(100, TABLE, bytes(42)));
            buffer.onRecord(wal.commit(101));
            buffer.onRecord(wal.commit(100));
            assertThat(commits).extracting(Collected::xid).containsExactly(101, 100);
            assertThat(commits.get(1).records()).hasSize(2);
        }
    }

    @Test
    void abortFreesEverything() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            buffer.onRecord(wal.insert(100, TABLE, bytes(40)));
            buffer.onRecord(wal.under(100).insert(101, TABLE, bytes(41)));
            buffer.onRecord(wal.abort(100, 101));
            assertThat(commits).isEmpty();
            assertThat(buffer.counters().memoryBytes()).isZero();
            assertThat(buffer.counters().aborted()).isEqualTo(1);
            assertThat(buffer.resumeFloor(wal.nextLsn())).isEqualTo(wal.nextLsn());
        }
    }

    @Test
    void rollbackToSavepointFreesExactlyItsOwnChanges() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            List<Long> kept = new ArrayList<>();
            kept.add(wal.nextLsn());
            buffer.onRecord(wal.insert(100, TABLE, bytes(40)));
            kept.add(wal.nextLsn());
            buffer.onRecord(wal.under(100).insert(101, TABLE, bytes(41)));
            buffer.onRecord(wal.under(100).insert(102, TABLE, bytes(100_000)));
            buffer.onRecord(wal.under(100).insert(103, TABLE, bytes(1000)));
            long withThem = buffer.counters().memoryBytes();
            buffer.onRecord(wal.abort(102, 103));
            assertThat(buffer.counters().memoryBytes()).isLessThan(withThem - 90_000);
            kept.add(wal.nextLsn());
            buffer.onRecord(wal.insert(101, TABLE, bytes(42)));
            buffer.onRecord(wal.commit(100, 101));
            assertThat(commits.get(0).lsns()).isEqualTo(kept);
        }
    }

    @Test
    void rollbackToSavepointCutsOffTheSpillFile() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(64 << 10)) {
            List<Long> kept = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                kept.add(wal.nextLsn());
                buffer.onRecord(wal.insert(100, TABLE, bytes(2000)));
            }
            for (int round = 0; round < 20; round++) {
                for (int i = 0; i < 100; i++) {
                    buffer.onRecord(wal.under(100).insert(101 + round, TABLE, bytes(2000)));
                }
                buffer.onRecord(wal.abort(101 + round));
            }
            assertThat(buffer.counters().spilledBytes()).isGreaterThan(3_000_000);
            assertThat(spillBytes()).isLessThan(150_000);
            kept.add(wal.nextLsn());
            buffer.onRecord(wal.insert(100, TABLE, bytes(10)));
            buffer.onRecord(wal.commit(100));
            assertThat(commits.get(0).lsns()).isEqualTo(kept);
            assertThat(spillBytes()).isZero();
        }
    }

    private long spillBytes() {
        long bytes = 0;
        for (var file : directory.toFile().listFiles()) {
            bytes += file.length();
        }
        return bytes;
    }

    @Test
    void joinsSubtransactionsThatNeverNamedTheirTopLevel() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(64 << 10)) {
            List<Long> kept = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                kept.add(wal.nextLsn());
                buffer.onRecord(wal.insert(100 + i % 30, TABLE, bytes(500)));
            }
            buffer.onRecord(wal.insert(300, TABLE, bytes(500)));
            int[] subtransactions = new int[29];
            for (int i = 0; i < 29; i++) {
                subtransactions[i] = 101 + i;
            }
            long first = kept.get(0);
            buffer.onRecord(wal.commit(100, subtransactions));
            assertThat(commits.get(0).lsns()).isEqualTo(kept);
            assertThat(commits.get(0).firstLsn()).isEqualTo(first);
            assertThat(buffer.counters().live()).isEqualTo(1);
        }
    }

    @Test
    void forgettingWhoBelongsTogetherChangesNothing() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20, 4)) {
            List<Long> kept = new ArrayList<>();
            int[] committed = new int[40];
            for (int i = 0; i < 40; i++) {
                committed[i] = 200 + i;
                kept.add(wal.nextLsn());
                buffer.onRecord(wal.under(100).insert(200 + i, TABLE, bytes(500)));
                buffer.onRecord(wal.under(100).insert(300 + i, TABLE, bytes(500)));
                if (i > 3) {
                    kept.add(wal.nextLsn());
                    buffer.onRecord(wal.insert(200 + i - 3, TABLE, bytes(20)));
                }
                buffer.onRecord(wal.abort(300 + i));
            }
            buffer.onRecord(wal.commit(100, committed));
            assertThat(commits.get(0).lsns()).isEqualTo(kept);
            assertThat(buffer.counters().live()).isZero();
            assertThat(buffer.counters().memoryBytes()).isZero();
        }
    }

    @Test
    void anAssignmentRecordChangesNothing() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            buffer.onRecord(wal.insert(101, TABLE, bytes(10)));
            buffer.onRecord(wal.assignment(100, 101, 102));
            buffer.onRecord(wal.insert(102, TABLE, bytes(11)));
            buffer.onRecord(wal.insert(100, TABLE, bytes(12)));
            assertThat(buffer.counters().live()).isEqualTo(3);
            buffer.onRecord(wal.commit(100, 101, 102));
            assertThat(commits.get(0).records()).hasSize(3);
            assertThat(commits.get(0).lsns()).isSorted();
        }
    }

    @Test
    void superDeleteCancelsItsInsertAndIsNoTombstone() throws InterruptedException {
        int speculative = XLH_INSERT_IS_SPECULATIVE | XLH_INSERT_CONTAINS_NEW_TUPLE;
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            buffer.onRecord(wal.insert(100, TABLE, 4, 1, speculative, bytes(30)));
            buffer.onRecord(wal.delete(100, TABLE, 4, 1, XLH_DELETE_IS_SUPER));
            long kept = wal.nextLsn();
            buffer.onRecord(wal.insert(100, TABLE, 4, 2, speculative, bytes(31)));
            buffer.onRecord(wal.confirm(100, TABLE, 4, 2));
            buffer.onRecord(wal.insert(100, TABLE, 4, 3, speculative, bytes(32)));
            long between = wal.nextLsn();
            buffer.onRecord(wal.insert(100, TABLE, bytes(33)));
            buffer.onRecord(wal.delete(100, TABLE, 4, 3, XLH_DELETE_IS_SUPER));
            // the confirmed one is a row now; a super-delete without an insert is ignored
            buffer.onRecord(wal.delete(100, TABLE, 4, 2, XLH_DELETE_IS_SUPER));
            long deleted = wal.nextLsn();
            buffer.onRecord(wal.delete(100, TABLE, 9, 9, 0));
            buffer.onRecord(wal.insert(100, TABLE, 4, 5, speculative, bytes(34)));
            buffer.onRecord(wal.commit(100));
            assertThat(commits.get(0).lsns()).containsExactly(kept, between, deleted);
        }
    }

    @Test
    void aConfirmationFindsItsInsertAfterItsTopLevelWasForgotten() throws InterruptedException {
        int speculative = XLH_INSERT_IS_SPECULATIVE | XLH_INSERT_CONTAINS_NEW_TUPLE;
        try (TransactionBuffer buffer = buffer(1 << 20, 2)) {
            long confirmed = wal.nextLsn();
            buffer.onRecord(wal.under(100).insert(101, TABLE, 4, 1, speculative, bytes(30)));
            buffer.onRecord(wal.under(200).insert(201, TABLE, bytes(30)));
            buffer.onRecord(wal.under(100).lock(102, TABLE));
            buffer.onRecord(wal.confirm(101, TABLE, 4, 1));
            buffer.onRecord(wal.under(100).insert(103, TABLE, 4, 2, speculative, bytes(30)));
            buffer.onRecord(wal.under(200).insert(202, TABLE, bytes(30)));
            buffer.onRecord(wal.under(200).insert(203, TABLE, bytes(30)));
            buffer.onRecord(wal.delete(103, TABLE, 4, 2, XLH_DELETE_IS_SUPER));
            buffer.onRecord(wal.commit(100, 101, 102, 103));
            assertThat(commits.get(0).lsns()).containsExactly(confirmed);
        }
    }

    @Test
    void superDeleteFindsAnInsertThatWasSpilled() throws InterruptedException {
        int speculative = XLH_INSERT_IS_SPECULATIVE | XLH_INSERT_CONTAINS_NEW_TUPLE;
        try (TransactionBuffer buffer = buffer(16 << 10)) {
            buffer.onRecord(wal.insert(100, TABLE, 4, 1, speculative, bytes(30)));
            List<Long> kept = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                kept.add(wal.nextLsn());
                buffer.onRecord(wal.insert(100, TABLE, bytes(1000)));
            }
            buffer.onRecord(wal.delete(100, TABLE, 4, 1, XLH_DELETE_IS_SUPER));
            buffer.onRecord(wal.commit(100));
            assertThat(buffer.counters().spilledTransactions()).isEqualTo(1);
            assertThat(commits.get(0).lsns()).isEqualTo(kept);
        }
    }

    @Test
    void preparedTransactionsOutliveEverythingButTheirEnd() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            long floor = wal.nextLsn();
            buffer.onRecord(wal.insert(100, TABLE, bytes(10)));
            buffer.onRecord(wal.insert(101, TABLE, bytes(11)));
            buffer.onRecord(wal.prepare(100, 101));
            buffer.onRecord(wal.insert(102, TABLE, bytes(12)));
            buffer.onRecord(wal.prepare(102));
            buffer.onRecord(wal.shutdownCheckpoint());
            buffer.onRecord(wal.runningXacts(500, 400, 100, 102));
            assertThat(buffer.counters().prepared()).isEqualTo(3);
            assertThat(buffer.resumeFloor(wal.nextLsn())).isEqualTo(floor);
            assertThat(buffer.prepared())
                    .extracting(PreparedTransaction::xid)
                    .containsExactlyInAnyOrder(100, 102);
            assertThat(buffer.prepared())
                    .filteredOn(each -> each.xid() == 100)
                    .allMatch(each ->
                            each.gid().equals("gid")
                                    && each.firstLsn() == floor
                                    && each.ownerOid() == 10
                                    && each.preparedLsn() > floor);
            buffer.onRecord(wal.rollbackPrepared(102));
            buffer.onRecord(wal.commitPrepared(100, 101));
            assertThat(commits).hasSize(1);
            assertThat(commits.get(0).xid()).isEqualTo(100);
            assertThat(commits.get(0).records()).hasSize(2);
            assertThat(buffer.counters().prepared()).isZero();
            assertThat(buffer.prepared()).isEmpty();
            assertThat(buffer.counters().memoryBytes()).isZero();
        }
    }

    @Test
    void vanishedTransactionsAreDropped() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            buffer.onRecord(wal.insert(100, TABLE, bytes(10)));
            buffer.onRecord(wal.under(100).insert(101, TABLE, bytes(10)));
            long floor = wal.nextLsn();
            buffer.onRecord(wal.insert(105, TABLE, bytes(11)));
            buffer.onRecord(wal.runningXacts(110, 105, 105));
            assertThat(buffer.counters().vanished()).isEqualTo(1);
            assertThat(buffer.resumeFloor(wal.nextLsn())).isEqualTo(floor);
            buffer.onRecord(wal.shutdownCheckpoint());
            assertThat(buffer.counters().live()).isZero();
            buffer.onRecord(wal.insert(111, TABLE, bytes(10)));
            buffer.onRecord(wal.endOfRecovery());
            assertThat(buffer.counters().live()).isZero();
            assertThat(buffer.counters().vanished()).isEqualTo(3);
            assertThat(buffer.counters().memoryBytes()).isZero();
            buffer.onRecord(wal.commit(100, 101));
            assertThat(commits).isEmpty();
        }
    }

    @Test
    void transactionIdsWrapAround() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            int old = -5;
            buffer.onRecord(wal.insert(old, TABLE, bytes(10)));
            buffer.onRecord(wal.insert(7, TABLE, bytes(10)));
            buffer.onRecord(wal.runningXacts(9, old, old, 7));
            assertThat(buffer.counters().live()).isEqualTo(2);
            buffer.onRecord(wal.runningXacts(9, 7, 7));
            assertThat(buffer.counters().live()).isEqualTo(1);
            buffer.onRecord(wal.commit(7));
            assertThat(commits).hasSize(1);
        }
    }

    @Test
    void everyRecordCountsForTheResumeFloor() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            long catalog = wal.nextLsn();
            buffer.onRecord(wal.insert(100, UNWANTED, bytes(10)));
            buffer.onRecord(wal.lock(101, TABLE));
            buffer.onRecord(wal.insert(100, TABLE, bytes(10)));
            assertThat(buffer.resumeFloor(wal.nextLsn())).isEqualTo(catalog);
            buffer.onRecord(wal.commit(101));
            buffer.onRecord(wal.commit(100));
            assertThat(commits).hasSize(1);
            assertThat(commits.get(0).firstLsn()).isEqualTo(catalog);
            assertThat(commits.get(0).records()).hasSize(1);
        }
    }

    @Test
    void truncateIsKeptForFollowedDatabasesOnly() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            long kept = wal.nextLsn();
            buffer.onRecord(wal.truncate(100, SyntheticWal.DATABASE, 16500));
            buffer.onRecord(wal.truncate(100, 6, 16500));
            buffer.onRecord(wal.commit(100));
            assertThat(commits.get(0).lsns()).containsExactly(kept);
        }
    }

    @Test
    void loweredWalLevelStopsWithItsPosition() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(1 << 20)) {
            buffer.onRecord(wal.parameterChange(2));
            String at = Lsn.format(wal.nextLsn());
            assertThatThrownBy(() -> buffer.onRecord(wal.parameterChange(1)))
                    .isInstanceOf(HaltException.class)
                    .hasMessageContaining("WS-1606")
                    .hasMessageContaining(at)
                    .hasMessageContaining("wal_level = replica");
        }
    }

    @Test
    void aRecordTellsThatItsTupleIsMissing() throws InterruptedException {
        try (TransactionBuffer buffer = holdingBuffer(1 << 20)) {
            buffer.onRecord(wal.insert(100, TABLE, bytes(10)));
            buffer.onRecord(wal.insert(100, TABLE, 0, 1, 0, bytes(10)));
            buffer.onRecord(wal.update(100, TABLE, bytes(8), bytes(10)));
            buffer.onRecord(wal.multiInsert(100, TABLE, 2, bytes(10)));
            buffer.onRecord(wal.delete(100, TABLE, 1, 1, 0));
            buffer.onRecord(wal.commit(100));
            List<Boolean> found = new ArrayList<>();
            RawRecord record = new RawRecord();
            try (CommittedChanges changes = held.get(0)) {
                RecordCursor cursor = changes.records();
                while (cursor.next(record)) {
                    found.add(record.hasLogicalTuple());
                }
            }
            assertThat(found).containsExactly(true, false, true, true, true);
        }
    }

    @Test
    void baselineRowsReadLikeCommittedRecords() {
        ByteBuilder chunk = new ByteBuilder(16);
        for (int i = 0; i < 3; i++) {
            int start = BaselineRecords.begin(chunk, TABLE, 100 + i, 7, 0);
            chunk.putBytes(bytes(20 + i));
            BaselineRecords.end(chunk, start);
        }
        RecordCursor cursor = new ChunkCursor(chunk.array(), chunk.length());
        RawRecord record = new RawRecord();
        for (int i = 0; i < 3; i++) {
            assertThat(cursor.next(record)).isTrue();
            assertThat(record.isBaseline()).isTrue();
            assertThat(record.hasLogicalTuple()).isTrue();
            assertThat(record.block0()).isEqualTo(100 + i);
            assertThat(record.relationNumber()).isEqualTo(TABLE.relationNumber());
            assertThat(record.mainLength()).isEqualTo(2);
            assertThat(Collected.hash(record.buffer(), record.dataOffset(), record.dataLength()))
                    .isEqualTo(Arrays.hashCode(bytes(20 + i)));
        }
        assertThat(cursor.next(record)).isFalse();
    }

    @Test
    void assemblesToastValuesOfTheSameTransaction() throws InterruptedException {
        for (long budget : new long[] {16 << 10, 1 << 20}) {
            held.clear();
            try (TransactionBuffer buffer = holdingBuffer(budget)) {
                byte[] exact = bytes(2 * ToastChunk.MAX_SIZE);
                for (int i = 0; i < 50; i++) {
                    putValue(buffer, 100, 7000 + i, bytes(3000 + i));
                    buffer.onRecord(wal.insert(100, TABLE, bytes(60)));
                }
                putValue(buffer, 100, 8000, exact);
                buffer.onRecord(wal.under(100).toastChunk(101, TOAST, 8001, 0, bytes(100)));
                buffer.onRecord(wal.abort(101));
                buffer.onRecord(wal.toastChunk(100, TOAST, 8002, 1, bytes(100)));
                // never seen from PostgreSQL, but the sequence decides, not the place
                buffer.onRecord(wal.toastChunk(100, TOAST, 8003, 1, bytes(99)));
                buffer.onRecord(wal.toastChunk(100, TOAST, 8003, 0, bytes(ToastChunk.MAX_SIZE)));
                buffer.onRecord(wal.commit(100));
                try (CommittedChanges changes = held.get(0)) {
                    for (int i = 49; i >= 0; i--) {
                        assertThat(Collected.toast(changes, TOAST_OID, 7000 + i))
                                .isEqualTo(bytes(3000 + i));
                    }
                    assertThat(Collected.toast(changes, TOAST_OID, 8000)).isEqualTo(exact);
                    assertThat(Collected.toast(changes, TOAST_OID, 8001)).isNull();
                    // its chunk 0 is missing: it is here, but not as a value
                    assertThat(Collected.toast(changes, TOAST_OID, 8002)).isEmpty();
                    ByteBuilder tail = new ByteBuilder(8);
                    assertThat(changes.toast().appendTail(TOAST_OID, 8002, tail)).isEqualTo(1);
                    assertThat(tail.length()).isEqualTo(100);
                    assertThat(changes.toast().appendTail(TOAST_OID, 6999, tail)).isEqualTo(-1);
                    assertThat(Collected.toast(changes, TOAST_OID, 8003))
                            .hasSize(99 + ToastChunk.MAX_SIZE)
                            .endsWith(bytes(99));
                    ByteBuilder beginning = new ByteBuilder(16);
                    for (int limit : new int[] {1, ToastChunk.MAX_SIZE, exact.length}) {
                        beginning.clear();
                        assertThat(changes.toast().appendPrefix(TOAST_OID, 8000, limit, beginning))
                                .isTrue();
                        assertThat(beginning.toByteArray()).isEqualTo(Arrays.copyOf(exact, limit));
                    }
                    assertThat(Collected.toast(changes, TOAST_OID, 6999)).isNull();
                    assertThat(Collected.toast(changes, 90002, 7000)).isNull();
                }
            }
        }
    }

    @Test
    void afterAChunkThatCannotBeReadNoValueCountsAsUntouched() throws InterruptedException {
        try (TransactionBuffer buffer = holdingBuffer(1 << 20)) {
            buffer.onRecord(wal.unreadableToastChunk(100, TOAST));
            putValue(buffer, 100, 7000, bytes(3000));
            buffer.onRecord(wal.commit(100));
            putValue(buffer, 101, 7001, bytes(3000));
            buffer.onRecord(wal.commit(101));
            try (CommittedChanges damaged = held.get(0);
                    CommittedChanges sound = held.get(1)) {
                assertThat(Collected.toast(damaged, TOAST_OID, 7000)).isEqualTo(bytes(3000));
                assertThat(Collected.toast(damaged, TOAST_OID, 6999)).isEmpty();
                assertThat(Collected.toast(sound, TOAST_OID, 6999)).isNull();
            }
        }
    }

    private void putValue(TransactionBuffer buffer, int xid, int valueId, byte[] value)
            throws InterruptedException {
        int sequence = 0;
        for (int at = 0; at < value.length; at += ToastChunk.MAX_SIZE) {
            byte[] chunk =
                    Arrays.copyOfRange(value, at, Math.min(value.length, at + ToastChunk.MAX_SIZE));
            buffer.onRecord(wal.toastChunk(xid, TOAST, valueId, sequence++, chunk));
        }
    }

    @Test
    void aConsumerThatGivesNothingBackNeverStopsTheReading() throws InterruptedException {
        try (TransactionBuffer buffer = holdingBuffer(64 << 10)) {
            for (int xid = 100; xid < 400; xid++) {
                for (int i = 0; i < 5; i++) {
                    buffer.onRecord(wal.insert(xid, TABLE, bytes(800)));
                }
                buffer.onRecord(wal.commit(xid));
            }
            assertThat(held).hasSize(300);
            assertThat(buffer.counters().memoryBytes()).isLessThanOrEqualTo(64 << 10);
            for (CommittedChanges changes : held) {
                assertThat(Collected.of(changes).records()).hasSize(5);
                changes.close();
            }
            assertThat(buffer.counters().memoryBytes()).isZero();
            assertThat(directory).isEmptyDirectory();
        }
    }

    @Test
    void theReadingGoesOnInMemoryWhenAnotherThreadGivesMemoryBack() throws Exception {
        TransactionBuffer.Options options = options(directory, 64 << 10);
        var patient =
                new TransactionBuffer.Options(
                        options.bytesBudget(),
                        directory,
                        77,
                        18,
                        options.filter(),
                        options.toastRelations(),
                        Duration.ofMinutes(5));
        var queue = new java.util.concurrent.LinkedBlockingQueue<CommittedChanges>();
        try (TransactionBuffer buffer = new TransactionBuffer(patient, queue::add)) {
            Thread consumer =
                    Thread.ofPlatform()
                            .start(() -> {
                                for (int i = 0; i < 2000; i++) {
                                    try {
                                        queue.take().close();
                                    } catch (InterruptedException e) {
                                        return;
                                    }
                                }
                            });
            for (int xid = 100; xid < 2100; xid++) {
                for (int i = 0; i < 5; i++) {
                    buffer.onRecord(wal.insert(xid, TABLE, bytes(800)));
                }
                buffer.onRecord(wal.commit(xid));
            }
            consumer.join();
            assertThat(buffer.counters().spilledTransactions()).isZero();
            assertThat(buffer.counters().memoryBytes()).isZero();
        }
    }

    @Test
    void recordsLargerThanAnyChunkGoStraightToDisk() throws InterruptedException {
        try (TransactionBuffer buffer = buffer(64 << 10)) {
            long first = wal.nextLsn();
            buffer.onRecord(wal.insert(100, TABLE, bytes(100)));
            long large = wal.nextLsn();
            buffer.onRecord(wal.update(100, TABLE, bytes(3_000_000), bytes(5000)));
            long last = wal.nextLsn();
            buffer.onRecord(wal.insert(100, TABLE, bytes(100)));
            buffer.onRecord(wal.commit(100));
            assertThat(commits.get(0).lsns()).containsExactly(first, large, last);
            assertThat(commits.get(0).records().get(1).dataHash())
                    .isEqualTo(Arrays.hashCode(bytes(5000)));
        }
    }
}
