package dev.walshadow.source;

/**
 * WAL bytes, contiguous from a position: the live stream, an archive, a local spool. Used by one
 * thread (the WAL pump); {@link #close()} may come from any.
 */
public interface WalSource extends AutoCloseable {
    /** Begins at exactly {@code lsn} of {@code timeline}. Called once. */
    void start(int timeline, long lsn) throws InterruptedException;

    /**
     * Waits for the next bytes, which follow the previous ones without a gap.
     *
     * @return false at the end: nothing follows, or the source was closed
     */
    boolean next(WalChunk into) throws InterruptedException;

    @Override
    void close();
}
