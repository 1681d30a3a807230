package dev.walshadow.pipeline;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.clickhouse.ServerError;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether ClickHouse answers, told once per change: as a whole (network) to {@link PipelineEvents},
 * per table (too many parts, rights, memory) to the log. Thread safe.
 */
final class TargetReachability {
    private static final Logger log = LoggerFactory.getLogger(TargetReachability.class);

    private static final long RETRY_CEILING_MILLIS = 5_000;

    private final PipelineEvents events;
    private final PipelineMetrics metrics;
    private final TargetGate gate;
    private final Set<String> busyTables = ConcurrentHashMap.newKeySet();
    private boolean reachable = true;
    private volatile long answeredNanos = System.nanoTime();

    TargetReachability(PipelineEvents events, PipelineMetrics metrics, TargetGate gate) {
        this.events = events;
        this.metrics = metrics;
        this.gate = gate;
    }

    /**
     * @param startedNanos when the attempt began: an older one than the newest success says nothing
     *     about now
     */
    void failed(TargetTable table, WalshadowException failure, long startedNanos) {
        failed(table.label(), failure, startedNanos);
    }

    /**
     * @param what the table, or what else was asked for
     */
    void failed(String what, WalshadowException failure, long startedNanos) {
        String reason = String.valueOf(failure.getMessage());
        if (ServerError.codeOf(failure) >= 0) {
            // it answered, so the network is fine
            if (busyTables.add(what)) {
                log.warn("{}: waiting, repeating with backoff: {}", what, reason);
            }
            return;
        }
        if (startedNanos - answeredNanos >= 0 && change(false)) {
            events.targetReachable(false, reason);
        }
    }

    /** Something asked of ClickHouse that may be asked again. */
    interface Attempt {
        void run() throws InterruptedException;
    }

    /**
     * Asks until ClickHouse has answered success, waiting at the gate before each time; what it
     * refuses is thrown.
     *
     * @throws dev.walshadow.base.QuarantineException if ClickHouse refuses
     */
    void until(TargetTable table, Attempt attempt) throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        while (true) {
            gate.enter();
            long started = System.nanoTime();
            try {
                attempt.run();
                answered(table);
                return;
            } catch (RetryException | ConfigurationException e) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                metrics.retries.increment();
                failed(table, e, started);
            } finally {
                gate.leave();
            }
            backoff.pause();
        }
    }

    void answered(TargetTable table) {
        answered(table.label());
    }

    void answered(String what) {
        answeredNanos = System.nanoTime();
        if (!busyTables.isEmpty() && busyTables.remove(what)) {
            log.info("{}: ClickHouse takes it again", what);
        }
        if (change(true)) {
            events.targetReachable(true, "");
        }
    }

    private synchronized boolean change(boolean now) {
        boolean changed = reachable != now;
        reachable = now;
        return changed;
    }
}
