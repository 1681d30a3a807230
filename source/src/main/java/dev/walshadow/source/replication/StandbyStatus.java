package dev.walshadow.source.replication;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The three positions told to the source, each a floor of its own that only rises: a leading write
 * position never lifts flush, which would let the source recycle WAL that is still needed (I6).
 * PostgreSQL moves the slot's {@code restart_lsn} to flush. Thread safe.
 */
public final class StandbyStatus {
    private final AtomicLong write = new AtomicLong();
    private final AtomicLong flush = new AtomicLong();
    private final AtomicLong apply = new AtomicLong();

    /** Received. */
    public void advanceWrite(long lsn) {
        raise(write, lsn);
    }

    /** Durable: the source may forget WAL before it. */
    public void advanceFlush(long lsn) {
        raise(flush, lsn);
    }

    /** Visible at the destination; shown in pg_stat_replication. */
    public void advanceApply(long lsn) {
        raise(apply, lsn);
    }

    public long writeLsn() {
        return write.get();
    }

    public long flushLsn() {
        return flush.get();
    }

    public long applyLsn() {
        return apply.get();
    }

    private static void raise(AtomicLong floor, long lsn) {
        floor.accumulateAndGet(lsn, Math::max);
    }
}
