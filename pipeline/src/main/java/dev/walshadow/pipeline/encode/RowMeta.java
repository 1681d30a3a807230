package dev.walshadow.pipeline.encode;

import dev.walshadow.postgres.heap.TupleView;
import org.jspecify.annotations.Nullable;

/** Where a row comes from; mutable, reused for row after row. */
public final class RowMeta {
    private long commitPosition;
    private long commitMicros;
    private int xid;
    private long recordLsn;
    private long tid;
    private @Nullable TupleView oldKey;

    /**
     * Set once per transaction.
     *
     * @param newCommitPosition high half of {@code _version} (I8)
     * @param newCommitMicros microseconds since 2000-01-01
     * @param newXid the top-level transaction; 0 for baseline rows
     */
    public RowMeta transaction(long newCommitPosition, long newCommitMicros, int newXid) {
        commitPosition = newCommitPosition;
        commitMicros = newCommitMicros;
        xid = newXid;
        return this;
    }

    /**
     * Set once per record; forgets the old key.
     *
     * @param newRecordLsn low half of {@code _version}, its lowest bit free
     * @param newTid block number &lt;&lt; 16 | offset number
     */
    public RowMeta record(long newRecordLsn, long newTid) {
        recordLsn = newRecordLsn;
        tid = newTid;
        oldKey = null;
        return this;
    }

    /** The old key that an UPDATE logged: it supplies key columns that are toasted unchanged. */
    public RowMeta oldKey(@Nullable TupleView newOldKey) {
        oldKey = newOldKey;
        return this;
    }

    public long commitPosition() {
        return commitPosition;
    }

    public long commitMicros() {
        return commitMicros;
    }

    public int xid() {
        return xid;
    }

    public long recordLsn() {
        return recordLsn;
    }

    public long tid() {
        return tid;
    }

    public @Nullable TupleView oldKey() {
        return oldKey;
    }
}
