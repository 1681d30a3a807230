package dev.walshadow.source;

import dev.walshadow.postgres.wal.WalRecord;
import java.util.LinkedHashMap;

/**
 * Relations that were seen to be created and whose own rows in pg_class, pg_attribute and pg_index
 * no captured shape contains: temporary tables, views, indexes that are no key. One that is not
 * remembered (the oldest are forgotten, and nothing outlasts the process) counts as one that
 * matters. Single-threaded.
 */
final class ShapelessRelations {
    private static final int INDEX_LIMIT = 1 << 18;
    private final ClassRow classRow;
    private final IndexRow indexRow = new IndexRow();

    /** Never captured, nor do captured ones depend on them. */
    private final RelationSet neverCaptured = new RelationSet();

    /** Not unique, so of no table's shape. */
    private final RelationSet plainIndexes = new RelationSet();

    /** What such indexes were made on: no indexes, so without rows in pg_index. */
    private final RelationSet indexed = new RelationSet();

    /** The table of each known index. */
    private final LinkedHashMap<Long, Integer> tables = new LinkedHashMap<>();

    ShapelessRelations(int majorVersion) {
        classRow = new ClassRow(majorVersion);
    }

    /** Notes a row of pg_class; returns bits of {@link Catalogs}. */
    long classInsert(WalRecord record, int block) {
        if (!classRow.wrapInsert(record, block)) {
            clear();
            return Catalogs.CLASS_INSERTED_CAPTURED;
        }
        int databaseOid = record.databaseOid(block);
        int oid = classRow.oid();
        neverCaptured.remove(databaseOid, oid);
        plainIndexes.remove(databaseOid, oid);
        indexed.remove(databaseOid, oid);
        tables.remove(RelationSet.key(databaseOid, oid));
        if (classRow.isNeverCaptured()) {
            neverCaptured.add(databaseOid, oid);
            return 0;
        }
        return classRow.isIndex() ? 0 : Catalogs.CLASS_INSERTED_CAPTURED;
    }

    /** Notes a row of pg_index; returns bits of {@link Catalogs}. */
    long indexInsert(WalRecord record, int block) {
        if (!indexRow.wrapInsert(record, block)) {
            plainIndexes.clear();
            return Catalogs.KEY_INSERTED;
        }
        int databaseOid = record.databaseOid(block);
        if (neverCaptured.contains(databaseOid, indexRow.indexOid())) {
            return 0;
        }
        know(databaseOid, indexRow.indexOid(), indexRow.tableOid());
        if (indexRow.isUnique()) {
            plainIndexes.remove(databaseOid, indexRow.indexOid());
            return Catalogs.KEY_INSERTED;
        }
        plainIndexes.add(databaseOid, indexRow.indexOid());
        indexed.add(databaseOid, indexRow.tableOid());
        return 0;
    }

    /** Whether an UPDATE of a pg_class row proves that it keeps name, schema and storage. */
    boolean keepsPlace(WalRecord record, int block) {
        return classRow.keepsPlace(record, block);
    }

    /** Whether an UPDATE of a pg_class row proves that it keeps what is captured. */
    boolean keepsCapturedColumns(WalRecord record, int block) {
        return classRow.keepsCapturedColumns(record, block);
    }

    /** After rows that were not looked at: any OID may be another relation's by now. */
    void clear() {
        neverCaptured.clear();
        plainIndexes.clear();
        indexed.clear();
        tables.clear();
    }

    /** An index of this table; what was seen of its OID since comes first. */
    void know(int databaseOid, int indexOid, int tableOid) {
        tables.putIfAbsent(RelationSet.key(databaseOid, indexOid), tableOid);
        if (tables.size() > INDEX_LIMIT) {
            tables.pollFirstEntry();
        }
    }

    /** The table of an index; 0 if it is not known to be one. */
    int tableOf(int databaseOid, int relationOid) {
        return tables.getOrDefault(RelationSet.key(databaseOid, relationOid), 0);
    }

    boolean isNeverCaptured(int databaseOid, int relationOid) {
        return neverCaptured.contains(databaseOid, relationOid);
    }

    /** Whether it has no row in pg_index that belongs to a shape. */
    boolean isNoKey(int databaseOid, int relationOid) {
        return plainIndexes.contains(databaseOid, relationOid)
                || indexed.contains(databaseOid, relationOid)
                || neverCaptured.contains(databaseOid, relationOid);
    }
}
