package dev.walshadow.benchmarks;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * How fast a backlog drains: rows are committed in transactions of 10,000 while the daemon is
 * stopped, then it is started and ClickHouse is asked ten times a second how many it has.
 */
final class BacklogDrain {
    private static final int ROWS_PER_TRANSACTION = 10_000;
    private static final long POLL_NANOS = Duration.ofMillis(100).toNanos();
    private static final Duration STALL_LIMIT = Duration.ofMinutes(2);
    private static final String SLOT = "walshadow";

    private final Stand stand;
    private final long rows;
    private final Map<Long, Double> walsenders = new HashMap<>();
    private double halfSeconds;
    private double allSeconds;
    private double shadowCpu;

    private BacklogDrain(Stand stand, long rows) {
        this.stand = stand;
        this.rows = rows;
    }

    static List<Figure> measure(int major, long wanted) throws SQLException, InterruptedException {
        long rows = Math.max(2, wanted / ROWS_PER_TRANSACTION) * ROWS_PER_TRANSACTION;
        try (Stand stand = Stand.start(major)) {
            return new BacklogDrain(stand, rows).run();
        }
    }

    private List<Figure> run() throws SQLException, InterruptedException {
        stand.attach().close();
        double walBytesPerRow = write();
        double targetBefore = ProcessFigures.cpuSecondsOfFamily(stand.target().pid());
        try (DaemonProcess daemon = stand.startDaemon();
                Connection session = stand.source()) {
            drain(daemon, session);
            double millions = rows / 1e6;
            double half = allSeconds - halfSeconds;
            double target = ProcessFigures.cpuSecondsOfFamily(stand.target().pid()) - targetBefore;
            double sender = walsenders.values().stream().mapToDouble(each -> each).sum();
            return List.of(
                    Figure.of("backlog: rows", (double) rows, ""),
                    Figure.of("backlog: WAL per row", walBytesPerRow, "B"),
                    Figure.of("drain: start to end", allSeconds, "s"),
                    Figure.of("drain: second half", rows / 2.0 / half, "rows/s").atLeast(400_000),
                    Figure.of(
                            "drain: WAL, second half",
                            walBytesPerRow * rows / 2 / half / 1e6,
                            "MB/s"),
                    Figure.of(
                                    "drain: daemon's peak RSS",
                                    ProcessFigures.peakResidentBytes(daemon.pid()) / 1e6,
                                    "MB")
                            .atMost(1000),
                    Figure.of("drain: walsender CPU", sender / millions, "s/M rows").atMost(0.4),
                    Figure.of(
                            "drain: daemon CPU",
                            ProcessFigures.cpuSeconds(daemon.pid()) / millions,
                            "s/M rows"),
                    Figure.of("drain: shadow CPU", shadowCpu / millions, "s/M rows"),
                    Figure.of("drain: ClickHouse CPU", target / millions, "s/M rows"));
        }
    }

    /** Returns the bytes of WAL per row. */
    private double write() throws SQLException {
        try (Connection session = stand.source();
                Statement statement = session.createStatement()) {
            String before = value(statement, "select pg_current_wal_lsn()");
            statement.execute(
                    """
                    do $$ begin for t in 0..%d loop
                      insert into %s
                        select i, i %% 1000, md5(i::text), i %% 100000 * 0.25, now(),
                          'note of ' || i || ' ' || md5((i + 1)::text) || md5((i + 2)::text)
                            || md5((i + 3)::text)
                        from generate_series(t * %3$d::bigint + 1, (t + 1) * %3$d::bigint) i;
                      commit;
                    end loop; end $$\
                    """
                            .formatted(
                                    rows / ROWS_PER_TRANSACTION - 1,
                                    Stand.TABLE,
                                    ROWS_PER_TRANSACTION));
            String bytes =
                    value(statement, "select pg_current_wal_lsn() - '" + before + "'::pg_lsn");
            // so that no dirty page is written while the drain is measured
            statement.execute("checkpoint");
            return Double.parseDouble(bytes) / rows;
        }
    }

    private void drain(DaemonProcess daemon, Connection session) throws SQLException {
        long start = System.nanoTime();
        long lastProgress = start;
        long had = 0;
        double then = 0;
        while (had < rows) {
            LockSupport.parkNanos(POLL_NANOS);
            daemon.requireAlive();
            long has = count();
            long nanos = System.nanoTime();
            double now = (nanos - start) / 1e9;
            if (had < rows / 2 && has >= rows / 2) {
                // between two looks the count is taken to rise evenly
                halfSeconds = then + (now - then) * (rows / 2.0 - had) / (has - had);
            }
            if (has > had) {
                lastProgress = nanos;
            } else if (nanos - lastProgress > STALL_LIMIT.toNanos()) {
                throw new IllegalStateException("the drain stands still at " + had + " rows");
            }
            had = has;
            then = now;
            look(daemon, session);
        }
        allSeconds = then;
    }

    private long count() {
        return Long.parseLong(stand.target().query("select count() from " + Stand.TABLE).strip());
    }

    /** Processes that may be gone at the end are looked at on the way. */
    private void look(DaemonProcess daemon, Connection session) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet answer =
                        statement.executeQuery(
                                "select active_pid from pg_replication_slots"
                                        + " where active_pid is not null and slot_name = '"
                                        + SLOT
                                        + "'")) {
            while (answer.next()) {
                long pid = answer.getLong(1);
                walsenders.merge(pid, ProcessFigures.cpuSeconds(pid), Math::max);
            }
        }
        shadowCpu =
                Math.max(
                        shadowCpu,
                        ProcessHandle.of(daemon.pid()).stream()
                                .flatMap(ProcessHandle::descendants)
                                .mapToDouble(each -> ProcessFigures.cpuSeconds(each.pid()))
                                .sum());
    }

    private static String value(Statement statement, String sql) throws SQLException {
        try (ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }
}
