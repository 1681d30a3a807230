package dev.walshadow.base;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A bound on resident payload in bytes (I10). Reservations are made per chunk or batch, never per
 * row. A single reservation larger than the whole budget is granted when nothing else is held, so
 * that one huge value cannot stop the stream for ever. Thread safe.
 */
public final class MemoryBudget {
    private final long bytesLimit;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition released = lock.newCondition();
    private long bytesHeld;

    public MemoryBudget(long bytesLimit) {
        this.bytesLimit = bytesLimit;
    }

    public long bytesLimit() {
        return bytesLimit;
    }

    public long bytesHeld() {
        lock.lock();
        try {
            return bytesHeld;
        } finally {
            lock.unlock();
        }
    }

    public boolean tryReserve(long bytes) {
        lock.lock();
        try {
            if (bytesHeld != 0 && bytesHeld + bytes > bytesLimit) {
                return false;
            }
            bytesHeld += bytes;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until {@code bytes} fit. */
    public void reserve(long bytes) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (bytesHeld != 0 && bytesHeld + bytes > bytesLimit) {
                released.await();
            }
            bytesHeld += bytes;
        } finally {
            lock.unlock();
        }
    }

    /** Waits at most so long until {@code bytes} fit; false if they did not. */
    public boolean tryReserve(long bytes, long timeoutNanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = timeoutNanos;
            while (bytesHeld != 0 && bytesHeld + bytes > bytesLimit) {
                if (left <= 0) {
                    return false;
                }
                left = released.awaitNanos(left);
            }
            bytesHeld += bytes;
            return true;
        } finally {
            lock.unlock();
        }
    }

    public void release(long bytes) {
        lock.lock();
        try {
            bytesHeld -= bytes;
            Invariant.check(bytesHeld >= 0, "no more memory is released than was reserved");
            released.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
