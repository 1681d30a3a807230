package dev.walshadow.transaction;

/**
 * A transaction between PREPARE TRANSACTION and its end.
 *
 * @param ownerOid the role that prepared it
 * @param preparedMicros when, microseconds since 2000-01-01 UTC
 * @param firstLsn its first record, which holds the resume floor (I5)
 * @param preparedLsn the PREPARE record
 */
public record PreparedTransaction(
        String gid,
        int xid,
        int databaseOid,
        int ownerOid,
        long preparedMicros,
        long firstLsn,
        long preparedLsn) {}
