package dev.walshadow.transaction;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.MemoryBudget;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The chunks of memory that hold records, within one budget (I10), and the share of it that
 * committed transactions in the hands of the consumer may keep. The WAL pump takes, any thread
 * gives back. Chunks come in powers of two and are used again, so a warm pool allocates nothing;
 * what is held and what lies idle is together never more than the budget.
 *
 * <p>A quarter of the budget is kept for open transactions: what they hold can be spilled at once,
 * whatever the consumer does, so taking a chunk never has to wait for it.
 */
final class ChunkPool {
    static final int SMALLEST = 1 << 10;
    static final int LARGEST = 1 << 18;
    static final long SMALLEST_BUDGET = 16L * SMALLEST;

    private final MemoryBudget budget;
    private final int largest;
    private final long handedOverLimit;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition returned = lock.newCondition();
    private final ArrayDeque<byte[]>[] idle;
    private long bytesIdle;
    private long bytesHandedOver;
    private long returns;

    ChunkPool(long bytesBudget) {
        Invariant.check(bytesBudget >= SMALLEST_BUDGET, "the budget holds a few chunks");
        budget = new MemoryBudget(bytesBudget);
        long share = bytesBudget / 4;
        largest = (int) Math.min(LARGEST, Long.highestOneBit(share));
        handedOverLimit = bytesBudget - share;
        idle = newQueues(Integer.numberOfTrailingZeros(largest / SMALLEST) + 1);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static ArrayDeque<byte[]>[] newQueues(int count) {
        ArrayDeque[] queues = new ArrayDeque[count];
        for (int i = 0; i < count; i++) {
            queues[i] = new ArrayDeque<byte[]>();
        }
        return queues;
    }

    /** The longest record that fits into a chunk; longer ones go straight to disk. */
    int longestRecord() {
        return largest;
    }

    long bytesHeld() {
        return budget.bytesHeld();
    }

    /** A good size for the next chunk of a transaction that holds {@code bytesHeld} already. */
    int chunkSize(long bytesHeld, int recordLength) {
        long wanted = Math.max(SMALLEST, Math.max(recordLength, Math.min(largest, bytesHeld)));
        long rounded = Long.highestOneBit(wanted);
        return (int) (rounded == wanted ? wanted : rounded << 1);
    }

    /** A chunk of exactly {@code size}, a result of {@link #chunkSize}; null if none fits now. */
    byte @Nullable [] tryTake(int size) {
        lock.lock();
        try {
            if (!budget.tryReserve(size)) {
                return null;
            }
            byte[] chunk = idle[index(size)].pollLast();
            if (chunk != null) {
                bytesIdle -= size;
                return chunk;
            }
            while (bytesIdle > 0 && budget.bytesHeld() + bytesIdle > budget.bytesLimit()) {
                dropIdle();
            }
            return new byte[size];
        } finally {
            lock.unlock();
        }
    }

    private void dropIdle() {
        for (int i = idle.length - 1; i >= 0; i--) {
            byte[] chunk = idle[i].pollFirst();
            if (chunk != null) {
                bytesIdle -= chunk.length;
                return;
            }
        }
    }

    private static int index(int size) {
        return Integer.numberOfTrailingZeros(size / SMALLEST);
    }

    void giveBack(byte[] chunk) {
        lock.lock();
        try {
            budget.release(chunk.length);
            idle[index(chunk.length)].addLast(chunk);
            bytesIdle += chunk.length;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Counts the bytes of a committed transaction as the consumer's. Waits for room as long as the
     * consumer keeps giving memory back; false once it gave none for {@code patienceNanos}, or if
     * there never can be room. Then the transaction has to be spilled: the consumer may be waiting
     * for something that only a later record brings.
     */
    boolean tryHandOver(long bytes, long patienceNanos) throws InterruptedException {
        if (bytes > handedOverLimit) {
            return false;
        }
        lock.lockInterruptibly();
        try {
            while (bytesHandedOver + bytes > handedOverLimit) {
                long seen = returns;
                long left = patienceNanos;
                while (returns == seen) {
                    if (left <= 0) {
                        return false;
                    }
                    left = returned.awaitNanos(left);
                }
            }
            bytesHandedOver += bytes;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** The consumer has given back the memory of one committed transaction. */
    void returnHandedOver(long bytes) {
        lock.lock();
        try {
            bytesHandedOver -= bytes;
            returns++;
            returned.signalAll();
            Invariant.check(bytesHandedOver >= 0, "nothing is given back twice");
        } finally {
            lock.unlock();
        }
    }
}
