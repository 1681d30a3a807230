package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;

/**
 * View over records of {@link ResourceManager#STORAGE}. Reused.
 *
 * <pre>
 * xl_smgr_create    0 RelFileLocator  12 i32 forkNum
 * xl_smgr_truncate  0 u32 blkno  4 RelFileLocator  16 i32 flags
 * </pre>
 *
 * Source: {@code src/include/catalog/storage_xlog.h}, PostgreSQL 15-18.
 */
public final class StorageRecord {
    public static final int XLOG_SMGR_CREATE = 0x10;
    public static final int XLOG_SMGR_TRUNCATE = 0x20;

    private static final int CREATE_FORK = 12;
    private static final int CREATE_LENGTH = 16;
    private static final int TRUNCATE_LOCATOR = 4;
    private static final int TRUNCATE_FLAGS = 16;
    private static final int TRUNCATE_LENGTH = 20;
    private static final int SMGR_TRUNCATE_HEAP = 1;

    private byte[] bytes = new byte[0];
    private int start;
    private int locator;
    private boolean create;

    public void wrap(WalRecord record) {
        bytes = record.buffer();
        start = record.mainDataOffset();
        int operation = record.info() & XLogLayout.XLR_RMGR_INFO_MASK;
        create = operation == XLOG_SMGR_CREATE;
        if (!create && operation != XLOG_SMGR_TRUNCATE) {
            throw record.corrupt("unknown storage record type " + operation);
        }
        if (record.mainDataLength() < (create ? CREATE_LENGTH : TRUNCATE_LENGTH)) {
            throw record.corrupt("a storage record is cut off");
        }
        locator = create ? start : start + TRUNCATE_LOCATOR;
    }

    public boolean isCreate() {
        return create;
    }

    public int tablespaceOid() {
        return LittleEndian.getInt(bytes, locator + XLogLayout.LOCATOR_TABLESPACE);
    }

    public int databaseOid() {
        return LittleEndian.getInt(bytes, locator + XLogLayout.LOCATOR_DATABASE);
    }

    public int relationNumber() {
        return LittleEndian.getInt(bytes, locator + XLogLayout.LOCATOR_RELATION);
    }

    /** Of a create; 0 for a truncate. */
    public int forkNumber() {
        return create ? LittleEndian.getInt(bytes, start + CREATE_FORK) : 0;
    }

    /** Of a truncate: the new number of blocks. */
    public int blockCount() {
        return create ? 0 : LittleEndian.getInt(bytes, start);
    }

    /** Whether it truncates the main fork. */
    public boolean truncatesMainFork() {
        return !create
                && (LittleEndian.getInt(bytes, start + TRUNCATE_FLAGS) & SMGR_TRUNCATE_HEAP) != 0;
    }
}
