package dev.walshadow.source;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** What passed, for metrics. Written by the WAL pump, read by anyone; each value is whole. */
public final class StreamCounters {
    private static final VarHandle COUNTS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int BYTES = 3;

    private final long[] counts = new long[2 * BYTES];

    void count(Decision decision, int bytes) {
        int index = index(decision);
        COUNTS.setOpaque(counts, index, counts[index] + 1);
        COUNTS.setOpaque(counts, index + BYTES, counts[index + BYTES] + bytes);
    }

    private static int index(Decision decision) {
        return switch (decision) {
            case KEEP -> 0;
            case DROP -> 1;
            case PATCH -> 2;
        };
    }

    public long records(Decision decision) {
        return (long) COUNTS.getOpaque(counts, index(decision));
    }

    /** Record bytes, page headers and padding not counted. */
    public long bytes(Decision decision) {
        return (long) COUNTS.getOpaque(counts, BYTES + index(decision));
    }
}
