package dev.walshadow.systemtests.transaction;

import static dev.walshadow.systemtests.transaction.TransactionCase.execute;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * One transaction that is far larger than the memory for transactions: its rows stream through from
 * disk, small transactions behind it arrive, and a kill in its middle loses nothing. Prints the
 * daemon's peak memory and the times.
 *
 * <p>{@code -Dwalshadow.rows=N} sets its size; {@code -Dwalshadow.soak=true} makes 20 million rows.
 */
@Timeout(7200)
final class LargeTransactionTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final int ROWS =
            Integer.getInteger("walshadow.rows", SOAK ? 20_000_000 : 200_000);
    private static final int MAJOR = Integer.getInteger("walshadow.major", 18);

    @Test
    void aTransactionOfAnySizeStreamsThrough() throws Exception {
        try (Installation installation = Installation.start(MAJOR)) {
            installation.source().setting("max_wal_size", "4GB");
            installation.source().restart();
            if (!SOAK) {
                installation.configure("memory", "transactions = \"4MB\"");
            }
            installation.execute(
                    "CREATE TABLE huge (id bigint PRIMARY KEY, n int, v text)",
                    "CREATE TABLE small (id bigint PRIMARY KEY, v text)");
            installation.startDaemon();
            installation.awaitStreaming();
            run(installation, 0, false);
            run(installation, ROWS, true);
            TransactionsTest.requireEqual(installation, "two large transactions");
            assertThat(spillFiles(installation)).as("spill files left").isZero();
        }
    }

    private static void run(Installation installation, long firstId, boolean kill)
            throws Exception {
        long walBefore = position(installation);
        try (Connection session = installation.session()) {
            session.setAutoCommit(false);
            execute(
                    session,
                    "INSERT INTO huge SELECT i, i % 1000, 'row ' || i || repeat('.', 200) FROM"
                            + " generate_series("
                            + (firstId + 1)
                            + ", "
                            + (firstId + ROWS)
                            + ") i");
            installation.await(
                    "the transaction is on disk",
                    () -> installation.status().path("spilled_bytes").asLong(0) > 0);
            if (kill) {
                installation.killDaemon();
                installation.startDaemon();
            }
            session.commit();
        }
        long committed = System.nanoTime();
        long commit = position(installation);
        installation.execute(
                "INSERT INTO small SELECT count(*), 'behind' FROM small",
                "UPDATE small SET v = v || '.'");
        long behind = position(installation);
        if (kill) {
            installation.await("some of it is sent", () -> sentRows(installation) > ROWS / 10);
            installation.killDaemon();
            installation.startDaemon();
        }
        installation.await("the transaction is durable", () -> durable(installation) >= commit);
        double seconds = (System.nanoTime() - committed) / 1e9;
        installation.await("those behind it are durable", () -> durable(installation) >= behind);
        System.out.printf(
                Locale.ROOT,
                "LargeTransactionTest: %d rows, %d MB of WAL%s: durable %.1f s after COMMIT, those"
                        + " behind it %.1f s; the daemon's peak memory %d MB%n",
                ROWS,
                (commit - walBefore) >> 20,
                kill ? ", killed before and after COMMIT" : "",
                seconds,
                (System.nanoTime() - committed) / 1e9,
                installation.peakMemory() >> 10);
    }

    private static long sentRows(Installation installation) {
        return installation.status().path("rows").asLong(0);
    }

    private static long durable(Installation installation) {
        return Lsn.parse(installation.status().path("durable").asString("0/0"));
    }

    private static long position(Installation installation) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_current_wal_insert_lsn()")) {
            row.next();
            return Lsn.parse(row.getString(1));
        }
    }

    private static long spillFiles(Installation installation) throws IOException {
        try (Stream<Path> files = Files.list(installation.state().resolve("spill"))) {
            return files.count();
        }
    }
}
