package dev.walshadow.benchmarks;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import tools.jackson.databind.JsonNode;

/**
 * One transaction far beyond the memory for transactions, with the daemon's defaults: how long from
 * its COMMIT until ClickHouse shows all of its rows, what it took, and when a row that was
 * committed to another table right behind it is there.
 */
final class LargeTransaction {
    private static final String BEHIND = "bench.behind";
    private static final long POLL_NANOS = Duration.ofMillis(20).toNanos();
    private static final Duration STALL_LIMIT = Duration.ofMinutes(5);

    private final Stand stand;
    private final long rows;

    // as System.nanoTime, 0 before
    private long first;
    private long all;
    private long behind;

    private LargeTransaction(Stand stand, long rows) {
        this.stand = stand;
        this.rows = rows;
    }

    static List<Figure> measure(int major, long rows) throws SQLException, InterruptedException {
        try (Stand stand = Stand.start(major)) {
            try (Connection session = stand.source();
                    Statement statement = session.createStatement()) {
                statement.execute("create table " + BEHIND + " (id int primary key)");
            }
            try (DaemonProcess daemon = stand.attach()) {
                return new LargeTransaction(stand, rows).run(daemon);
            }
        }
    }

    private List<Figure> run(DaemonProcess daemon) throws SQLException {
        try (Connection session = stand.source();
                Statement statement = session.createStatement()) {
            String before = value(statement, "select pg_current_wal_lsn()");
            session.setAutoCommit(false);
            statement.execute(
                    """
                    insert into %s
                      select i, i %% 1000, md5(i::text), i %% 100000 * 0.25, now(),
                        'note of ' || i || ' ' || md5((i + 1)::text) || md5((i + 2)::text)
                          || md5((i + 3)::text)
                      from generate_series(1, %d) i\
                    """
                            .formatted(Stand.TABLE, rows));
            session.commit();
            long committed = System.nanoTime();
            session.setAutoCommit(true);
            statement.execute("insert into " + BEHIND + " values (1)");
            long behindCommitted = System.nanoTime();
            String bytes =
                    value(statement, "select pg_current_wal_lsn() - '" + before + "'::pg_lsn");
            await(daemon);
            JsonNode status = daemon.status();
            return List.of(
                    Figure.of("large transaction: rows", (double) rows, ""),
                    Figure.of("large transaction: WAL", Double.parseDouble(bytes) / 1e6, "MB"),
                    Figure.of(
                            "large transaction: spilled",
                            status.path("spilled_bytes").asLong(0) / 1e6,
                            "MB"),
                    Figure.of(
                            "large transaction: COMMIT to first rows visible",
                            (first - committed) / 1e9,
                            "s"),
                    Figure.of(
                            "large transaction: COMMIT to all rows visible",
                            (all - committed) / 1e9,
                            "s"),
                    Figure.of(
                            "large transaction: one behind it, COMMIT to visible",
                            (behind - behindCommitted) / 1e9,
                            "s"),
                    Figure.of(
                                    "large transaction: daemon's peak RSS",
                                    ProcessFigures.peakResidentBytes(daemon.pid()) / 1e6,
                                    "MB")
                            .atMost(1000));
        }
    }

    /** Notes when the first row, all rows and the one behind them were seen. */
    private void await(DaemonProcess daemon) {
        long lastProgress = System.nanoTime();
        long had = 0;
        while (all == 0 || behind == 0) {
            daemon.requireAlive();
            long has = count(Stand.TABLE);
            boolean behindIsThere = behind == 0 && count(BEHIND) > 0;
            long now = System.nanoTime();
            first = first == 0 && has > 0 ? now : first;
            all = all == 0 && has >= rows ? now : all;
            behind = behindIsThere ? now : behind;
            if (has > had) {
                had = has;
                lastProgress = now;
            } else if (now - lastProgress > STALL_LIMIT.toNanos()) {
                throw new IllegalStateException("no more rows than " + had + " for five minutes");
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    private long count(String table) {
        return Long.parseLong(stand.target().query("select count() from " + table).strip());
    }

    private static String value(Statement statement, String sql) throws SQLException {
        try (ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }
}
