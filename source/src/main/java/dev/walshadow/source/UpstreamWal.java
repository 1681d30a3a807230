package dev.walshadow.source;

/** The source's own WAL, from its server or from its archive. */
public interface UpstreamWal extends WalSource {
    /** That of the bytes received last. Any thread. */
    int timeline();

    /** How far the source's WAL reached as far as is known; 0 if nothing is. Any thread. */
    long serverEnd();

    boolean isConnected();

    /**
     * The chunk that {@link #next} gave last stays as it is for good: whatever is read from now on
     * goes into another buffer.
     */
    void detachBuffer();
}
