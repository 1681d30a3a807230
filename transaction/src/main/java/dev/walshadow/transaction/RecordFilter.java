package dev.walshadow.transaction;

/**
 * Which heap records are worth keeping until their commit. Called for every heap record by the WAL
 * pump: fast, without allocation. What it refuses still counts for the resume floor (I5).
 */
public interface RecordFilter {
    /** False for a database that is not followed. */
    boolean keepsDatabase(int databaseOid);

    /** False for catalogs and everything else that can hold no row to replicate. */
    boolean keepsRelation(int tablespaceOid, int databaseOid, int relationNumber);
}
