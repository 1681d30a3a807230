package dev.walshadow.pipeline;

import org.jspecify.annotations.Nullable;

/**
 * What becomes of a table's changes while its rows are read from the source: what the rows contain
 * is left out, all the rest is sent. Until it is known what they contain,
 *
 * <ul>
 *   <li>nothing has been asked yet: all changes are left out, since the snapshot will see them;
 *   <li>a snapshot is about to be taken: changes from then on are kept;
 *   <li>it has been taken: they are told apart by their transactions.
 * </ul>
 *
 * <p>{@link #keep} on the table's worker, the rest by the load; asked by the worker.
 */
final class LoadFilter {
    /** What becomes of a change. */
    enum Verdict {
        SEND,
        /** The rows contain it, and it may come again unless it needs a value from before it. */
        SEND_WHOLE,
        /** It is not known yet. */
        KEEP,
        LEAVE_OUT
    }

    /**
     * @param containedTo commits up to here are in the rows
     * @param snapshot what else is; null while that is not known
     */
    private record State(long containedTo, @Nullable SourceSnapshot snapshot) {}

    private static final State NOT_ASKED = new State(Long.MAX_VALUE, null);

    private final boolean inPlace;
    private volatile State state = NOT_ASKED;
    private volatile boolean spoiled;

    /**
     * @param inPlace the rows join those of other tables, whose changes are not left out: what a
     *     row's key met there comes again, so the row must, too
     */
    LoadFilter(boolean inPlace) {
        this.inPlace = inPlace;
    }

    Verdict verdict(int xid, long commitPosition) {
        State now = state;
        if (commitPosition <= now.containedTo()) {
            return Verdict.LEAVE_OUT;
        }
        SourceSnapshot snapshot = now.snapshot();
        if (snapshot == null) {
            return Verdict.KEEP;
        }
        if (commitPosition > snapshot.insertPosition() || snapshot.hides(xid)) {
            return Verdict.SEND;
        }
        return inPlace ? Verdict.SEND_WHOLE : Verdict.LEAVE_OUT;
    }

    boolean isInPlace() {
        return inPlace;
    }

    /** A snapshot is about to be taken that will see every commit up to {@code position}. */
    void keep(long position) {
        spoiled = false;
        state = new State(position, null);
    }

    /** No snapshot was taken: what was kept is not needed. */
    void leaveOut() {
        state = NOT_ASKED;
    }

    /** The rows are those of this snapshot, which sees every commit up to {@code position}. */
    void use(long position, SourceSnapshot snapshot) {
        state = new State(position, snapshot);
    }

    /** Rows may have come: another snapshot needs another table. */
    boolean isUsed() {
        return state.snapshot() != null;
    }

    /** The rows contain every commit up to here. */
    long containedTo() {
        return state.containedTo();
    }

    /** Commits up to here have arrived when the load is complete. */
    long completeTo() {
        State now = state;
        SourceSnapshot snapshot = now.snapshot();
        return snapshot == null
                ? now.containedTo()
                : Math.max(now.containedTo(), snapshot.insertPosition());
    }

    /** Something came that can neither be sent nor left out: the rows are to be read anew. */
    void spoil() {
        spoiled = true;
    }

    boolean isSpoiled() {
        return spoiled;
    }
}
