package dev.walshadow.benchmarks;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.TransactionRecordLayout;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import dev.walshadow.transaction.RecordFilter;
import dev.walshadow.transaction.TransactionBuffer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One transaction of 10,000 single-row inserts through the buffer, its records walked once and
 * closed at the commit. Per operation: one record. Target: at most 1 byte allocated per record.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class TransactionBufferBenchmark {
    private static final int ROWS = 10_000;
    private static final int ROW_BYTES = 150;
    private static final int DATABASE = 5;

    /** 64 MiB keeps the transaction in memory; 1 MiB makes it go to disk and come back. */
    @Param({"67108864", "1048576"})
    public long budget;

    private final WalRecord record = new WalRecord();
    private final RawRecord walked = new RawRecord();
    private final byte[] insert = insertRecord();
    private final byte[] commit = commitRecord();
    private Path directory = Path.of("");
    private TransactionBuffer buffer = unusable();
    private long lsn = 0x1_0000_0028L;
    private int xid = 1000;
    private long seen;

    /** Replaced by {@link #open}, before any use. */
    @SuppressWarnings("NullAway")
    private static TransactionBuffer unusable() {
        return null;
    }

    @Setup(Level.Trial)
    public void open() throws IOException {
        directory = Files.createTempDirectory("walshadow-spill");
        RecordFilter everything =
                new RecordFilter() {
                    @Override
                    public boolean keepsDatabase(int databaseOid) {
                        return databaseOid == DATABASE;
                    }

                    @Override
                    public boolean keepsRelation(int tablespace, int database, int relation) {
                        return database == DATABASE && relation >= 16384;
                    }
                };
        buffer =
                new TransactionBuffer(
                        new TransactionBuffer.Options(
                                budget, directory, 1, 18, everything, (l, n) -> 0, Duration.ZERO),
                        this::consume);
    }

    @TearDown(Level.Trial)
    public void close() throws IOException {
        buffer.close();
        Files.delete(directory);
    }

    private void consume(CommittedChanges changes) {
        RecordCursor cursor = changes.records();
        while (cursor.next(walked)) {
            seen += walked.lsn();
        }
        changes.close();
    }

    @Benchmark
    @OperationsPerInvocation(ROWS)
    public long appendAndCommit() throws InterruptedException {
        xid++;
        LittleEndian.putInt(insert, XLogLayout.XID, xid);
        LittleEndian.putInt(commit, XLogLayout.XID, xid);
        for (int i = 0; i < ROWS; i++) {
            next(insert);
        }
        next(commit);
        return seen;
    }

    private void next(byte[] bytes) throws InterruptedException {
        long end = lsn + XLogLayout.align(bytes.length);
        record.wrap(bytes, 0, bytes.length, lsn, end);
        lsn = end;
        buffer.onRecord(record);
    }

    private static byte[] insertRecord() {
        ByteBuilder out = new ByteBuilder(300);
        out.putZeros(XLogLayout.RECORD_HEADER_LENGTH);
        out.putByte(0);
        out.putByte(XLogLayout.BKPBLOCK_HAS_DATA);
        out.putShort(ROW_BYTES);
        out.putInt(1663);
        out.putInt(DATABASE);
        out.putInt(16500);
        out.putInt(7);
        out.putByte(XLogLayout.XLR_BLOCK_ID_DATA_SHORT);
        out.putByte(HeapRecordLayout.INSERT_LENGTH);
        out.putZeros(ROW_BYTES);
        out.putShort(1);
        out.putByte(HeapRecordLayout.XLH_INSERT_CONTAINS_NEW_TUPLE);
        return finished(out, ResourceManager.HEAP, HeapRecordLayout.XLOG_HEAP_INSERT);
    }

    private static byte[] commitRecord() {
        ByteBuilder out = new ByteBuilder(64);
        out.putZeros(XLogLayout.RECORD_HEADER_LENGTH);
        out.putByte(XLogLayout.XLR_BLOCK_ID_DATA_SHORT);
        out.putByte(Long.BYTES);
        out.putLong(1);
        return finished(out, ResourceManager.TRANSACTION, TransactionRecordLayout.XLOG_XACT_COMMIT);
    }

    private static byte[] finished(ByteBuilder out, int resourceManager, int info) {
        byte[] bytes = out.toByteArray();
        LittleEndian.putInt(bytes, XLogLayout.TOTAL_LENGTH, bytes.length);
        bytes[XLogLayout.INFO] = (byte) info;
        bytes[XLogLayout.RMID] = (byte) resourceManager;
        return bytes;
    }
}
