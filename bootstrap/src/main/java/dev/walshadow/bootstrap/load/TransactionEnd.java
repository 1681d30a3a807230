package dev.walshadow.bootstrap.load;

/**
 * How a (sub)transaction that was open at the backup's start ended.
 *
 * @param lsn start of its end record; 0 if it had ended before the backup's start
 * @param position commit position (end of that record), 0 likewise
 * @param commitMicros microseconds since 2000-01-01, 0 for an abort
 */
public record TransactionEnd(
        int xid, boolean committed, long lsn, long position, long commitMicros) {
    boolean beforeBackup() {
        return position == 0;
    }
}
