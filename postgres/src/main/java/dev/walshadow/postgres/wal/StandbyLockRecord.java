package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;

/**
 * View over {@code XLOG_STANDBY_LOCK}: AccessExclusive locks on relations. Reused.
 *
 * <pre>
 *    0 i32 nlocks   4 { u32 xid, u32 dbOid, u32 relOid } * nlocks
 * </pre>
 *
 * Source: {@code src/include/storage/standbydefs.h}, {@code lockdefs.h}, PostgreSQL 15-18.
 */
public final class StandbyLockRecord {
    private static final int LOCKS = 4;
    private static final int LOCK_LENGTH = 12;
    private static final int DATABASE = 4;
    private static final int RELATION = 8;

    private byte[] bytes = new byte[0];
    private int start;
    private int count;

    public void wrap(WalRecord record) {
        bytes = record.buffer();
        start = record.mainDataOffset();
        if (record.mainDataLength() < LOCKS) {
            throw record.corrupt("a list of locks is cut off");
        }
        count = LittleEndian.getInt(bytes, start);
        if (count < 0 || (long) count * LOCK_LENGTH > record.mainDataLength() - LOCKS) {
            throw record.corrupt("a list of " + count + " locks is cut off");
        }
    }

    public int count() {
        return count;
    }

    public int xid(int i) {
        return LittleEndian.getInt(bytes, start + LOCKS + i * LOCK_LENGTH);
    }

    /** 0 for shared relations. */
    public int databaseOid(int i) {
        return LittleEndian.getInt(bytes, start + LOCKS + i * LOCK_LENGTH + DATABASE);
    }

    /** The relation's OID, not its storage number. */
    public int relationOid(int i) {
        return LittleEndian.getInt(bytes, start + LOCKS + i * LOCK_LENGTH + RELATION);
    }
}
