package dev.walshadow.shadow;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/** SQL sessions on the shadow. Only inside holds (I14): see {@link #read}. */
@SuppressWarnings("DoNotCallSuggester")
public final class ShadowSessions {
    /** What a read does with its session. */
    @FunctionalInterface
    public interface Reading<T> {
        T read(Connection session) throws SQLException;
    }

    /**
     * @param major the server's, e.g. 17
     * @param roles names that OID 10 may have, best first (the source tells)
     */
    public ShadowSessions(
            WalSender sender,
            Path socketDirectory,
            int port,
            int major,
            Supplier<List<String>> roles) {
        throw new UnsupportedOperationException();
    }

    /** A session for the caller to close before anything more is published. */
    public Connection open(String database) throws SQLException {
        throw new UnsupportedOperationException();
    }

    /**
     * Waits until {@code lsn}, the published position, has been applied, reads in one read-only
     * transaction, and repeats the whole when the shadow restarted meanwhile. The caller publishes
     * nothing until this returns.
     */
    public <T> T read(long lsn, String database, Duration stall, Reading<T> reading)
            throws InterruptedException {
        throw new UnsupportedOperationException();
    }
}
