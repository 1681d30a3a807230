package dev.walshadow.pipeline;

import dev.walshadow.base.Invariant;
import java.util.Arrays;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Which handed-over work is durable. Work gets sequence numbers in the order of hand-over. What is
 * not durable yet is named by its lowest sequence in one of three places, and passes from one to
 * the next without ever being in none:
 *
 * <pre>
 * not yet planned          > planned
 * queued at a worker       >= pendingFirst[worker]
 * in a batch or deferred   >= hold.sequence
 * </pre>
 *
 * <p>So everything below the least of these is durable (I7). The entries that map sequences to WAL
 * positions are bounded: when the ring is full, neighbours are merged, which only makes the
 * watermark of the past coarser. Thread safe; one lock, taken per transaction and batch, never per
 * row.
 */
final class AckLedger {
    private static final long NONE = Long.MAX_VALUE;

    /** Work that keeps its sequence from being durable. Belongs to one ledger while it is set. */
    static final class Hold {
        private long sequence = NONE;
        private int index = -1;

        /** Only for the owner of the work. */
        boolean isSet() {
            return index >= 0;
        }
    }

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition progressed = lock.newCondition();

    private final long[] pendingFirst;
    private final int[] pendingCount;
    private Hold[] holds = new Hold[64];
    private int holdCount;

    private final long[] lastSequence;
    private final long[] position;
    private final long[] commitMicros;
    private final long[] floor;
    private int ringStart;
    private int ringCount;

    /** Least floor in the ring, once somebody has asked since the last progress. */
    private long lowestFloor = NONE;

    private boolean lowestFloorIsKnown = true;

    private long assigned;
    private long planned;
    private long durableSequence;
    private long durablePosition;
    private long durableMicros;
    private @Nullable Throwable failure;

    /**
     * @param capacity entries that map sequences to positions, a power of two
     */
    AckLedger(int workers, int capacity, long durablePosition) {
        Invariant.check(capacity >= 4 && Integer.bitCount(capacity) == 1, "a power of two");
        pendingFirst = new long[workers];
        Arrays.fill(pendingFirst, NONE);
        pendingCount = new int[workers];
        lastSequence = new long[capacity];
        position = new long[capacity];
        commitMicros = new long[capacity];
        floor = new long[capacity];
        this.durablePosition = durablePosition;
    }

    /** The next piece of work; positions never go down. */
    long assign(long workPosition, long micros, long firstLsn) {
        lock.lock();
        try {
            if (ringCount == lastSequence.length) {
                thin();
            }
            int at = slot(ringCount++);
            lastSequence[at] = ++assigned;
            position[at] = workPosition;
            commitMicros[at] = micros;
            floor[at] = firstLsn;
            lowestFloor = Math.min(lowestFloor, firstLsn);
            return assigned;
        } finally {
            lock.unlock();
        }
    }

    private int slot(int index) {
        return (ringStart + index) & (lastSequence.length - 1);
    }

    /** Merges each pair of neighbours into the later one. */
    private void thin() {
        int kept = 0;
        for (int i = 0; i < ringCount; i += 2) {
            int later = slot(Math.min(i + 1, ringCount - 1));
            int to = slot(kept++);
            long lowest = Math.min(floor[slot(i)], floor[later]);
            lastSequence[to] = lastSequence[later];
            position[to] = position[later];
            commitMicros[to] = commitMicros[later];
            floor[to] = lowest;
        }
        ringCount = kept;
    }

    /** Nothing else happened up to {@code lsn}: what is durable now or soon reaches to there. */
    boolean advance(long lsn) {
        lock.lock();
        try {
            if (ringCount > 0) {
                int newest = slot(ringCount - 1);
                position[newest] = Math.max(position[newest], lsn);
                return false;
            }
            if (lsn <= durablePosition) {
                return false;
            }
            durablePosition = lsn;
            progressed.signalAll();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** A part of {@code sequence} was put into this worker's queue; before {@link #planned}. */
    void enqueued(int worker, long sequence) {
        lock.lock();
        try {
            if (pendingCount[worker]++ == 0) {
                pendingFirst[worker] = sequence;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Everything of {@code sequence} is queued at workers. Returns true on durable progress. */
    boolean planned(long sequence) {
        lock.lock();
        try {
            Invariant.check(sequence == planned + 1, "work is planned in order");
            planned = sequence;
            return progress();
        } finally {
            lock.unlock();
        }
    }

    /** A worker takes the next part from the head of its queue. */
    boolean started(int worker, long sequence) {
        lock.lock();
        try {
            Invariant.check(pendingFirst[worker] <= sequence, "queues are worked off in order");
            pendingFirst[worker] = sequence;
            return progress();
        } finally {
            lock.unlock();
        }
    }

    /**
     * A worker has finished the part of {@code sequence} at the head of its queue; whatever of it
     * is not durable is held by {@link #hold} since before.
     */
    boolean finished(int worker, long sequence) {
        lock.lock();
        try {
            Invariant.check(pendingFirst[worker] == sequence, "a part is started, then finished");
            pendingFirst[worker] = --pendingCount[worker] == 0 ? NONE : sequence;
            return progress();
        } finally {
            lock.unlock();
        }
    }

    /** Keeps {@code sequence} and all later ones undurable until the hold is released. */
    void hold(Hold hold, long sequence) {
        lock.lock();
        try {
            Invariant.check(hold.index < 0, "a hold is set once");
            Invariant.check(sequence > durableSequence, "durable work stays durable");
            if (holdCount == holds.length) {
                holds = Arrays.copyOf(holds, holdCount * 2);
            }
            hold.sequence = sequence;
            hold.index = holdCount;
            holds[holdCount++] = hold;
        } finally {
            lock.unlock();
        }
    }

    /** What the hold stands for starts at a later sequence now. */
    boolean raise(Hold hold, long sequence) {
        lock.lock();
        try {
            Invariant.check(
                    hold.index >= 0 && hold.sequence <= sequence,
                    "a hold is raised while it is set");
            boolean mayProgress = hold.sequence == durableSequence + 1;
            hold.sequence = sequence;
            return mayProgress && progress();
        } finally {
            lock.unlock();
        }
    }

    boolean release(Hold hold) {
        lock.lock();
        try {
            Invariant.check(hold.index >= 0, "a hold is released once");
            Hold last = holds[--holdCount];
            holds[hold.index] = last;
            last.index = hold.index;
            hold.index = -1;
            boolean mayProgress = hold.sequence == durableSequence + 1;
            hold.sequence = NONE;
            return mayProgress && progress();
        } finally {
            lock.unlock();
        }
    }

    private boolean progress() {
        long undone = planned + 1;
        for (long first : pendingFirst) {
            undone = Math.min(undone, first);
        }
        for (int i = 0; i < holdCount && undone > durableSequence + 1; i++) {
            undone = Math.min(undone, holds[i].sequence);
        }
        if (undone - 1 <= durableSequence) {
            return false;
        }
        durableSequence = undone - 1;
        long before = durablePosition;
        while (ringCount > 0 && lastSequence[ringStart] <= durableSequence) {
            durablePosition = Math.max(durablePosition, position[ringStart]);
            durableMicros = Math.max(durableMicros, commitMicros[ringStart]);
            ringStart = slot(1);
            ringCount--;
        }
        lowestFloorIsKnown = ringCount == 0;
        lowestFloor = NONE;
        progressed.signalAll();
        return durablePosition > before;
    }

    Watermark watermark() {
        lock.lock();
        try {
            if (!lowestFloorIsKnown) {
                for (int i = 0; i < ringCount; i++) {
                    lowestFloor = Math.min(lowestFloor, floor[slot(i)]);
                }
                lowestFloorIsKnown = true;
            }
            return new Watermark(durablePosition, durableMicros, lowestFloor);
        } finally {
            lock.unlock();
        }
    }

    long assigned() {
        lock.lock();
        try {
            return assigned;
        } finally {
            lock.unlock();
        }
    }

    /** Whether the planner is through with {@code sequence}. */
    boolean isPlanned(long sequence) {
        lock.lock();
        try {
            return planned >= sequence;
        } finally {
            lock.unlock();
        }
    }

    long durablePosition() {
        lock.lock();
        try {
            return durablePosition;
        } finally {
            lock.unlock();
        }
    }

    /** Work handed over and not durable. */
    long undurable() {
        lock.lock();
        try {
            return assigned - durableSequence;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until {@code sequence} is durable; false when the pipeline failed before that. */
    boolean awaitSequence(long sequence) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (durableSequence < sequence && failure == null) {
                progressed.await();
            }
            return durableSequence >= sequence;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until {@code lsn} is durable; false on timeout or failure. */
    boolean awaitPosition(long lsn, long timeoutNanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = timeoutNanos;
            while (durablePosition < lsn && failure == null && left > 0) {
                left = progressed.awaitNanos(left);
            }
            return durablePosition >= lsn;
        } finally {
            lock.unlock();
        }
    }

    /** Wakes everybody who waits for progress: there will be none. */
    void fail(Throwable cause) {
        lock.lock();
        try {
            failure = cause;
            progressed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
