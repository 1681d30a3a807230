package dev.walshadow.bootstrap.load;

import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.ToastValues;

/** Takes baseline rows: the pipeline. Thread safe. */
public interface BaselineSink {
    /** Blocks while the target does not keep up. Returns a number for {@link #await}. */
    long submit(CommittedChanges rows) throws InterruptedException;

    /** Waits until everything up to this number is durable. */
    void await(long number) throws InterruptedException;

    /**
     * Every out-of-line value of the backup is here now, before any table is complete.
     *
     * @param values thread safe; answers false once the loader is closed
     */
    default void toastReady(ToastValues values) {}

    /** The table's whole baseline is durable. */
    void tableComplete(int databaseOid, int relationOid) throws InterruptedException;

    /** Whether the chunks of TOAST relations are wanted as they are, too. */
    default boolean wantsChunks() {
        return false;
    }

    /** How many stored bytes of a value out of line are of use. */
    default int valueBytes() {
        return Integer.MAX_VALUE;
    }
}
