package dev.walshadow.testkit.cluster;

import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.testkit.Sql;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;

/** Physical standbys of a source, made by a copy of it while it is shut down. */
public final class Standby {
    private static final long POLL_NANOS = 20_000_000;
    private static final long PATIENCE_NANOS = 120_000_000_000L;

    private Standby() {}

    /**
     * Restarts the primary and starts a standby that streams from it.
     *
     * @param directory of the new server; an empty folder of the servers' user
     */
    public static EmbeddedPostgres of(
            EmbeddedPostgres primary,
            Path directory,
            UnaryOperator<EmbeddedPostgres.Builder> settings) {
        primary.stop();
        try {
            Process copy =
                    new ProcessBuilder(
                                    "cp",
                                    "-a",
                                    primary.dataDirectory().toString(),
                                    directory.resolve("data").toString())
                            .inheritIO()
                            .start();
            if (copy.waitFor() != 0) {
                throw new IllegalStateException("the source's directory cannot be copied");
            }
            Path signal = directory.resolve("data").resolve("standby.signal");
            Files.createFile(signal);
            UnprivilegedUser.own(signal);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
        primary.start();
        return settings.apply(
                        EmbeddedPostgres.at(directory)
                                .version(primary.version())
                                .setting(
                                        "primary_conninfo",
                                        "host=127.0.0.1 user=postgres port=" + primary.port()))
                .start();
    }

    /** Waits until the standby has replayed everything that the primary has written. */
    public static void awaitCaughtUp(EmbeddedPostgres primary, EmbeddedPostgres standby)
            throws SQLException {
        String written = Sql.ask(primary, "SELECT pg_current_wal_flush_lsn()");
        await(standby, "SELECT pg_last_wal_replay_lsn() >= '" + written + "'");
    }

    /** Promotes it; returns when it takes writes. */
    public static void promote(EmbeddedPostgres standby) throws SQLException {
        Sql.ask(standby, "SELECT pg_promote(true, 120)");
        await(standby, "SELECT NOT pg_is_in_recovery()");
    }

    private static void await(EmbeddedPostgres server, String condition) throws SQLException {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!Sql.ask(server, condition).equals("t")) {
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("waited in vain until: " + condition);
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }
}
