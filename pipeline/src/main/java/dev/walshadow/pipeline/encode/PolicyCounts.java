package dev.walshadow.pipeline.encode;

import java.util.EnumMap;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/** How often a value policy (docs/types.md) changed a value. Read by any thread. */
public final class PolicyCounts {
    /** The policies. */
    public enum Policy {
        /** A date or timestamp outside ClickHouse's range became its nearest bound. */
        CLAMPED,
        /** A numeric NaN or infinity became NULL. */
        NOT_A_NUMBER,
        /** A NULL array, hstore or vector became an empty one. */
        NULL_ARRAY,
        /** An array whose lower bound is not 1 lost it. */
        LOWER_BOUND,
        /** Text with bytes that are invalid in the source's encoding. */
        INVALID_TEXT,
        /** A numeric with more digits behind the point than the Decimal was rounded. */
        ROUNDED
    }

    private final EnumMap<Policy, LongAdder> counts = new EnumMap<>(Policy.class);

    PolicyCounts() {
        for (Policy policy : Policy.values()) {
            counts.put(policy, new LongAdder());
        }
    }

    void add(Policy policy) {
        of(policy).increment();
    }

    public long count(Policy policy) {
        return of(policy).sum();
    }

    private LongAdder of(Policy policy) {
        return Objects.requireNonNull(counts.get(policy), "every policy has a count");
    }
}
