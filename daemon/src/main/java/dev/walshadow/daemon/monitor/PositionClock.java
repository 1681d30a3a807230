package dev.walshadow.daemon.monitor;

import dev.walshadow.base.Invariant;

/**
 * When the source reached which WAL position, so that a lag in bytes is a lag in time, too: without
 * any clock of the source. Bounded: when full, every other sample is forgotten, so old times are
 * known less exactly. Thread safe.
 */
public final class PositionClock {
    private final long[] positions;
    private final long[] nanos;
    private int count;

    /**
     * @param capacity samples kept, even
     */
    public PositionClock(int capacity) {
        Invariant.check(capacity >= 4 && capacity % 2 == 0, "an even capacity");
        positions = new long[capacity];
        nanos = new long[capacity];
    }

    /**
     * The source is known to have reached a position.
     *
     * @param now {@link System#nanoTime}
     */
    public synchronized void reached(long position, long now) {
        if (count > 0 && position <= positions[count - 1]) {
            return;
        }
        if (count == positions.length) {
            thin();
        }
        positions[count] = position;
        nanos[count] = now;
        count++;
    }

    private void thin() {
        count /= 2;
        for (int i = 0; i < count; i++) {
            positions[i] = positions[2 * i + 1];
            nanos[i] = nanos[2 * i + 1];
        }
    }

    /** The newest position of the source that is known; 0 if none is. */
    public synchronized long newest() {
        return count == 0 ? 0 : positions[count - 1];
    }

    /** For how long the source has been beyond a position; 0 if it is not known to be. */
    public synchronized long nanosBehind(long position, long now) {
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (positions[middle] > position) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low == count ? 0 : Math.max(0, now - nanos[low]);
    }
}
