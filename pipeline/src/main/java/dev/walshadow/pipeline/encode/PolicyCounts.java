package dev.walshadow.pipeline.encode;

import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** How often a value policy (docs/types.md) changed a value. Read by any thread. */
public final class PolicyCounts {
    /** The policies. */
    public enum Policy {
        /** A date or timestamp outside ClickHouse's range became its nearest bound. */
        CLAMPED,
        /**
         * A date or timestamp outside ClickHouse's range became NULL, as its column's rule says.
         */
        OUT_OF_RANGE,
        /** A numeric NaN or infinity became NULL. */
        NOT_A_NUMBER,
        /** A NULL array, hstore or vector became an empty one. */
        NULL_ARRAY,
        /** An array whose lower bound is not 1 lost it. */
        LOWER_BOUND,
        /** Text with bytes that are invalid in the source's encoding. */
        INVALID_TEXT,
        /** A numeric with more digits behind the point than the Decimal was rounded. */
        ROUNDED,
        /** A value beyond the limit became NULL or was cut off. */
        OVERSIZED
    }

    private record Place(int column, Policy policy) {}

    private final ConcurrentHashMap<Place, LongAdder> counts = new ConcurrentHashMap<>();

    /** Whose value is at work. */
    private int column;

    /** The encoder's thread tries a row out, whose values are counted when it is sent. */
    private boolean paused;

    /** What is counted next is a value of this block column. */
    void at(int blockColumn) {
        column = blockColumn;
    }

    void add(Policy policy) {
        if (!paused) {
            counts.computeIfAbsent(new Place(column, policy), _ -> new LongAdder()).increment();
        }
    }

    void pause(boolean now) {
        paused = now;
    }

    public long count(Policy policy) {
        return counts.entrySet().stream()
                .filter(entry -> entry.getKey().policy == policy)
                .mapToLong(entry -> entry.getValue().sum())
                .sum();
    }

    /** By block column what was counted there. */
    public Map<Integer, Map<Policy, Long>> byColumn() {
        Map<Integer, Map<Policy, Long>> all = new TreeMap<>();
        counts.forEach((place, count) ->
                all.computeIfAbsent(place.column, _ -> new EnumMap<>(Policy.class))
                        .put(place.policy, count.sum()));
        return all;
    }
}
