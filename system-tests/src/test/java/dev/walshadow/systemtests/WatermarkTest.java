package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the watermark table promises readers, under a load. */
@Timeout(600)
final class WatermarkTest {
    private static final int TRANSACTIONS = 400;
    private static final long POLL_NANOS = 10_000_000;

    @Test
    void allThatCommittedAtOrBeforeItIsVisibleInEveryTable() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.execute(
                    "CREATE TABLE a (id int PRIMARY KEY)",
                    "CREATE TABLE b (id int PRIMARY KEY, v text)");
            installation.startDaemon();
            installation.awaitStreaming();
            ConcurrentSkipListMap<Long, Integer> committed = new ConcurrentSkipListMap<>();
            AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
            Thread writer =
                    Thread.ofVirtual()
                            .start(() -> {
                                try {
                                    write(installation, committed);
                                } catch (Exception e) {
                                    failure.set(e);
                                }
                            });
            for (int proved = 0; proved < TRANSACTIONS; LockSupport.parkNanos(POLL_NANOS)) {
                int least = expected(installation, committed);
                if (least > proved) {
                    assertVisible(installation, least);
                    proved = least;
                }
                assertThat(failure.get()).isNull();
            }
            writer.join();
            assertThat(failure.get()).isNull();
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    /** Each transaction writes one row into each table; the position is asked for after it. */
    private static void write(
            Installation installation, ConcurrentSkipListMap<Long, Integer> committed)
            throws Exception {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            session.setAutoCommit(false);
            for (int id = 1; id <= TRANSACTIONS; id++) {
                statement.execute("INSERT INTO a VALUES (" + id + ")");
                statement.execute("INSERT INTO b VALUES (" + id + ", repeat('x', 200))");
                session.commit();
                try (ResultSet row = statement.executeQuery("SELECT pg_current_wal_insert_lsn()")) {
                    row.next();
                    committed.put(Lsn.parse(row.getString(1)), id);
                }
            }
        }
    }

    /** How many transactions the watermark says are there; 0 if it says none. */
    private static int expected(
            Installation installation, ConcurrentSkipListMap<Long, Integer> committed) {
        String durable =
                installation
                        .target()
                        .query("SELECT durable_lsn FROM walshadow.watermark FINAL")
                        .strip();
        if (durable.isEmpty()) {
            return 0;
        }
        Map.Entry<Long, Integer> last = committed.floorEntry(Long.parseLong(durable));
        return last == null ? 0 : last.getValue();
    }

    private static void assertVisible(Installation installation, int least) {
        for (String table : new String[] {"a", "b"}) {
            String rows =
                    installation
                            .target()
                            .query(
                                    "SELECT count() FROM public."
                                            + table
                                            + " FINAL WHERE id <= "
                                            + least)
                            .strip();
            assertThat(rows).as(table).isEqualTo(Integer.toString(least));
        }
    }
}
