package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import dev.walshadow.transaction.ToastValues;

/** No rows: carries a change of tables past the planner. */
record EmptyChanges(long commitPosition, long firstLsn) implements CommittedChanges {
    @Override
    public int xid() {
        return 0;
    }

    @Override
    public int databaseOid() {
        return 0;
    }

    @Override
    public long commitLsn() {
        return commitPosition;
    }

    @Override
    public long commitMicros() {
        return 0;
    }

    @Override
    public RecordCursor records() {
        return new RecordCursor() {
            @Override
            public boolean next(RawRecord into) {
                return false;
            }

            @Override
            public boolean chunkIsStable() {
                return true;
            }
        };
    }

    @Override
    public ToastValues toast() {
        return (int relation, int value, ByteBuilder out) -> false;
    }

    @Override
    public long recordCount() {
        return 0;
    }

    @Override
    public long bytes() {
        return 0;
    }

    @Override
    public void close() {}
}
