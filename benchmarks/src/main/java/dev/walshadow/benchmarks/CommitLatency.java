package dev.walshadow.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * From commit to visible: one session commits single rows at a fixed rate; a reader asks ClickHouse
 * every 5 ms for rows that it has not seen. A row's latency is from the return of its commit to the
 * arrival of the first answer that has it, so the reader's own period and query are in it.
 */
final class CommitLatency {
    private static final int RATE = 500;
    private static final int WARM_UP_SECONDS = 15;
    private static final long POLL_NANOS = Duration.ofMillis(5).toNanos();
    private static final long PATIENCE_NANOS = Duration.ofMinutes(1).toNanos();

    private final Stand stand;
    private final int warmUpRows = WARM_UP_SECONDS * RATE;
    private final int rows;

    /** When the commit of row i returned, as System.nanoTime; 0 before. */
    private final AtomicLongArray committedNanos;

    private final AtomicLong measuredStart = new AtomicLong();
    private final AtomicLong measuredEnd = new AtomicLong();
    private final AtomicReference<@Nullable SQLException> failure = new AtomicReference<>();
    private final Histogram micros = new Histogram(3);
    private long polls;

    private CommitLatency(Stand stand, int seconds) {
        this.stand = stand;
        this.rows = warmUpRows + seconds * RATE;
        this.committedNanos = new AtomicLongArray(rows);
    }

    static List<Figure> measure(int major, int seconds) throws SQLException, InterruptedException {
        try (Stand stand = Stand.start(major);
                DaemonProcess daemon = stand.attach()) {
            return new CommitLatency(stand, seconds).run(daemon);
        }
    }

    private List<Figure> run(DaemonProcess daemon) throws InterruptedException {
        Thread writer = Thread.ofPlatform().name("writer").start(this::write);
        read(daemon);
        writer.join();
        double seconds = (measuredEnd.get() - measuredStart.get()) / 1e9;
        return List.of(
                Figure.of("latency: commits", (rows - warmUpRows) / seconds, "/s"),
                Figure.of("latency: measured for", seconds, "s"),
                Figure.of("latency: polls", (double) polls, ""),
                quantile("p50", 50).atMost(80),
                quantile("p99", 99).atMost(300),
                quantile("maximum", 100));
    }

    private Figure quantile(String name, double percentile) {
        return Figure.of(
                "latency: commit to visible, " + name,
                micros.getValueAtPercentile(percentile) / 1e3,
                "ms");
    }

    private void write() {
        try (Connection session = stand.source();
                PreparedStatement insert =
                        session.prepareStatement(
                                "insert into "
                                        + Stand.TABLE
                                        + " values (?, 1, 'somebody', 2.50, now(), 'a note')")) {
            long start = System.nanoTime();
            for (int i = 0; i < rows; i++) {
                long due = start + i * 1_000_000_000L / RATE;
                for (long left = due - System.nanoTime();
                        left > 0;
                        left = due - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                if (i == warmUpRows) {
                    measuredStart.set(System.nanoTime());
                }
                insert.setLong(1, i);
                insert.executeUpdate();
                committedNanos.set(i, System.nanoTime());
            }
            measuredEnd.set(System.nanoTime());
        } catch (SQLException e) {
            failure.set(e);
        }
    }

    private void read(DaemonProcess daemon) {
        BitSet seen = new BitSet(rows);
        long lastNew = System.nanoTime();
        for (int from = 0; from < rows; from = seen.nextClearBit(from)) {
            long asked = System.nanoTime();
            String answer =
                    stand.target().query("select id from " + Stand.TABLE + " where id >= " + from);
            long arrived = System.nanoTime();
            polls++;
            for (String line : answer.lines().toList()) {
                int id = Integer.parseInt(line);
                if (!seen.get(id)) {
                    seen.set(id);
                    record(id, arrived);
                    lastNew = arrived;
                }
            }
            requireProgress(daemon, arrived - lastNew);
            LockSupport.parkNanos(asked + POLL_NANOS - System.nanoTime());
        }
    }

    private void record(int id, long arrived) {
        if (id >= warmUpRows) {
            long committed = committedNanos.get(id);
            // seen before the writer was told: no latency at all
            micros.recordValue(committed == 0 ? 0 : Math.max(0, arrived - committed) / 1000);
        }
    }

    private void requireProgress(DaemonProcess daemon, long silentNanos) {
        daemon.requireAlive();
        SQLException failed = failure.get();
        if (failed != null) {
            throw new IllegalStateException("the writer failed", failed);
        }
        if (silentNanos > PATIENCE_NANOS) {
            throw new IllegalStateException("no new row in ClickHouse for a minute");
        }
    }
}
