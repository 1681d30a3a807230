package dev.walshadow.bootstrap.load;

/**
 * How far the WAL has been read since B. A page of the backup is looked at only when everything has
 * been read that can have changed it before it was copied: write-ahead logging has put that below
 * the source's flush position of any later moment. Thread safe.
 */
public final class WalGate {
    private volatile long read;

    /** Guarded by this. */
    private int waiting;

    /** Every record that ends at or before {@code position} was seen. By the WAL pump. */
    public void readTo(long position) {
        if (Long.compareUnsigned(position, read) <= 0) {
            return;
        }
        synchronized (this) {
            read = position;
            if (waiting > 0) {
                notifyAll();
            }
        }
    }

    /** Waits until everything before {@code position} has been read. */
    void await(long position) throws InterruptedException {
        if (isRead(position)) {
            return;
        }
        synchronized (this) {
            waiting++;
            try {
                while (!isRead(position)) {
                    wait();
                }
            } finally {
                waiting--;
            }
        }
    }

    private boolean isRead(long position) {
        return Long.compareUnsigned(read, position) >= 0;
    }
}
