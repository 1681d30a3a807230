package dev.walshadow.postgres;

/**
 * Where a relation's storage lives: PostgreSQL's RelFileLocator (RelFileNode before 16). OIDs and
 * numbers are unsigned 32-bit values in ints. Relation numbers repeat across tablespaces and
 * databases, so only the full triple identifies storage. Source: {@code
 * src/include/storage/relfilelocator.h}.
 *
 * @param tablespaceOid never 0 in WAL: 1663 pg_default, 1664 pg_global
 * @param databaseOid 0 for shared relations
 */
public record RelationLocator(int tablespaceOid, int databaseOid, int relationNumber) {
    @Override
    public String toString() {
        return Integer.toUnsignedString(tablespaceOid)
                + "/"
                + Integer.toUnsignedString(databaseOid)
                + "/"
                + Integer.toUnsignedString(relationNumber);
    }
}
