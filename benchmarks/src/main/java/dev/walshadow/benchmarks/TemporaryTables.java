package dev.walshadow.benchmarks;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Transactions that create, index, truncate and drop a temporary table, beside rows. They change
 * catalogs, so the shadow gets them, but nobody needs to know them: the pump must not be parked.
 * The rows' commits are timed until ClickHouse shows them; one session writes them in the order of
 * their keys, so the highest key tells of all before it.
 */
final class TemporaryTables {
    private static final int SESSIONS = 4;
    private static final int TEMPORARY_PER_SECOND = 300;
    private static final int COMMITS_PER_SECOND = 100;
    private static final int ROWS_AT_ONCE = 50;
    private static final int WARM_UP_SECONDS = 10;
    private static final long POLL_NANOS = Duration.ofMillis(10).toNanos();
    private static final long PATIENCE_NANOS = Duration.ofMinutes(1).toNanos();
    private static final String TEMPORARY =
            "begin; create temp table t (id int primary key, v text); create index on t (v);"
                    + " insert into t values (1, 'a'); truncate t; drop table t; commit";

    private final Stand stand;
    private final int warmUpCommits = WARM_UP_SECONDS * COMMITS_PER_SECOND;
    private final int seconds;
    private final int commits;

    /** When commit i of rows returned, as System.nanoTime. */
    private final AtomicLongArray committedNanos;

    private final AtomicInteger committed = new AtomicInteger();
    private final AtomicReference<@Nullable SQLException> failure = new AtomicReference<>();
    private final Histogram micros = new Histogram(3);

    /** One statement, evenly over the time; as fast as it goes while it is late. */
    private interface Repeated {
        void run(Statement statement, int number) throws SQLException;
    }

    private TemporaryTables(Stand stand, int seconds) {
        this.stand = stand;
        this.seconds = WARM_UP_SECONDS + seconds;
        this.commits = this.seconds * COMMITS_PER_SECOND;
        this.committedNanos = new AtomicLongArray(commits);
    }

    static List<Figure> measure(int major, int seconds) throws SQLException, InterruptedException {
        try (Stand stand = Stand.start(major);
                DaemonProcess daemon = stand.attach()) {
            return new TemporaryTables(stand, seconds).run(daemon);
        }
    }

    private List<Figure> run(DaemonProcess daemon) throws InterruptedException {
        long holds = holds(daemon);
        double cpu = ProcessFigures.cpuSeconds(daemon.pid());
        long started = System.nanoTime();
        List<Thread> temporary = new ArrayList<>();
        for (int i = 0; i < SESSIONS; i++) {
            temporary.add(
                    start(
                            seconds * TEMPORARY_PER_SECOND / SESSIONS,
                            (statement, _) -> statement.execute(TEMPORARY)));
        }
        Thread rows = start(commits, this::insert);
        read(daemon);
        rows.join();
        for (Thread each : temporary) {
            each.join();
        }
        requireSuccess();
        double took = (System.nanoTime() - started) / 1e9;
        daemon.awaitAll(Duration.ofMinutes(1));
        return List.of(
                Figure.of(
                                "temporary: transactions",
                                (double) seconds * TEMPORARY_PER_SECOND / took,
                                "/s")
                        .atLeast(TEMPORARY_PER_SECOND * 0.95),
                Figure.of("temporary: rows beside them", commits * ROWS_AT_ONCE / took, "rows/s"),
                Figure.of("temporary: holds", (double) (holds(daemon) - holds), "").atMost(0),
                quantile("p50", 50),
                quantile("p99", 99),
                quantile("maximum", 100).atMost(1000),
                Figure.of(
                        "temporary: daemon CPU",
                        (ProcessFigures.cpuSeconds(daemon.pid()) - cpu) / took,
                        "cores"));
    }

    private Figure quantile(String name, double percentile) {
        return Figure.of(
                "temporary: commit to visible, " + name,
                micros.getValueAtPercentile(percentile) / 1e3,
                "ms");
    }

    private static long holds(DaemonProcess daemon) {
        return daemon.status().path("shadow").path("holds").asLong(0);
    }

    private Thread start(int times, Repeated work) {
        return Thread.ofPlatform().start(() -> repeat(times, work));
    }

    private void repeat(int times, Repeated work) {
        try (Connection session = stand.source();
                Statement statement = session.createStatement()) {
            long start = System.nanoTime();
            for (int i = 0; i < times && failure.get() == null; i++) {
                long due = start + seconds * 1_000_000_000L / times * i;
                for (long left = due - System.nanoTime();
                        left > 0;
                        left = due - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                work.run(statement, i);
            }
        } catch (SQLException e) {
            failure.compareAndSet(null, e);
        }
    }

    private void insert(Statement statement, int number) throws SQLException {
        long first = (long) number * ROWS_AT_ONCE;
        statement.execute(
                "insert into "
                        + Stand.TABLE
                        + " select i, 1, 'somebody', 2.50, now(), 'a note' from generate_series("
                        + first
                        + ", "
                        + (first + ROWS_AT_ONCE - 1)
                        + ") i");
        committedNanos.set(number, System.nanoTime());
        committed.set(number + 1);
    }

    private void read(DaemonProcess daemon) {
        int next = 0;
        long lastNew = System.nanoTime();
        while (next < commits) {
            long asked = System.nanoTime();
            String answer = stand.target().query("select max(id) from " + Stand.TABLE);
            long arrived = System.nanoTime();
            int visible = (int) ((Long.parseLong(answer.strip()) + 1) / ROWS_AT_ONCE);
            for (int end = Math.min(visible, committed.get()); next < end; next++) {
                if (next >= warmUpCommits) {
                    micros.recordValue(Math.max(0, arrived - committedNanos.get(next)) / 1000);
                }
                lastNew = arrived;
            }
            daemon.requireAlive();
            requireSuccess();
            if (arrived - lastNew > PATIENCE_NANOS) {
                throw new IllegalStateException("no new row in ClickHouse for a minute");
            }
            LockSupport.parkNanos(asked + POLL_NANOS - System.nanoTime());
        }
    }

    private void requireSuccess() {
        SQLException failed = failure.get();
        if (failed != null) {
            throw new IllegalStateException("a writer failed", failed);
        }
    }
}
