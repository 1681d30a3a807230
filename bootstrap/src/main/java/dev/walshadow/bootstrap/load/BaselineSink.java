package dev.walshadow.bootstrap.load;

import dev.walshadow.transaction.CommittedChanges;

/** Takes baseline rows: the pipeline. Thread safe. */
public interface BaselineSink {
    /** Blocks while the target does not keep up. Returns a number for {@link #await}. */
    long submit(CommittedChanges rows) throws InterruptedException;

    /** Waits until everything up to this number is durable. */
    void await(long number) throws InterruptedException;

    /** The table's whole baseline is durable. */
    void tableComplete(int databaseOid, int relationOid) throws InterruptedException;
}
