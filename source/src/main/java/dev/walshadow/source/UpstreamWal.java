package dev.walshadow.source;

/** The source's own WAL, from its server or from its archive. */
public interface UpstreamWal extends WalSource {
    /** An answer of {@link #leftAt}: there is no such place. */
    long NOWHERE = -1;

    /** That of the bytes received last. Any thread. */
    int timeline();

    /** How far the source's WAL reached as far as is known; 0 if nothing is. Any thread. */
    long serverEnd();

    boolean isConnected();

    /**
     * Where a server's newer timeline left the one that was received before all of what was
     * received, which is why {@link #next} has thrown. Any thread.
     */
    default long leftAt() {
        return NOWHERE;
    }

    /**
     * The chunk that {@link #next} gave last stays as it is for good: whatever is read from now on
     * goes into another buffer.
     */
    void detachBuffer();
}
