package dev.walshadow.daemon.replication;

import dev.walshadow.daemon.monitor.PositionClock;
import dev.walshadow.postgres.Lsn;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the source now and then how far it is and what its slot keeps: while the stream is parked
 * nothing else tells. Owns one session and one thread.
 */
final class SourceWatch implements AutoCloseable {
    /**
     * @param walStatus PostgreSQL's word: reserved, extended, unreserved, lost
     * @param retainedBytes from the slot's restart position to the end of the WAL
     * @param safeWalBytes that may still be written before the slot is lost; null: no limit
     */
    record Slot(
            boolean active,
            String walStatus,
            long restartLsn,
            long retainedBytes,
            @Nullable Long safeWalBytes) {}

    private static final Logger LOG = LoggerFactory.getLogger(SourceWatch.class);
    private static final long TICK_MILLIS = 500;
    private static final int ANSWER_SECONDS = 10;
    private static final String QUESTION =
            "SELECT pg_current_wal_lsn()::text, s.active, s.wal_status, s.restart_lsn::text,"
                    + " pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::int8,"
                    + " s.safe_wal_size FROM (SELECT 1) AS one LEFT JOIN"
                    + " pg_catalog.pg_replication_slots s ON s.slot_name = ?";

    private final SourceDatabase source;
    private final String slotName;
    private volatile long intervalNanos;
    private final PositionClock clock;
    private final LongSupplier streamed;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread thread;

    // the thread's
    private @Nullable Connection session;
    private long nextQuestion = System.nanoTime();

    private volatile @Nullable Slot slot;
    private volatile String problem = "";

    /**
     * @param streamed how far the source is by what it streamed; 0 if nothing is known
     */
    SourceWatch(
            SourceDatabase source,
            String slotName,
            Duration interval,
            PositionClock clock,
            LongSupplier streamed) {
        this.source = source;
        this.slotName = slotName;
        this.intervalNanos = interval.toNanos();
        this.clock = clock;
        this.streamed = streamed;
        this.thread = Thread.ofVirtual().name("source-watch").unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    /** From the next question on. Any thread. */
    void askEvery(Duration interval) {
        intervalNanos = interval.toNanos();
    }

    /** As of the last answer; null before the first, and while the source does not answer. */
    @Nullable Slot slot() {
        return slot;
    }

    /** Why the last question was not answered; empty if it was. */
    String problem() {
        return problem;
    }

    private void run() {
        try {
            while (!closed.await(TICK_MILLIS, TimeUnit.MILLISECONDS)) {
                long now = System.nanoTime();
                clock.reached(streamed.getAsLong(), now);
                if (!source.isArchive() && now - nextQuestion >= 0) {
                    nextQuestion = now + intervalNanos;
                    ask();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            end();
        }
    }

    private void ask() {
        try {
            Connection asked = session;
            if (asked == null) {
                asked = source.open();
                session = asked;
            }
            answer(asked);
            problem = "";
        } catch (SQLException e) {
            slot = null;
            if (problem.isEmpty() && closed.getCount() > 0) {
                LOG.warn(
                        "the source cannot be asked for its slot: {}; asking again",
                        e.getMessage());
            }
            problem = String.valueOf(e.getMessage());
            end();
        }
    }

    private void answer(Connection asked) throws SQLException {
        try (PreparedStatement question = asked.prepareStatement(QUESTION)) {
            question.setQueryTimeout(ANSWER_SECONDS);
            question.setString(1, slotName);
            try (ResultSet row = question.executeQuery()) {
                row.next();
                clock.reached(Lsn.parse(row.getString(1)), System.nanoTime());
                String restart = row.getString(4);
                long safe = row.getLong(6);
                Long safeWal = row.wasNull() ? null : safe;
                String status = row.getString(3);
                slot =
                        status == null
                                ? null
                                : new Slot(
                                        row.getBoolean(2),
                                        status,
                                        restart == null ? 0 : Lsn.parse(restart),
                                        Math.max(0, row.getLong(5)),
                                        safeWal);
            }
        }
    }

    private void end() {
        Connection ended = session;
        session = null;
        if (ended != null) {
            try {
                ended.close();
            } catch (SQLException e) {
                LOG.debug("a session on the source could not be closed: {}", e.toString());
            }
        }
    }

    /** Does not wait for an answer that is under way. */
    @Override
    public void close() {
        closed.countDown();
        thread.interrupt();
    }
}
