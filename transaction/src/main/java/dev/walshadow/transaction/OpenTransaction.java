package dev.walshadow.transaction;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A transaction without an end record yet: a top-level one with those of its subtransactions that
 * named it in their first record, or a subtransaction whose top level is not known before the
 * commit. Member of the buffer's list, which is in order of {@link #firstLsn}.
 */
final class OpenTransaction {
    private static final int MAX_MESSAGES = 100;

    private final int xid;
    private final long firstLsn;
    private final Arena arena;
    private final SpeculativeInserts speculative = new SpeculativeInserts();
    private List<MessageSink.Message> messages = List.of();

    /** Entries of the buffer's subtransaction map that point here. */
    int links;

    /** A subtransaction has joined: the commit's list decides which records count. */
    boolean hasSubtransactions;

    boolean prepared;
    boolean ended;
    @Nullable OpenTransaction previous;
    @Nullable OpenTransaction next;

    OpenTransaction(int xid, long firstLsn, ChunkPool pool) {
        this.xid = xid;
        this.firstLsn = firstLsn;
        arena = new Arena(pool);
    }

    int xid() {
        return xid;
    }

    /** LSN of the first record of any kind: the floor below which a restart must begin (I5). */
    long firstLsn() {
        return firstLsn;
    }

    Arena arena() {
        return arena;
    }

    /** What its end must know of. */
    List<MessageSink.Message> messages() {
        return messages;
    }

    /** False if it has as many as one may have. */
    boolean add(MessageSink.Message message) {
        if (messages.size() == MAX_MESSAGES) {
            return false;
        }
        if (messages.isEmpty()) {
            messages = new ArrayList<>();
        }
        messages.add(message);
        return true;
    }

    SpeculativeInserts speculative() {
        return speculative;
    }

    /** PostgreSQL confirms a speculative insert before its transaction can commit. */
    void cancelUnconfirmed() {
        for (long position = speculative.takeAny();
                position >= 0;
                position = speculative.takeAny()) {
            arena.cancel(position);
        }
    }
}
