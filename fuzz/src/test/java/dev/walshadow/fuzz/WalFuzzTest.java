package dev.walshadow.fuzz;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.BlockImage;
import dev.walshadow.postgres.wal.CheckpointRecord;
import dev.walshadow.postgres.wal.DatabaseRecord;
import dev.walshadow.postgres.wal.LongHeapRecord;
import dev.walshadow.postgres.wal.NoopRecord;
import dev.walshadow.postgres.wal.ParameterChangeRecord;
import dev.walshadow.postgres.wal.RelationMapRecord;
import dev.walshadow.postgres.wal.RunningXactsRecord;
import dev.walshadow.postgres.wal.StandbyLockRecord;
import dev.walshadow.postgres.wal.StorageRecord;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.WalChecksum;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.WalSegmentReader;
import dev.walshadow.postgres.wal.XLogLayout;
import dev.walshadow.source.OfflineFilter;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.WalInspector;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.Arrays;
import java.util.List;

/** WAL of any bytes: pages, record headers, every payload that is looked into, the filter. */
final class WalFuzzTest {
    private interface Payload {
        void wrap(WalRecord record);
    }

    private static final long LSN = 0x0300_0028L;

    private final byte[] page = new byte[XLogLayout.PAGE_SIZE];

    /** First byte: the major version; the rest: a record without its right length. */
    @FuzzTest(maxDuration = "1m")
    void record(byte[] bytes) {
        if (bytes.length < 1 + XLogLayout.RECORD_HEADER_LENGTH) {
            return;
        }
        byte[] copy = Arrays.copyOfRange(bytes, 1, bytes.length);
        LittleEndian.putInt(copy, XLogLayout.TOTAL_LENGTH, copy.length);
        WalRecord record = new WalRecord();
        try {
            record.wrap(copy, 0, copy.length, LSN, LSN + XLogLayout.align(copy.length));
        } catch (HaltException e) {
            return;
        }
        bounds(record);
        TransactionRecord transaction = new TransactionRecord(FuzzedWal.major(bytes[0]));
        List<Payload> payloads =
                List.of(
                        transaction::wrap,
                        new RunningXactsRecord()::wrap,
                        new CheckpointRecord()::wrap,
                        new DatabaseRecord()::wrap,
                        new RelationMapRecord()::wrap,
                        new StorageRecord()::wrap,
                        new StandbyLockRecord()::wrap,
                        new ParameterChangeRecord()::wrap);
        for (Payload payload : payloads) {
            try {
                payload.wrap(record);
            } catch (HaltException e) {
                Invariant.check(e.getMessage() != null, "a failure has a message");
            }
        }
        readAll(transaction, record);
        images(record);
        noop(record);
        shortened(copy);
    }

    /** I10: what becomes of a record that is too long to be kept. */
    private static void shortened(byte[] copy) {
        if (!LongHeapRecord.isKind(copy, 0)) {
            return;
        }
        byte[] beginning = copy.clone();
        int length = LongHeapRecord.shorten(beginning, copy.length, LSN);
        if (length > 0) {
            Invariant.check(length <= copy.length, "a shortened record is shorter");
            WalRecord record = new WalRecord();
            record.wrap(beginning, 0, length, LSN, LSN + XLogLayout.align(copy.length));
            bounds(record);
        }
    }

    private static void bounds(WalRecord record) {
        for (int i = 0; i < record.blockCount(); i++) {
            Invariant.check(
                    inside(record, record.dataOffset(i), record.dataLength(i))
                            && inside(record, record.imageOffset(i), record.imageLength(i)),
                    "a block's image and data lie inside their record");
        }
        Invariant.check(
                inside(record, record.mainDataOffset(), record.mainDataLength()),
                "the main data lies inside its record");
    }

    private static boolean inside(WalRecord record, int offset, int length) {
        return offset >= record.offset()
                && length >= 0
                && offset + length <= record.offset() + record.length();
    }

    private static void readAll(TransactionRecord transaction, WalRecord record) {
        try {
            transaction.wrap(record);
        } catch (HaltException e) {
            return;
        }
        long sum = 0;
        for (int i = 0; i < transaction.subxactCount(); i++) {
            sum += transaction.subxact(i);
        }
        for (int i = 0; i < transaction.relationCount(); i++) {
            sum += transaction.relation(i).hashCode();
        }
        for (int i = 0; i < transaction.abortRelationCount(); i++) {
            sum += transaction.abortRelation(i).hashCode();
        }
        for (int i = 0; i < transaction.invalidationCount(); i++) {
            sum += transaction.invalidationKind(i) + transaction.invalidationDatabase(i);
            sum += transaction.invalidationObject(i);
        }
        Invariant.check(sum != Long.MIN_VALUE && transaction.gid().length() <= 200, "all is read");
    }

    private void images(WalRecord record) {
        BlockImage image = new BlockImage();
        for (int i = 0; i < record.blockCount(); i++) {
            if (record.hasImage(i)) {
                try {
                    image.restore(record, i, page);
                } catch (HaltException e) {
                    Invariant.check(e.getMessage() != null, "a failure has a message");
                }
            }
        }
    }

    /** I3, I4: what the filter makes of it has its length, its xl_prev, and a right CRC. */
    private static void noop(WalRecord record) {
        byte[] copy = record.buffer().clone();
        new NoopRecord().rewrite(copy, 0, copy.length);
        WalRecord rewritten = new WalRecord();
        rewritten.wrap(copy, 0, copy.length, record.lsn(), record.nextLsn());
        new WalChecksum().verify(copy, 0, copy.length, record.lsn());
        Invariant.check(
                rewritten.length() == record.length()
                        && rewritten.previousLsn() == record.previousLsn(),
                "a rewritten record keeps its length and its chain");
    }

    @FuzzTest(maxDuration = "1m")
    void segment(byte[] bytes) {
        byte[] pages = Arrays.copyOf(bytes, Math.max(1, (bytes.length + 8191) / 8192) * 8192);
        inspect(pages);
    }

    /** First byte: the major version; the rest: records, behind their checksums. */
    @FuzzTest(maxDuration = "1m")
    void records(byte[] bytes) throws InterruptedException {
        if (bytes.length == 0) {
            return;
        }
        byte[] segment = FuzzedWal.segment(FuzzedWal.major(bytes[0]), bytes, 1);
        inspect(segment);
        long[] published = new long[1];
        OfflineFilter filter =
                new OfflineFilter((lsn, from, offset, length) -> published[0] += length, null);
        try {
            long end = filter.add(segment);
            long start = new WalSegmentReader(segment).start();
            Invariant.check(end > start, "a segment has an end");
        } catch (HaltException e) {
            Invariant.check(published[0] <= segment.length, "nothing is published twice");
        }
    }

    private static void inspect(byte[] segment) {
        try {
            WalInspector inspector = new WalInspector(segment);
            WalInspector.Summary summary =
                    inspector.print(new PrintWriter(Writer.nullWriter(), false));
            Invariant.check(summary.bytes() <= segment.length, "records lie inside their segment");
        } catch (HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    /** A resume point of the archive, its checksum mended. */
    @FuzzTest(maxDuration = "1m")
    void resumePoint(byte[] bytes) {
        try {
            StreamSnapshot.decode(bytes, "raw");
        } catch (HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
        byte[] sealed = Sealed.withChecksum(bytes);
        try {
            StreamSnapshot snapshot = StreamSnapshot.decode(sealed, "sealed");
            Invariant.check(
                    Arrays.equals(snapshot.encode(), sealed), "what is read is written again");
        } catch (HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
