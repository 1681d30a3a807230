package dev.walshadow.daemon.inspect;

import java.util.List;

/**
 * One source table and what becomes of it.
 *
 * @param database of the source
 * @param state of the ledger, in lower case; {@code not selected} if it is in none
 * @param reason why it does not replicate, else empty
 * @param target {@code database.table} in ClickHouse; empty if there is none
 * @param engine with sorting key and settings, as ClickHouse prints it; empty if the table is not
 *     there
 * @param columns in source order, then those that only ClickHouse has
 */
public record TableReport(
        String source,
        String database,
        int oid,
        String state,
        String reason,
        String target,
        String engine,
        List<Column> columns) {
    /**
     * A column on both sides; what is absent on one is empty.
     *
     * @param sourceType PostgreSQL's type name, with its modifier as a number
     * @param mappedType what the mapping wants in ClickHouse
     * @param targetType what ClickHouse has
     * @param key part of the key
     */
    public record Column(
            String source,
            String sourceType,
            String target,
            String mappedType,
            String targetType,
            boolean key) {
        /** Whether ClickHouse has what the mapping wants. */
        public boolean fits() {
            return mappedType.equals(targetType);
        }
    }

    public TableReport {
        columns = List.copyOf(columns);
    }
}
