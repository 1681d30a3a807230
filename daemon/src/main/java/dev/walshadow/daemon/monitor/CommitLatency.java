package dev.walshadow.daemon.monitor;

import io.prometheus.metrics.core.metrics.Histogram;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How long transactions take from their commit on the source until they are durable in ClickHouse,
 * of every transaction that the stream has brought. {@link #committed} is for the WAL pump alone,
 * {@link #durable} for one thread at a time; neither locks or allocates.
 */
public final class CommitLatency {
    private static final int CAPACITY = 1 << 16;
    private static final double[] BOUNDS_SECONDS = {
        0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800
    };

    private final long[] positions = new long[CAPACITY];
    private final long[] commitMicros = new long[CAPACITY];
    private final AtomicLong written = new AtomicLong();
    private final AtomicLong read = new AtomicLong();
    private final Histogram histogram =
            Histogram.builder()
                    .name(Metrics.COMMIT_LATENCY)
                    .help(Metrics.COMMIT_LATENCY_HELP)
                    .classicOnly()
                    .classicUpperBounds(BOUNDS_SECONDS)
                    .build();

    /** A commit was read from the WAL. Beyond the capacity it goes uncounted. */
    public void committed(long position, long micros) {
        long next = written.getPlain();
        if (next - read.getAcquire() < CAPACITY) {
            int slot = (int) (next & (CAPACITY - 1));
            positions[slot] = position;
            commitMicros[slot] = micros;
            written.setRelease(next + 1);
        }
    }

    /**
     * Everything that committed up to a position is durable.
     *
     * @param nowMicros in the unit and epoch of {@link #committed}
     */
    public void durable(long position, long nowMicros) {
        long end = written.getAcquire();
        long at = read.getPlain();
        for (; at < end; at++) {
            int slot = (int) (at & (CAPACITY - 1));
            if (positions[slot] > position) {
                break;
            }
            histogram.observe(Math.max(0, nowMicros - commitMicros[slot]) / 1e6);
        }
        read.setRelease(at);
    }

    Histogram histogram() {
        return histogram;
    }
}
