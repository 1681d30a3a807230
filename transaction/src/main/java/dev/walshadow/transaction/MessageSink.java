package dev.walshadow.transaction;

import dev.walshadow.postgres.wal.LogicalMessageRecord;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Takes the logical messages of the WAL that it wants, when they count. On the WAL pump. */
public interface MessageSink {
    /**
     * A message of the WAL.
     *
     * @param lsn where its record begins
     * @param xid the (sub)transaction that it is of
     */
    record Message(long lsn, int xid, String text) {}

    /** Whether nobody wants any. */
    default boolean isEmpty() {
        return false;
    }

    /**
     * The text of a message that is wanted; null: it is not.
     *
     * @param message valid until the return
     */
    @Nullable String wanted(LogicalMessageRecord message, long lsn);

    /** More than one transaction may keep. */
    void overflow(long lsn);

    /** Whether the rows of a transaction with these messages are not to be sent. */
    boolean ignores(List<Message> committed);

    /**
     * Messages that count from here on: of a commit, which has been handed over, or one that
     * belongs to no transaction.
     *
     * @param position the commit position, or the end of the message's record
     * @param micros the commit time, since 2000-01-01 UTC; 0: none
     */
    void counts(List<Message> messages, long position, long micros) throws InterruptedException;

    /** Nobody wants any. */
    MessageSink NONE =
            new MessageSink() {
                @Override
                public boolean isEmpty() {
                    return true;
                }

                @Override
                public @Nullable String wanted(LogicalMessageRecord message, long lsn) {
                    return null;
                }

                @Override
                public void overflow(long lsn) {}

                @Override
                public boolean ignores(List<Message> committed) {
                    return false;
                }

                @Override
                public void counts(List<Message> messages, long position, long micros) {}
            };
}
