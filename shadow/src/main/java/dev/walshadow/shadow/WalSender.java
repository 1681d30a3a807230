package dev.walshadow.shadow;

import java.nio.file.Path;
import java.time.Duration;

/** Serves physical replication to the shadow's walreceiver. */
@SuppressWarnings("DoNotCallSuggester")
public final class WalSender implements AutoCloseable {
    /**
     * @param systemIdentifier the source's, as IDENTIFY_SYSTEM reports it
     * @param startLsn where publishing starts (segment aligned); complete segments below it are
     *     read from the archive
     * @param archiveDirectory filtered segments and timeline history files
     * @param socketDirectory where {@code .s.PGSQL.<port>} is made; its path stays short (107
     *     bytes)
     * @param port names the socket only
     * @param serverVersion what the startup handshake reports, e.g. {@code 17.6}
     */
    public record Options(
            long systemIdentifier,
            int timeline,
            int segmentSize,
            long startLsn,
            Path archiveDirectory,
            Path socketDirectory,
            int port,
            String serverVersion) {}

    public WalSender(Options options) {
        throw new UnsupportedOperationException(options.toString());
    }

    /** Pump thread: bytes that continue exactly at {@link #publishedLsn()}; never blocks. */
    public void publish(long startLsn, byte[] bytes, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    /** Pump thread: the segment that starts here is durable in the archive now. */
    public void segmentComplete(long segmentStartLsn) {
        throw new UnsupportedOperationException();
    }

    public long publishedLsn() {
        throw new UnsupportedOperationException();
    }

    /** The shadow's last reported apply position; 0 before its first report. */
    public long appliedLsn() {
        throw new UnsupportedOperationException();
    }

    /** The shadow's last reported flush position; 0 before its first report. */
    public long flushedLsn() {
        throw new UnsupportedOperationException();
    }

    /** True while a walreceiver streams. */
    public boolean connected() {
        throw new UnsupportedOperationException();
    }

    /**
     * Waits until the connected walreceiver reports that {@code lsn} (a record's end) has been
     * applied. The wait has no limit as long as the apply position moves.
     *
     * @return the connection's number: a read that follows is valid only if {@link
     *     #connectionNumber()} still answers the same after it (I14)
     * @throws dev.walshadow.base.RetryException when nothing moved for {@code stall}
     */
    public long awaitApplied(long lsn, Duration stall) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** Number of the streaming connection, from 1; 0 while none streams. */
    public long connectionNumber() {
        throw new UnsupportedOperationException();
    }

    /** The value of {@code primary_conninfo}. */
    public String connectionInfo() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }
}
