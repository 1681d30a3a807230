package dev.walshadow.source;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.WalRecord;

/**
 * The one column of pg_class rows that the filter looks at.
 *
 * <pre>
 * pg_class, fixed part: 0 oid  4 relname (64)  68 relnamespace ... 104 relallvisible
 *   15-17: 108 reltoastrelid  112 relhasindex  113 relisshared  114 relpersistence
 *   18:    108 relallfrozen   112 reltoastrelid  116 relhasindex  117 relisshared
 *          118 relpersistence
 * </pre>
 *
 * Source: {@code src/include/catalog/pg_class.h}, PostgreSQL 15-18.
 */
final class ClassRow {
    private static final int PERSISTENCE_15 = 114;
    private static final int PERSISTENCE_18 = 118;
    private static final int TUPLE_HEADER_LENGTH = 23;

    private ClassRow() {}

    /** What an INSERT record says about relpersistence; permanent where it does not say. */
    static long persistenceOfInsert(WalRecord record, int block, int majorVersion) {
        int at = record.dataOffset(block);
        int length = record.dataLength(block);
        if (length < HeapRecordLayout.HEADER_LENGTH) {
            return Catalogs.CLASS_INSERTED_PERMANENT; // only a page image: unknown, so hold
        }
        int hoff = LittleEndian.getUnsignedByte(record.buffer(), at + HeapRecordLayout.HEADER_HOFF);
        int column =
                HeapRecordLayout.HEADER_LENGTH
                        + hoff
                        - TUPLE_HEADER_LENGTH
                        + (majorVersion >= 18 ? PERSISTENCE_18 : PERSISTENCE_15);
        boolean temporary =
                hoff >= TUPLE_HEADER_LENGTH
                        && column < length
                        && record.buffer()[at + column] == 't';
        return temporary ? Catalogs.CLASS_INSERTED_TEMPORARY : Catalogs.CLASS_INSERTED_PERMANENT;
    }
}
