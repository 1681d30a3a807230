package dev.walshadow.pipeline.encode;

/** How often a value policy (docs/types.md) changed a value. Belongs to one encoder's thread. */
public final class PolicyCounts {
    /** The policies. */
    public enum Policy {
        /** A date or timestamp outside ClickHouse's range became its nearest bound. */
        CLAMPED,
        /** A numeric NaN or infinity became NULL. */
        NOT_A_NUMBER,
        /** A NULL array became an empty one. */
        NULL_ARRAY,
        /** An array whose lower bound is not 1 lost it. */
        LOWER_BOUND,
        /** Text with bytes that are invalid in the source's encoding. */
        INVALID_TEXT,
        /** A numeric with more digits behind the point than the Decimal was rounded. */
        ROUNDED
    }

    private final long[] counts = new long[Policy.values().length];

    void add(Policy policy) {
        counts[policy.ordinal()]++;
    }

    public long count(Policy policy) {
        return counts[policy.ordinal()];
    }
}
