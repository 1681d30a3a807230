package dev.walshadow.bootstrap.reload;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.bootstrap.load.BaselineChunk;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapTupleLayout;
import dev.walshadow.transaction.BaselineRecords;
import java.sql.SQLException;
import java.util.Objects;
import org.postgresql.copy.CopyOut;

/**
 * Reads the chunks of a table's TOAST relation that a snapshot shows, and hands them on as the
 * records of their insertion. Used once, by one thread.
 */
final class ChunkCopy {
    private static final int COLUMNS = 3;
    private static final int CTID = 0;
    private static final int CHUNK_ID = 1;
    private static final int CHUNK_SEQUENCE = 2;
    private static final int CHUNK_DATA = 3;

    /** Its null bitmap is absent: t_hoff is the header's length, aligned. */
    private static final int HEADER_LENGTH = 24;

    private final RelationDescriptor toast;
    private final RelationLocator locator;
    private final BaselineChunk.Origin origin;
    private final int bytesLimit;
    private final TableLoad.Rows target;
    private final CopyStream stream = new CopyStream(COLUMNS + 1);
    private ByteBuilder records;

    /**
     * @param toast the TOAST relation as it is under the table's lock
     * @param bytesLimit of what is handed on at once
     */
    ChunkCopy(
            RelationDescriptor toast,
            BaselineChunk.Origin origin,
            int bytesLimit,
            TableLoad.Rows target) {
        this.toast = toast;
        this.locator = Objects.requireNonNull(toast.locator(), "a TOAST relation has storage");
        this.origin = origin;
        this.bytesLimit = bytesLimit;
        this.target = target;
        this.records = new ByteBuilder(bytesLimit);
    }

    String sql() {
        return "COPY (SELECT ctid, chunk_id, chunk_seq, chunk_data FROM "
                + CopySql.plain(toast.name())
                + ") TO STDOUT (FORMAT binary)";
    }

    void run(CopyOut copy) throws SQLException, InterruptedException {
        for (byte[] message = copy.readFromCopy(); message != null; message = copy.readFromCopy()) {
            stream.add(message);
            while (stream.next()) {
                chunk();
                if (records.length() >= bytesLimit) {
                    submit();
                }
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }
        if (!stream.ended()) {
            throw new SQLException("malformed COPY stream: it broke off", "08P01");
        }
        submit();
    }

    private void chunk() {
        byte[] bytes = stream.buffer();
        int tid = stream.offset(CTID);
        int start =
                BaselineRecords.beginChunk(
                        records,
                        locator,
                        CopyStream.int4(bytes, tid),
                        (bytes[tid + 4] & 0xFF) << 8 | (bytes[tid + 5] & 0xFF));
        records.putShort(COLUMNS);
        records.putShort(HeapTupleLayout.HEAP_HASVARWIDTH);
        records.putByte(HEADER_LENGTH);
        records.putZeros(HEADER_LENGTH - HeapTupleLayout.LENGTH);
        records.putInt(CopyStream.int4(bytes, stream.offset(CHUNK_ID)));
        records.putInt(CopyStream.int4(bytes, stream.offset(CHUNK_SEQUENCE)));
        int length = stream.length(CHUNK_DATA);
        records.putInt((length + Integer.BYTES) << 2);
        records.putBytes(bytes, stream.offset(CHUNK_DATA), length);
        BaselineRecords.end(records, start);
    }

    private void submit() throws InterruptedException {
        if (records.length() == 0) {
            return;
        }
        ByteBuilder full = records;
        records = new ByteBuilder(bytesLimit);
        target.submit(
                new BaselineChunk(
                        origin,
                        full.array(),
                        full.length(),
                        0,
                        () -> (_, _, _) -> false,
                        () -> {}));
    }
}
