package dev.walshadow.source;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.WalRecord;

/**
 * The few columns of pg_class rows that the filter looks at. Not thread safe.
 *
 * <pre>
 * pg_class, fixed part: 0 oid  4 relname (64)  68 relnamespace ... 88 relfilenode
 *          92 reltablespace ... 104 relallvisible
 *   15-17: 108 reltoastrelid  112 relhasindex  113 relisshared  114 relpersistence
 *          115 relkind ... 127 relispartition  128 relrewrite
 *   18:    108 relallfrozen   112 reltoastrelid  116 relhasindex  117 relisshared
 *          118 relpersistence 119 relkind ... 131 relispartition  132 relrewrite
 * then relfrozenxid, relminmxid, and what may be NULL: relacl, reloptions, relpartbound
 * </pre>
 *
 * Source: {@code src/include/catalog/pg_class.h}, PostgreSQL 15-18.
 */
final class ClassRow {
    private static final int OID = 0;

    /** Behind reltablespace. */
    private static final int END_OF_PLACE = 96;

    private static final int PERSISTENCE_15 = 114;
    private static final int PERSISTENCE_18 = 118;

    /** Counted from relpersistence. */
    private static final int KIND = 1;

    /** Counted from relpersistence: behind relispartition, the last column that is captured. */
    private static final int END_OF_CAPTURED = 14;

    private final int persistence;
    private final InsertedRow row = new InsertedRow();

    ClassRow(int majorVersion) {
        persistence = majorVersion >= 18 ? PERSISTENCE_18 : PERSISTENCE_15;
    }

    /** Reads the row of an INSERT record; false where the record does not show it. */
    boolean wrapInsert(WalRecord record, int block) {
        return row.wrap(record, block, persistence + KIND + 1);
    }

    int oid() {
        return row.getInt(OID);
    }

    /** A temporary relation, or one without rows that any table depends on. */
    boolean isNeverCaptured() {
        byte kind = row.getByte(persistence + KIND);
        return row.getByte(persistence) == 't' || kind == 'v' || kind == 'f';
    }

    /** An index of one table; what it means to that table is in its pg_index row. */
    boolean isIndex() {
        return row.getByte(persistence + KIND) == 'i';
    }

    /**
     * True if an UPDATE record proves that name, schema and storage stayed (ADD COLUMN, REPLICA
     * IDENTITY).
     */
    boolean keepsPlace(WalRecord record, int block) {
        return keptLength(record, block) >= END_OF_PLACE;
    }

    /**
     * True if an UPDATE record proves that no captured column changed (GRANT, SET of a storage
     * parameter).
     */
    boolean keepsCapturedColumns(WalRecord record, int block) {
        return keptLength(record, block) >= persistence + END_OF_CAPTURED;
    }

    /** With how many bytes of the old row the new one begins at least. */
    private static int keptLength(WalRecord record, int block) {
        int flags = record.mainDataOffset() + HeapRecordLayout.UPDATE_FLAGS;
        boolean told =
                record.hasData(block)
                        && record.dataLength(block) >= Short.BYTES
                        && record.mainDataLength() >= HeapRecordLayout.UPDATE_LENGTH
                        && (record.buffer()[flags] & HeapRecordLayout.XLH_UPDATE_PREFIX_FROM_OLD)
                                != 0;
        return told ? LittleEndian.getUnsignedShort(record.buffer(), record.dataOffset(block)) : 0;
    }
}
