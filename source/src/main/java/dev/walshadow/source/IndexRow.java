package dev.walshadow.source;

import dev.walshadow.postgres.wal.WalRecord;

/**
 * The few columns of pg_index rows that the filter looks at. Not thread safe.
 *
 * <pre>
 * pg_index, fixed part: 0 indexrelid  4 indrelid  8 indnatts (2)  10 indnkeyatts (2)  12 indisunique
 * </pre>
 *
 * Source: {@code src/include/catalog/pg_index.h}, PostgreSQL 15-18.
 */
final class IndexRow {
    private static final int INDEX = 0;
    private static final int TABLE = 4;
    private static final int UNIQUE = 12;

    private final InsertedRow row = new InsertedRow();

    /** Reads the row of an INSERT record; false where the record does not show it. */
    boolean wrapInsert(WalRecord record, int block) {
        return row.wrap(record, block, UNIQUE + 1);
    }

    int indexOid() {
        return row.getInt(INDEX);
    }

    int tableOid() {
        return row.getInt(TABLE);
    }

    /** What a key is at least. */
    boolean isUnique() {
        return row.getByte(UNIQUE) != 0;
    }
}
