package dev.walshadow.bootstrap.load;

import dev.walshadow.transaction.ChunkCursor;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RecordCursor;
import dev.walshadow.transaction.ToastValues;
import java.util.function.Supplier;

/** Some rows of the initial load, as the pipeline takes them. */
public final class BaselineChunk implements CommittedChanges {
    /** Versions of these rows, and what gives their memory back. */
    public record Origin(int xid, int databaseOid, long lsn, long position, long commitMicros) {}

    private final Origin origin;
    private final byte[] bytes;
    private final int length;
    private final long records;
    private final Supplier<ToastValues> toast;
    private final Runnable release;

    /**
     * @param bytes stored records, from index 0; the chunk's until it is closed
     * @param release called when nothing is read any more
     */
    public BaselineChunk(
            Origin origin,
            byte[] bytes,
            int length,
            long records,
            Supplier<ToastValues> toast,
            Runnable release) {
        this.origin = origin;
        this.bytes = bytes;
        this.length = length;
        this.records = records;
        this.toast = toast;
        this.release = release;
    }

    @Override
    public int xid() {
        return origin.xid();
    }

    @Override
    public int databaseOid() {
        return origin.databaseOid();
    }

    @Override
    public long firstLsn() {
        return origin.lsn();
    }

    @Override
    public long commitLsn() {
        return origin.lsn();
    }

    @Override
    public long commitPosition() {
        return origin.position();
    }

    @Override
    public long commitMicros() {
        return origin.commitMicros();
    }

    @Override
    public RecordCursor records() {
        return new ChunkCursor(bytes, length);
    }

    @Override
    public ToastValues toast() {
        return toast.get();
    }

    @Override
    public long recordCount() {
        return records;
    }

    @Override
    public long bytes() {
        return length;
    }

    @Override
    public void close() {
        release.run();
    }
}
