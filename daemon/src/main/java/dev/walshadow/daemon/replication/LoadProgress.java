package dev.walshadow.daemon.replication;

import dev.walshadow.bootstrap.reload.TableLoad;
import dev.walshadow.pipeline.LoadTicket;
import java.time.Duration;

/** How far one table's load is. Written by the load, read by status. */
final class LoadProgress implements TableLoad.Progress {
    private static final Duration UNKNOWN = Duration.ofSeconds(-1);

    private final LoadTicket ticket;
    private final long startedNanos = System.nanoTime();
    private volatile String step = "waiting for a place";
    private volatile long estimatedRows = -1;
    private volatile long rows;
    private volatile long bytes;

    LoadProgress(LoadTicket ticket) {
        this.ticket = ticket;
    }

    LoadTicket ticket() {
        return ticket;
    }

    /** What it does or waits for. */
    String step() {
        return step;
    }

    void step(String now) {
        step = now;
    }

    long rows() {
        return rows;
    }

    long bytes() {
        return bytes;
    }

    /** By the source's statistics; -1 if they say nothing. */
    long estimatedRows() {
        return estimatedRows;
    }

    /** Until the last row is read; negative if nobody knows. */
    Duration remaining() {
        long expected = estimatedRows;
        long done = rows;
        if (expected <= 0 || done == 0) {
            return UNKNOWN;
        }
        double left = Math.max(0, expected - done) / (double) done;
        return Duration.ofNanos((long) ((System.nanoTime() - startedNanos) * left));
    }

    @Override
    public void began(long estimated) {
        estimatedRows = estimated;
        rows = 0;
        bytes = 0;
        step = "reading rows";
    }

    @Override
    public void advanced(long rowsSoFar, long bytesSoFar) {
        rows = rowsSoFar;
        bytes = bytesSoFar;
    }

    @Override
    public void waits(String reason) {
        step = reason;
    }
}
