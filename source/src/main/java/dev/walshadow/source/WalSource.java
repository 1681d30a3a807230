package dev.walshadow.source;

/**
 * WAL bytes, contiguous from a position: the live stream, an archive, a local spool. Used by one
 * thread at a time; {@link #close()} may come from any.
 */
public interface WalSource extends AutoCloseable {
    /** How often an idle source returns. */
    int IDLE_MILLIS = 100;

    /** Begins at exactly {@code lsn} of {@code timeline}. Called once. */
    void start(int timeline, long lsn) throws InterruptedException;

    /**
     * Waits a little for the next bytes, which follow the previous ones without a gap. On an idle
     * stream, and while its server is away, it returns about every {@value #IDLE_MILLIS} ms with an
     * empty chunk at the current position and the newest known {@code serverEnd}, so that the pump
     * can do its housekeeping.
     *
     * @return false at the end: nothing follows, or the source was closed
     */
    boolean next(WalChunk into) throws InterruptedException;

    /**
     * What was received last is the checkpoint of a shutdown: the server waits with its end until
     * somebody who streams has confirmed everything, or has gone. By the caller of {@link #next}.
     */
    default void serverStops() {}

    @Override
    void close();
}
