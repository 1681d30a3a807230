package dev.walshadow.pipeline;

import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What a worker is to do next. Controls (answers of lookups, wake-ups) come before pieces; pieces
 * come in order. Bounded by the queue budget that pieces are reserved in.
 */
final class Mailbox {
    /** A step on the worker's thread. */
    interface Control {
        void run() throws InterruptedException;
    }

    private static final Control NOTHING = () -> {};

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition arrived = lock.newCondition();
    private final ArrayDeque<Control> controls = new ArrayDeque<>();
    private final ArrayDeque<Piece> pieces = new ArrayDeque<>();
    private boolean woken;

    void put(Piece piece) {
        lock.lock();
        try {
            pieces.add(piece);
            arrived.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Runs {@code control} on the worker's thread. */
    void control(Control control) {
        lock.lock();
        try {
            controls.add(control);
            arrived.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Makes a waiting worker look around. */
    void wake() {
        lock.lock();
        try {
            woken = true;
            arrived.signal();
        } finally {
            lock.unlock();
        }
    }

    boolean hasPiece() {
        lock.lock();
        try {
            return !pieces.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    @Nullable Piece pollPiece() {
        lock.lock();
        try {
            return pieces.poll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for a control, a wake-up or the timeout, and for a piece if {@code piecesToo}; null
     * unless there is a control.
     */
    @Nullable Control await(long timeoutNanos, boolean piecesToo) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = timeoutNanos;
            while (controls.isEmpty() && !woken && !(piecesToo && !pieces.isEmpty()) && left > 0) {
                left = arrived.awaitNanos(left);
            }
            if (!controls.isEmpty()) {
                return controls.poll();
            }
            if (woken) {
                woken = false;
                return NOTHING;
            }
            return null;
        } finally {
            lock.unlock();
        }
    }
}
