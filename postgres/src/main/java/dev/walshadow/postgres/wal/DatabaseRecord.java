package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;

/**
 * View over records of {@link ResourceManager#DATABASE}. Reused.
 *
 * <pre>
 * CREATE_FILE_COPY  0 u32 db_id  4 u32 tablespace_id  8 u32 src_db_id  12 u32 src_tablespace_id
 * CREATE_WAL_LOG    0 u32 db_id  4 u32 tablespace_id
 * DROP              0 u32 db_id  4 i32 ntablespaces   8 u32 tablespace_ids[]
 * </pre>
 *
 * Source: {@code src/include/commands/dbcommands_xlog.h}, PostgreSQL 15-18.
 */
public final class DatabaseRecord {
    public static final int XLOG_DBASE_CREATE_FILE_COPY = 0x00;
    public static final int XLOG_DBASE_CREATE_WAL_LOG = 0x10;
    public static final int XLOG_DBASE_DROP = 0x20;

    private static final int SECOND = 4;
    private static final int SOURCE_DATABASE = 8;
    private static final int SOURCE_TABLESPACE = 12;
    private static final int TABLESPACES = 8;

    private byte[] bytes = new byte[0];
    private int start;
    private int operation;

    public void wrap(WalRecord record) {
        bytes = record.buffer();
        start = record.mainDataOffset();
        operation = record.info() & XLogLayout.XLR_RMGR_INFO_MASK;
        int length = record.mainDataLength();
        boolean whole =
                switch (operation) {
                    case XLOG_DBASE_CREATE_FILE_COPY -> length >= 16;
                    case XLOG_DBASE_CREATE_WAL_LOG -> length >= 8;
                    case XLOG_DBASE_DROP ->
                            length >= TABLESPACES
                                    && tablespaceCount() >= 0
                                    && (long) tablespaceCount() * Integer.BYTES
                                            <= length - TABLESPACES;
                    default -> throw record.corrupt("unknown database record type " + operation);
                };
        if (!whole) {
            throw record.corrupt("a database record is cut off");
        }
        if (databaseOid() == 0) {
            throw record.corrupt("a database record names database 0");
        }
    }

    public int operation() {
        return operation;
    }

    public int databaseOid() {
        return LittleEndian.getInt(bytes, start);
    }

    /** Of a create. */
    public int tablespaceOid() {
        return LittleEndian.getInt(bytes, start + SECOND);
    }

    /** Of a create by file copy. */
    public int sourceDatabaseOid() {
        return LittleEndian.getInt(bytes, start + SOURCE_DATABASE);
    }

    public int sourceTablespaceOid() {
        return LittleEndian.getInt(bytes, start + SOURCE_TABLESPACE);
    }

    /** Of a drop. */
    public int tablespaceCount() {
        return LittleEndian.getInt(bytes, start + SECOND);
    }

    public int tablespace(int i) {
        return LittleEndian.getInt(bytes, start + TABLESPACES + i * Integer.BYTES);
    }
}
