package dev.walshadow.daemon.replication;

import dev.walshadow.daemon.monitor.CommitLatency;
import dev.walshadow.daemon.monitor.PositionClock;
import dev.walshadow.daemon.monitor.TransactionTraces;
import dev.walshadow.pipeline.PipelineEvents;
import dev.walshadow.pipeline.Watermark;
import dev.walshadow.transaction.CommitSink;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is observed of a replication over all its attempts. Read by any thread. */
final class Observations implements PipelineEvents {
    private static final Logger LOG = LoggerFactory.getLogger(Observations.class);
    private static final int CLOCK_SAMPLES = 4096;

    final CommitLatency latency = new CommitLatency();
    final PositionClock clock = new PositionClock(CLOCK_SAMPLES);

    private final @Nullable TransactionTraces traces;
    private volatile boolean targetReachable = true;
    private volatile String targetReason = "";

    /**
     * @param traces null: none are wanted
     */
    Observations(@Nullable TransactionTraces traces) {
        this.traces = traces;
    }

    /** A commit was read. On the pump. */
    void committed(long position, long micros) {
        latency.committed(position, micros);
        if (traces != null) {
            traces.received(position);
        }
    }

    /** What stands before the pipeline. */
    CommitSink before(CommitSink sink) {
        return traces == null ? sink : traces.before(sink);
    }

    void close() {
        if (traces != null) {
            traces.close();
        }
    }

    boolean targetReachable() {
        return targetReachable;
    }

    /** Why ClickHouse does not answer; empty if it does. */
    String targetReason() {
        return targetReason;
    }

    @Override
    public void targetReachable(boolean reachable, String reason) {
        targetReason = reachable ? "" : reason;
        targetReachable = reachable;
        if (reachable) {
            LOG.info("ClickHouse answers again");
        } else {
            LOG.warn("ClickHouse does not answer: {}; waiting for it", reason);
        }
    }

    @Override
    public void watermark(Watermark watermark) {
        latency.durable(watermark.durableLsn(), SourceDatabase.postgresMicrosNow());
        if (traces != null) {
            traces.durable(watermark.durableLsn());
        }
    }
}
