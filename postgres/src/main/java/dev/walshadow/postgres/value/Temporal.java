package dev.walshadow.postgres.value;

/** Dates and timestamps as numbers since 1970, and their infinities. */
public final class Temporal {
    /** DATEVAL_NOBEGIN, '-infinity'. */
    public static final int DATE_NEGATIVE_INFINITY = Integer.MIN_VALUE;

    /** DATEVAL_NOEND, 'infinity'. */
    public static final int DATE_POSITIVE_INFINITY = Integer.MAX_VALUE;

    /** DT_NOBEGIN, '-infinity'. */
    public static final long TIMESTAMP_NEGATIVE_INFINITY = Long.MIN_VALUE;

    /** DT_NOEND, 'infinity'. */
    public static final long TIMESTAMP_POSITIVE_INFINITY = Long.MAX_VALUE;

    /** From 1970-01-01 to PostgreSQL's epoch, 2000-01-01. */
    public static final int EPOCH_DAYS = 10_957;

    public static final long EPOCH_MICROS = EPOCH_DAYS * 86_400_000_000L;

    private Temporal() {}

    public static boolean isInfiniteDate(int days) {
        return days == DATE_NEGATIVE_INFINITY || days == DATE_POSITIVE_INFINITY;
    }

    /**
     * Days since 1970 of a finite date. No valid date overflows; what a damaged one would is the
     * greatest int.
     */
    public static int daysSince1970(int days) {
        int since1970 = days + EPOCH_DAYS;
        return since1970 < days ? Integer.MAX_VALUE : since1970;
    }

    public static boolean isInfiniteTimestamp(long micros) {
        return micros == TIMESTAMP_NEGATIVE_INFINITY || micros == TIMESTAMP_POSITIVE_INFINITY;
    }

    /**
     * Microseconds since 1970 of a finite timestamp. Those of the years 294247 and later do not fit
     * and become the greatest long.
     */
    public static long microsSince1970(long micros) {
        long since1970 = micros + EPOCH_MICROS;
        return since1970 < micros ? Long.MAX_VALUE : since1970;
    }
}
