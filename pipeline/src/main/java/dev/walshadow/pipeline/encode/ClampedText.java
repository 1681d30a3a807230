package dev.walshadow.pipeline.encode;

import dev.walshadow.postgres.value.IsoText;

/** Dates and timestamps of PostgreSQL's text, within what ClickHouse holds. */
final class ClampedText {
    private static final long MICROS_PER_DAY = 86_400_000_000L;

    private ClampedText() {}

    /** Days since 1970, within what Date32 holds. */
    static int date(String text) {
        if (text.equals("infinity")) {
            return TemporalReaders.LAST_DAY;
        }
        if (text.equals("-infinity")) {
            return TemporalReaders.FIRST_DAY;
        }
        return Math.clamp(IsoText.day(text), TemporalReaders.FIRST_DAY, TemporalReaders.LAST_DAY);
    }

    /** Microseconds since 1970 UTC, within what DateTime64 holds. */
    static long timestamp(String text) {
        if (text.equals("infinity")) {
            return TemporalReaders.LAST_MICROS;
        }
        if (text.equals("-infinity")) {
            return TemporalReaders.FIRST_MICROS;
        }
        return Math.clamp(
                IsoText.micros(text), TemporalReaders.FIRST_MICROS, TemporalReaders.LAST_MICROS);
    }

    /** Whether ClickHouse cannot hold this date or timestamp. */
    static boolean isOutOfRange(String text) {
        if (text.endsWith("infinity")) {
            return true;
        }
        long day =
                IsoText.isDate(text)
                        ? IsoText.day(text)
                        : Math.floorDiv(IsoText.micros(text), MICROS_PER_DAY);
        return day < TemporalReaders.FIRST_DAY || day > TemporalReaders.LAST_DAY;
    }
}
