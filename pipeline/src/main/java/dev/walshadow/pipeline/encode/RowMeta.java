package dev.walshadow.pipeline.encode;

import dev.walshadow.postgres.heap.TupleView;
import org.jspecify.annotations.Nullable;

/** Where a row comes from; mutable, reused for row after row. */
public final class RowMeta {
    /** What {@link #oldTid} is when there is none. */
    public static final long NO_TID = -1;

    private long commitPosition;
    private long commitMicros;
    private int xid;
    private long recordLsn;
    private long tid;
    private long oldTid = NO_TID;
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
     * Set once per row; forgets the old key and the old place.
     *
     * @param newRecordLsn low half of {@code _version}, its lowest bit free
     * @param newTid block number &lt;&lt; 16 | offset number
     */
    public RowMeta record(long newRecordLsn, long newTid) {
        recordLsn = newRecordLsn;
        tid = newTid;
        oldTid = NO_TID;
        oldKey = null;
        return this;
    }

    /** The place of the tuple that an UPDATE replaces, in the form of {@link #tid}. */
    public RowMeta oldTid(long newOldTid) {
        oldTid = newOldTid;
        return this;
    }

    /**
     * The old key, or whole old row, that an UPDATE logged: it supplies unchanged toasted values.
     */
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

    /** {@link #NO_TID} unless the row comes from an UPDATE. */
    public long oldTid() {
        return oldTid;
    }

    public @Nullable TupleView oldKey() {
        return oldKey;
    }
}
