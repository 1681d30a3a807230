package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;

/**
 * View over {@code XLOG_PARAMETER_CHANGE}: settings that replay depends on. Reused.
 *
 * <pre>
 *    0 i32 MaxConnections   4 i32 max_worker_processes   8 i32 max_wal_senders
 *   12 i32 max_prepared_xacts   16 i32 max_locks_per_xact   20 i32 wal_level
 *   24 u8 wal_log_hints   25 u8 track_commit_timestamp
 * </pre>
 *
 * Source: {@code src/include/access/xlog_internal.h}, PostgreSQL 15-18.
 */
public final class ParameterChangeRecord {
    public static final int WAL_LEVEL_MINIMAL = 0;
    public static final int WAL_LEVEL_REPLICA = 1;
    public static final int WAL_LEVEL_LOGICAL = 2;

    private static final int LENGTH = 26;

    private byte[] bytes = new byte[0];
    private int start;

    public void wrap(WalRecord record) {
        bytes = record.buffer();
        start = record.mainDataOffset();
        if (record.mainDataLength() < LENGTH) {
            throw record.corrupt("a parameter change is cut off");
        }
    }

    public int maxConnections() {
        return LittleEndian.getInt(bytes, start);
    }

    public int maxWorkerProcesses() {
        return LittleEndian.getInt(bytes, start + 4);
    }

    public int maxWalSenders() {
        return LittleEndian.getInt(bytes, start + 8);
    }

    public int maxPreparedTransactions() {
        return LittleEndian.getInt(bytes, start + 12);
    }

    public int maxLocksPerTransaction() {
        return LittleEndian.getInt(bytes, start + 16);
    }

    public int walLevel() {
        return LittleEndian.getInt(bytes, start + 20);
    }
}
