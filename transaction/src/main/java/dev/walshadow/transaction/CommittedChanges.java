package dev.walshadow.transaction;

import dev.walshadow.postgres.RelationLocator;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the pipeline consumes: the records of one committed transaction, or a chunk of the initial
 * load. May be read by several threads at once, each with its own {@link #records} cursor and its
 * own {@link #toast} view, until {@link #close}.
 */
public interface CommittedChanges extends AutoCloseable {
    /** The top-level transaction; 0 for a baseline. */
    int xid();

    int databaseOid();

    /** LSN of the transaction's first record: the resume floor while this is not durable (I5). */
    long firstLsn();

    /** LSN of the commit record's start. */
    long commitLsn();

    /** End of the commit record: the high half of the row version (I8); B for a baseline. */
    long commitPosition();

    /** Microseconds since 2000-01-01 00:00 UTC. */
    long commitMicros();

    /** Somebody asked that its rows are not sent; what it makes of tables counts. */
    default boolean ignored() {
        return false;
    }

    /** A new cursor over all records, in LSN order. */
    RecordCursor records();

    /** A new view of the values whose chunks are among these records. */
    ToastValues toast();

    /** Records kept; an upper bound where some were rolled back after they had been spilled. */
    long recordCount();

    /** Bytes of the stored records, in memory or spilled; an upper bound likewise. */
    long bytes();

    /**
     * The storage that the records change, that of TOAST relations too; perhaps some more. Looks at
     * every record in memory.
     *
     * @return null: not known, or more than a thousand
     */
    default @Nullable Set<RelationLocator> relations() {
        return null;
    }

    /**
     * Gives the memory back and deletes the spill file. Called once, by the consumer, when
     * everything has been encoded; from any thread; nothing handed out may be used after it.
     */
    @Override
    void close();
}
