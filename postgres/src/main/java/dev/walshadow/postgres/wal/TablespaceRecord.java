package dev.walshadow.postgres.wal;

/**
 * Payload of {@link ResourceManager#TABLESPACE}.
 *
 * <pre>
 * xl_tblspc_create_rec  0 u32 ts_id  4 ts_path, NUL-terminated
 * xl_tblspc_drop_rec    0 u32 ts_id
 * </pre>
 *
 * Source: {@code src/include/commands/tablespace.h}, PostgreSQL 15-18.
 */
public final class TablespaceRecord {
    public static final int XLOG_TBLSPC_CREATE = 0x00;
    public static final int XLOG_TBLSPC_DROP = 0x10;
    public static final int PATH = 4;

    private TablespaceRecord() {}
}
