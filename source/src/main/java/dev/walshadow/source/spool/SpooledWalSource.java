package dev.walshadow.source.spool;

import dev.walshadow.base.Invariant;
import dev.walshadow.source.WalChunk;
import dev.walshadow.source.WalSource;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A live source with the spool behind it. The pump gets stored bytes as long as there are some;
 * otherwise it reads the live stream itself, in place, and what it reads is stored on the way. When
 * it does not come back for a while (ClickHouse is away and the pipeline full), a thread of this
 * class reads the live stream in its stead, into the spool only. Whoever reads holds the turn.
 *
 * <p>{@link #start} and {@link #next} belong to the pump thread, the rest is thread safe.
 */
public final class SpooledWalSource implements WalSource {
    private static final long AWAY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long PACE_MILLIS = 50;
    private static final int READ_BYTES = 128 << 10;

    private final WalSource live;
    private final Runnable detachBuffer;
    private final WalSpool spool;
    private final LongConsumer durable;
    private final ReentrantLock turn = new ReentrantLock();
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread keeper;
    private final Thread synchroniser;

    // the pump's
    private final byte[] buffer = new byte[READ_BYTES];
    private long position;
    private volatile boolean pumpReads;
    private volatile long pumpLeftNanos;

    // whoever holds the turn
    private final WalChunk kept = new WalChunk();
    private boolean keptUnstored;
    private boolean detached;
    private long livePosition;
    private boolean ended;
    private @Nullable Throwable failure;

    private volatile long received;
    private volatile long serverEnd;

    /**
     * @param detachBuffer has {@code live} leave its last chunk's bytes as they are for good
     * @param durable told the position up to which the source may forget its WAL; only rises
     */
    public SpooledWalSource(
            WalSource live, Runnable detachBuffer, WalSpool spool, LongConsumer durable) {
        this.live = live;
        this.detachBuffer = detachBuffer;
        this.spool = spool;
        this.durable = durable;
        this.keeper = Thread.ofPlatform().daemon().name("wal-spool").unstarted(this::keep);
        this.synchroniser =
                Thread.ofPlatform().daemon().name("wal-spool-sync").unstarted(this::synchronise);
    }

    /** Begins with what the spool has from {@code lsn} on; the live stream begins at its end. */
    @Override
    public void start(int timeline, long lsn) throws InterruptedException {
        Invariant.check(lsn <= spool.end(), "the spool was opened where the stream begins");
        position = lsn;
        livePosition = spool.end();
        received = livePosition;
        pumpLeftNanos = System.nanoTime();
        // PostgreSQL moves a slot back, too: what was told before must be told again at once
        durable.accept(spool.durable());
        live.start(timeline, livePosition);
        if (spool.isOn()) {
            keeper.start();
            synchroniser.start();
        }
    }

    @Override
    public boolean next(WalChunk into) throws InterruptedException {
        pumpReads = true;
        try {
            while (true) {
                int count = spool.read(position, buffer);
                if (count > 0) {
                    into.set(buffer, 0, count, position, serverEnd);
                    position += count;
                    return !isClosed();
                }
                turn.lockInterruptibly();
                try {
                    if (position >= spool.end()) {
                        return readLive(into);
                    }
                } finally {
                    turn.unlock();
                }
            }
        } finally {
            pumpLeftNanos = System.nanoTime();
            pumpReads = false;
        }
    }

    private boolean readLive(WalChunk into) throws InterruptedException {
        if (keptUnstored) {
            keptUnstored = false;
            into.set(
                    kept.buffer(), kept.offset(), kept.length(), kept.startLsn(), kept.serverEnd());
        } else {
            rethrow();
            if (ended || !live.next(into)) {
                return false;
            }
            livePosition = into.endLsn();
            received = livePosition;
        }
        detached = false;
        serverEnd = into.serverEnd();
        if (into.length() > 0) {
            Invariant.check(into.startLsn() == position, "the live stream follows the spool");
            spool.append(into);
            position = into.endLsn();
        }
        return true;
    }

    /** A checkpoint out of the spool is of long ago: the server has gone on since. */
    @Override
    public void serverStops() {
        turn.lock();
        try {
            if (position == livePosition && !keptUnstored) {
                live.serverStops();
            }
        } finally {
            turn.unlock();
        }
    }

    private void rethrow() {
        switch (failure) {
            case null -> {}
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }

    // ---- in the pump's stead

    private boolean pumpIsAway() {
        return !pumpReads && System.nanoTime() - pumpLeftNanos > AWAY_NANOS;
    }

    private void keep() {
        try {
            while (!closed.await(PACE_MILLIS, TimeUnit.MILLISECONDS)) {
                while (!isClosed() && pumpIsAway() && keepNext()) {
                    // reads on until the pump comes back
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** False if there is nothing to be done now. */
    private boolean keepNext() throws InterruptedException {
        turn.lockInterruptibly();
        try {
            if (!pumpIsAway() || ended || failure != null) {
                return false;
            }
            if (keptUnstored) {
                keptUnstored = !spool.append(kept);
                return !keptUnstored;
            }
            if (!spool.accepts(livePosition, READ_BYTES)) {
                return false;
            }
            if (!detached) {
                // the pump still works on what it was given last
                detachBuffer.run();
                detached = true;
            }
            return keepLive();
        } finally {
            turn.unlock();
        }
    }

    private boolean keepLive() throws InterruptedException {
        try {
            ended = !live.next(kept);
        } catch (RuntimeException | Error e) {
            failure = e;
            return false;
        }
        if (ended || kept.length() == 0) {
            return !ended;
        }
        livePosition = kept.endLsn();
        received = livePosition;
        serverEnd = kept.serverEnd();
        keptUnstored = !spool.append(kept);
        return !keptUnstored;
    }

    private void synchronise() {
        try {
            while (!closed.await(PACE_MILLIS, TimeUnit.MILLISECONDS)) {
                if (spool.syncIfDue()) {
                    durable.accept(spool.durable());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    // ---- for others

    /** Position behind the last byte received from the source. */
    public long received() {
        return received;
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }

    /** Ends a waiting {@link #next}. */
    @Override
    public void close() {
        closed.countDown();
        live.close();
    }

    /** After {@link #close}: returns when no thread of this class uses the spool any more. */
    public void awaitEnd() {
        boolean interrupted = false;
        for (Thread thread : new Thread[] {keeper, synchroniser}) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
