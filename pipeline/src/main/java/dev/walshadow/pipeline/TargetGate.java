package dev.walshadow.pipeline;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * While it is shut, nothing is asked of ClickHouse: whoever is about to waits here, and what waits
 * behind fills its bounded memory, as while ClickHouse is away (I10). Lives longer than one
 * pipeline. Thread safe; nobody enters twice.
 */
public final class TargetGate {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private boolean shut;
    private int inside;

    /** Lets nobody in any more. */
    public void shut() {
        lock.lock();
        try {
            shut = true;
        } finally {
            lock.unlock();
        }
    }

    public void open() {
        lock.lock();
        try {
            shut = false;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    public boolean isShut() {
        lock.lock();
        try {
            return shut;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until nobody is inside.
     *
     * @return how many still are when the time is over
     */
    public int awaitEmpty(long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = nanos;
            while (inside > 0 && left > 0) {
                left = changed.awaitNanos(left);
            }
            return inside;
        } finally {
            lock.unlock();
        }
    }

    boolean hasWaiters() {
        lock.lock();
        try {
            return shut && lock.hasWaiters(changed);
        } finally {
            lock.unlock();
        }
    }

    /** Waits while it is shut; {@link #leave} follows. */
    void enter() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (shut) {
                changed.await();
            }
            inside++;
        } finally {
            lock.unlock();
        }
    }

    /** False while it is shut; if true, {@link #leave} follows. */
    public boolean tryEnter() {
        lock.lock();
        try {
            if (shut) {
                return false;
            }
            inside++;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Behind whatever was let in. */
    public void leave() {
        lock.lock();
        try {
            inside--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
