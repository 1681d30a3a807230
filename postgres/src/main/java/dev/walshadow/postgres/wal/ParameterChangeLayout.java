package dev.walshadow.postgres.wal;

/**
 * {@code XLOG_PARAMETER_CHANGE} of {@link ResourceManager#XLOG}, written when the server starts
 * with other settings than before.
 *
 * <pre>
 *    0 i32 max_connections       4 i32 max_worker_processes   8 i32 max_wal_senders
 *   12 i32 max_prepared_xacts   16 i32 max_locks_per_xact    20 i32 wal_level
 *   24 u8 wal_log_hints         25 u8 track_commit_timestamp
 * </pre>
 *
 * Source: {@code src/include/access/xlog_internal.h} (xl_parameter_change), {@code
 * src/include/access/xlog.h} (WalLevel), PostgreSQL 15-18.
 */
public final class ParameterChangeLayout {
    public static final int WAL_LEVEL = 20;
    public static final int LENGTH = 26;

    public static final int WAL_LEVEL_MINIMAL = 0;
    public static final int WAL_LEVEL_REPLICA = 1;
    public static final int WAL_LEVEL_LOGICAL = 2;

    private ParameterChangeLayout() {}
}
