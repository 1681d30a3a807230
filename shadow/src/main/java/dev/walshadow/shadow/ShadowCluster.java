package dev.walshadow.shadow;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The shadow's server process over its data directory: configuration, start, supervision, stop. */
@SuppressWarnings("DoNotCallSuggester")
public final class ShadowCluster implements AutoCloseable {
    /**
     * @param dataDirectory laid from a base backup, never created here
     * @param runDirectory the server's Unix socket; replaced by a short one under /tmp when the
     *     path would be too long
     * @param binDirectory holds {@code postgres} of the source's major
     * @param archiveDirectory what restore_command copies from
     * @param primaryConnectionInfo {@link WalSender#connectionInfo()}
     * @param port names the Unix socket only; nothing listens on TCP
     * @param user whom the server runs as when the daemon is root; null: {@code postgres}
     * @param locales of the source's databases (datcollate, datctype); see docs/shadow.md
     * @param settings appended to postgresql.conf
     */
    public record Options(
            Path dataDirectory,
            Path runDirectory,
            Path binDirectory,
            Path archiveDirectory,
            String primaryConnectionInfo,
            int port,
            @Nullable String user,
            Set<String> locales,
            Map<String, String> settings) {}

    /**
     * @param pid 0 when not running
     * @param restarts by the supervisor since {@link #start()}
     * @param lastFailure why the last process ended, with the end of its log; null if none did
     */
    public record Health(
            boolean running,
            boolean acceptingConnections,
            long pid,
            int restarts,
            @Nullable String lastFailure) {}

    public ShadowCluster(Options options) {
        throw new UnsupportedOperationException(options.toString());
    }

    /**
     * Takes the laid files over (owner, modes), stops an orphaned server of this data directory,
     * writes the configuration and starts the server and its supervision.
     */
    public void start() throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /**
     * Waits until the server accepts connections.
     *
     * @throws dev.walshadow.base.RetryException when nothing moved for {@code stall}
     */
    public void awaitAcceptingConnections(Duration stall) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    public Health health() {
        throw new UnsupportedOperationException();
    }

    /** Where the server's socket is: {@code <directory>/.s.PGSQL.<port>}. */
    public Path socketDirectory() {
        throw new UnsupportedOperationException();
    }

    /** The redo position of the last restartpoint, from pg_control. */
    public long restartRedoLsn() {
        throw new UnsupportedOperationException();
    }

    /** Fast shutdown; leaves a data directory that resumes. */
    public void stop() throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** Immediate shutdown (as after a crash) without ending the supervision, for tests. */
    public void crash() throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }
}
