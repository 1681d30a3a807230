package dev.walshadow.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Updates that leave a column of 100 kB out of line unchanged, at a fixed rate: the WAL has only a
 * pointer, so each row's value is taken from its previous version, or in mode {@code clickhouse}
 * made from the chunks that are kept there. Each update writes the next number into its row; a
 * reader asks ClickHouse for the highest. An update's lag is from the return of its commit to the
 * first answer that is not below its number.
 */
final class ToastLag {
    private static final String TABLE = "bench.documents";
    private static final int DOCUMENTS = 1000;
    private static final int BODY_BYTES = 100_000;
    private static final int RATE = 1000;
    private static final int UPDATES_PER_COMMIT = 10;
    private static final int WARM_UP_SECONDS = 15;
    private static final long POLL_NANOS = Duration.ofMillis(20).toNanos();
    private static final long PATIENCE_NANOS = Duration.ofMinutes(2).toNanos();

    private final Stand stand;
    private final String mode;
    private final int warmUp = WARM_UP_SECONDS * RATE;
    private final int updates;

    /** When the commit of update i returned, as System.nanoTime. */
    private final AtomicLongArray committedNanos;

    private final AtomicInteger committed = new AtomicInteger();
    private final AtomicReference<@Nullable SQLException> failure = new AtomicReference<>();
    private final Histogram micros = new Histogram(3);
    private double writerSeconds;

    private ToastLag(Stand stand, String mode, int seconds) {
        this.stand = stand;
        this.mode = mode;
        this.updates = warmUp + seconds * RATE;
        this.committedNanos = new AtomicLongArray(updates + 1);
    }

    /**
     * @param mode of {@code [toast]}
     */
    static List<Figure> measure(int major, String mode, int seconds)
            throws SQLException, InterruptedException {
        try (Stand stand = Stand.start(major)) {
            stand.configure("[toast]\nmode = \"%s\"\n".formatted(mode));
            try (Connection session = stand.source();
                    Statement statement = session.createStatement()) {
                statement.execute(
                        "create table " + TABLE + " (id int primary key, n int, body text)");
                statement.execute("alter table " + TABLE + " alter body set storage external");
                statement.execute(
                        """
                        insert into %s
                          select d, 0, (select left(string_agg(md5(d || ' ' || i), ''), %d)
                                        from generate_series(1, %d) i)
                          from generate_series(1, %d) d\
                        """
                                .formatted(TABLE, BODY_BYTES, BODY_BYTES / 32 + 1, DOCUMENTS));
            }
            try (DaemonProcess daemon = stand.attach()) {
                return new ToastLag(stand, mode, seconds).run(daemon);
            }
        }
    }

    private List<Figure> run(DaemonProcess daemon) throws InterruptedException {
        String bodies = bodies();
        Thread writer = Thread.ofPlatform().name("writer").start(this::write);
        read(daemon);
        writer.join();
        if (!bodies().equals(bodies)) {
            throw new IllegalStateException("the bodies in ClickHouse have changed");
        }
        return List.of(
                Figure.of(name("updates"), updates / writerSeconds, "/s").atLeast(0.99 * RATE),
                quantile("p50", 50),
                quantile("p99", 99),
                quantile("maximum", 100).atMost(2),
                Figure.of(
                        name("daemon's peak RSS"),
                        ProcessFigures.peakResidentBytes(daemon.pid()) / 1e6,
                        "MB"));
    }

    private Figure quantile(String name, double percentile) {
        return Figure.of(
                name("commit to visible, " + name),
                micros.getValueAtPercentile(percentile) / 1e6,
                "s");
    }

    private String name(String figure) {
        return "toast, mode " + mode + ": " + figure;
    }

    private String bodies() {
        return stand.target()
                .query(
                        "select count(), sum(length(body)), groupBitXor(cityHash64(id, body)) from "
                                + TABLE
                                + " final")
                .strip();
    }

    private void write() {
        SplittableRandom random = new SplittableRandom(1);
        try (Connection session = stand.source();
                PreparedStatement update =
                        session.prepareStatement("update " + TABLE + " set n = ? where id = ?")) {
            session.setAutoCommit(false);
            long start = System.nanoTime();
            for (int i = 1; i <= updates; i++) {
                long due = start + i * 1_000_000_000L / RATE;
                for (long left = due - System.nanoTime();
                        left > 0;
                        left = due - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                update.setInt(1, i);
                update.setInt(2, random.nextInt(DOCUMENTS) + 1);
                update.executeUpdate();
                if (i % UPDATES_PER_COMMIT == 0) {
                    session.commit();
                    long now = System.nanoTime();
                    for (int each = i - UPDATES_PER_COMMIT + 1; each <= i; each++) {
                        committedNanos.set(each, now);
                    }
                    committed.set(i);
                }
            }
            writerSeconds = (System.nanoTime() - start) / 1e9;
        } catch (SQLException e) {
            failure.set(e);
        }
    }

    private void read(DaemonProcess daemon) {
        int seen = 0;
        long lastNew = System.nanoTime();
        while (seen < updates) {
            long asked = System.nanoTime();
            int highest =
                    Integer.parseInt(stand.target().query("select max(n) from " + TABLE).strip());
            long arrived = System.nanoTime();
            // what the writer has not been told yet has no lag
            for (int i = Math.max(seen, warmUp) + 1; i <= highest; i++) {
                long since = i <= committed.get() ? arrived - committedNanos.get(i) : 0;
                micros.recordValue(Math.max(0, since) / 1000);
            }
            if (highest > seen) {
                seen = highest;
                lastNew = arrived;
            }
            daemon.requireAlive();
            SQLException failed = failure.get();
            if (failed != null) {
                throw new IllegalStateException("the writer failed", failed);
            }
            if (arrived - lastNew > PATIENCE_NANOS) {
                throw new IllegalStateException("no new row for two minutes, seen " + seen);
            }
            LockSupport.parkNanos(asked + POLL_NANOS - System.nanoTime());
        }
    }
}
