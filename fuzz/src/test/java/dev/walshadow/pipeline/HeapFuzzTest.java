package dev.walshadow.pipeline;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.fuzz.FuzzedWal;
import dev.walshadow.fuzz.TestFile;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.WalSegmentReader;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import dev.walshadow.transaction.RecordFilter;
import dev.walshadow.transaction.TransactionBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Heap and transaction records of any payload: through the buffer, to rows inside their record. */
final class HeapFuzzTest {
    private static final Path SPILL = TestFile.folder("buffer");
    private static final int DATABASE = 5;
    private static final int TOAST = 17_000;

    private static final RecordFilter ALL =
            new RecordFilter() {
                @Override
                public boolean keepsDatabase(int databaseOid) {
                    return true;
                }

                @Override
                public boolean keepsRelation(
                        int tablespaceOid, int databaseOid, int relationNumber) {
                    return true;
                }
            };

    private static TargetTable table(List<Integer> key) {
        RelationDescriptor shape =
                new RelationDescriptor(
                        16_500,
                        DATABASE,
                        new RelationName("public", "fuzzed"),
                        'r',
                        'p',
                        new RelationLocator(1663, DATABASE, 16_500),
                        TOAST,
                        0,
                        'd',
                        "heap",
                        0,
                        List.of(
                                new AttributeDescriptor(
                                        1, "id", 23, -1, 4, true, 'i', 'p', true, false, '\0',
                                        null)),
                        key,
                        List.of(),
                        List.of(
                                new TypeDescriptor(
                                        23,
                                        "pg_catalog",
                                        "int4",
                                        'b',
                                        'N',
                                        0,
                                        0,
                                        -1,
                                        4,
                                        true,
                                        'i')));
        if (TableMapping.derive(shape, MappingRules.defaults())
                instanceof Derivation.Mapped(TableMapping mapping, var _)) {
            return new TargetTable(shape, mapping, SourceEncoding.UTF8, TableState.LIVE, 0, null);
        }
        throw new IllegalStateException("the table has a mapping");
    }

    private final TargetTable keyed = table(List.of(1));
    private final TargetTable keyless = table(List.of());

    /** First byte: the major version; the rest: records, as {@link FuzzedWal} takes them. */
    @FuzzTest(maxDuration = "1m")
    void records(byte[] bytes) throws InterruptedException {
        if (bytes.length == 0) {
            return;
        }
        int major = FuzzedWal.major(bytes[0]);
        WalSegmentReader reader = new WalSegmentReader(FuzzedWal.segment(major, bytes, 1));
        TransactionBuffer.Options options =
                new TransactionBuffer.Options(
                        16 << 10,
                        SPILL,
                        4711,
                        major,
                        ALL,
                        (locator, lsn) -> (locator.relationNumber() & 1) == 0 ? 0 : TOAST,
                        Duration.ofMillis(1));
        try (TransactionBuffer buffer = new TransactionBuffer(options, this::commit)) {
            WalRecord record = new WalRecord();
            while (reader.next(record)) {
                buffer.onRecord(record);
                long floor = buffer.resumeFloor(record.nextLsn());
                Invariant.check(
                        floor >= reader.start() && floor <= record.nextLsn(), "a floor is a floor");
            }
        } catch (HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    private void commit(CommittedChanges changes) {
        try (changes) {
            RawRecord record = new RawRecord();
            RecordCursor cursor = changes.records();
            while (cursor.next(record)) {
                rows(keyed, record);
                rows(keyless, record);
            }
            ByteBuilder value = new ByteBuilder(64);
            boolean found = changes.toast().append(TOAST, 1, value);
            Invariant.check(found || value.length() == 0, "nothing is appended for no value");
        }
    }

    private static void rows(TargetTable table, RawRecord record) {
        try {
            Invariant.check(
                    HeapChanges.isTruncate(record) || HeapChanges.count(record) >= 0,
                    "a record changes a number of rows");
            new HeapChanges().decode(table, record, new RowMeta().transaction(1, 1, 1), new Rows());
        } catch (QuarantineException | HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    private static final class Rows implements HeapChanges.Handler {
        @Override
        public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta meta) {
            Invariant.check(
                    tuple.dataOffset() <= tuple.end()
                            && (oldKey == null || oldKey.dataOffset() <= oldKey.end()),
                    "a tuple has an inside");
            return true;
        }

        @Override
        public void tombstone(@Nullable TupleView key, RowMeta meta) {
            Invariant.check(key == null || key.dataOffset() <= key.end(), "a key has an inside");
        }
    }
}
