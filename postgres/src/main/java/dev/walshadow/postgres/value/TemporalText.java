package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/**
 * What the output functions of date, time, timetz, timestamp, timestamptz and interval print with
 * {@code DateStyle = ISO}, {@code IntervalStyle = postgres} and {@code TimeZone = UTC}. Source:
 * {@code EncodeDateTime}, {@code EncodeInterval} in {@code src/backend/utils/adt/datetime.c}.
 */
public final class TemporalText {
    private static final long MICROS_PER_SECOND = 1_000_000L;
    private static final long MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND;

    /** From 0000-03-01, where the 400-year cycles are counted from, to 1970-01-01. */
    private static final long CYCLE_START_DAYS = 719_468;

    private static final int DAYS_PER_CYCLE = 146_097;

    private static final int INTERVAL_LENGTH = 16;
    private static final int INTERVAL_DAYS = 8;
    private static final int INTERVAL_MONTHS = 12;

    private TemporalText() {}

    static void date(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("date", 4, bytes, offset, length);
        appendDate(LittleEndian.getInt(bytes, offset), out);
    }

    static void timestamp(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("timestamp", 8, bytes, offset, length);
        appendTimestamp(LittleEndian.getLong(bytes, offset), false, out);
    }

    static void timestamptz(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("timestamptz", 8, bytes, offset, length);
        appendTimestamp(LittleEndian.getLong(bytes, offset), true, out);
    }

    static void time(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("time", 8, bytes, offset, length);
        appendTimeOfDay("time", LittleEndian.getLong(bytes, offset), offset, out);
    }

    static void timetz(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("timetz", 12, bytes, offset, length);
        appendTimeOfDay("timetz", LittleEndian.getLong(bytes, offset), offset, out);
        appendZone(LittleEndian.getInt(bytes, offset + 8), out);
    }

    /** Appends a date given in days since 2000-01-01. */
    public static void appendDate(int days, ByteBuilder out) {
        if (days == Temporal.DATE_NEGATIVE_INFINITY) {
            out.putAscii("-infinity");
        } else if (days == Temporal.DATE_POSITIVE_INFINITY) {
            out.putAscii("infinity");
        } else {
            appendBeforeChrist(appendCivil((long) days + Temporal.EPOCH_DAYS, out), out);
        }
    }

    /**
     * Appends a timestamp given in microseconds since 2000-01-01.
     *
     * @param withZone whether it is a timestamptz, printed in UTC
     */
    public static void appendTimestamp(long micros, boolean withZone, ByteBuilder out) {
        if (micros == Temporal.TIMESTAMP_NEGATIVE_INFINITY) {
            out.putAscii("-infinity");
            return;
        }
        if (micros == Temporal.TIMESTAMP_POSITIVE_INFINITY) {
            out.putAscii("infinity");
            return;
        }
        long day = Math.floorDiv(micros, MICROS_PER_DAY);
        boolean beforeChrist = appendCivil(day + Temporal.EPOCH_DAYS, out);
        out.putByte(' ');
        appendTime(micros - day * MICROS_PER_DAY, out);
        if (withZone) {
            out.putAscii("+00");
        }
        appendBeforeChrist(beforeChrist, out);
    }

    /** Appends YYYY-MM-DD of a day counted from 1970-01-01; answers whether it is BC. */
    private static boolean appendCivil(long daysSince1970, ByteBuilder out) {
        long days = daysSince1970 + CYCLE_START_DAYS;
        long cycle = Math.floorDiv(days, DAYS_PER_CYCLE);
        int dayOfCycle = (int) (days - cycle * DAYS_PER_CYCLE);
        // leap days come at the end of each year that starts in March
        int yearOfCycle =
                (dayOfCycle - dayOfCycle / 1_460 + dayOfCycle / 36_524 - dayOfCycle / 146_096)
                        / 365;
        int dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100);
        int monthFromMarch = (5 * dayOfYear + 2) / 153;
        int day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1;
        int month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
        long year = cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0);
        boolean beforeChrist = year <= 0;
        long shown = beforeChrist ? 1 - year : year;
        IntegerText.appendPadded(shown, Math.max(4, IntegerText.digits(shown)), out);
        out.putByte('-');
        IntegerText.appendPadded(month, 2, out);
        out.putByte('-');
        IntegerText.appendPadded(day, 2, out);
        return beforeChrist;
    }

    private static void appendBeforeChrist(boolean beforeChrist, ByteBuilder out) {
        if (beforeChrist) {
            out.putAscii(" BC");
        }
    }

    private static void appendTimeOfDay(String type, long micros, int offset, ByteBuilder out) {
        if (micros < 0 || micros > MICROS_PER_DAY) {
            throw Malformed.value(type, "0 to 86400000000 microseconds", "" + micros, offset);
        }
        appendTime(micros, out);
    }

    /** Appends HH:MM:SS and the fraction without trailing zeros; {@code micros} is not negative. */
    private static void appendTime(long micros, ByteBuilder out) {
        long seconds = micros / MICROS_PER_SECOND;
        int fraction = (int) (micros - seconds * MICROS_PER_SECOND);
        long minutes = seconds / 60;
        long hours = minutes / 60;
        IntegerText.appendPadded(hours, Math.max(2, IntegerText.digits(hours)), out);
        out.putByte(':');
        IntegerText.appendPadded(minutes - hours * 60, 2, out);
        out.putByte(':');
        IntegerText.appendPadded(seconds - minutes * 60, 2, out);
        if (fraction != 0) {
            int width = 6;
            while (fraction % 10 == 0) {
                fraction /= 10;
                width--;
            }
            out.putByte('.');
            IntegerText.appendPadded(fraction, width, out);
        }
    }

    /**
     * @param secondsWest as stored: positive west of Greenwich
     */
    private static void appendZone(int secondsWest, ByteBuilder out) {
        out.putByte(secondsWest <= 0 ? '+' : '-');
        long size = Math.abs((long) secondsWest);
        long hours = size / 3_600;
        long minutes = size / 60 % 60;
        long seconds = size % 60;
        IntegerText.appendPadded(hours, Math.max(2, IntegerText.digits(hours)), out);
        if (minutes != 0 || seconds != 0) {
            out.putByte(':');
            IntegerText.appendPadded(minutes, 2, out);
        }
        if (seconds != 0) {
            out.putByte(':');
            IntegerText.appendPadded(seconds, 2, out);
        }
    }

    static void interval(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("interval", INTERVAL_LENGTH, bytes, offset, length);
        long micros = LittleEndian.getLong(bytes, offset);
        int days = LittleEndian.getInt(bytes, offset + INTERVAL_DAYS);
        int months = LittleEndian.getInt(bytes, offset + INTERVAL_MONTHS);
        // infinite since PostgreSQL 17; before it, no interval reached these values in practice
        if (micros == Long.MAX_VALUE && days == Integer.MAX_VALUE && months == Integer.MAX_VALUE) {
            out.putAscii("infinity");
            return;
        }
        if (micros == Long.MIN_VALUE && days == Integer.MIN_VALUE && months == Integer.MIN_VALUE) {
            out.putAscii("-infinity");
            return;
        }
        int start = out.length();
        boolean negative = appendPart(months / 12, "year", start, false, out);
        negative = appendPart(months % 12, "mon", start, negative, out);
        negative = appendPart(days, "day", start, negative, out);
        boolean nothingYet = out.length() == start;
        if (micros == 0 && !nothingYet) {
            return;
        }
        if (!nothingYet) {
            out.putByte(' ');
        }
        if (micros < 0) {
            out.putByte('-');
        } else if (negative) {
            out.putByte('+');
        }
        appendIntervalTime(micros, out);
    }

    /** AddPostgresIntPart: nothing for zero; answers whether the last printed part is negative. */
    private static boolean appendPart(
            int value, String unit, int start, boolean negativeBefore, ByteBuilder out) {
        if (value == 0) {
            return negativeBefore;
        }
        if (out.length() > start) {
            out.putByte(' ');
        }
        if (negativeBefore && value > 0) {
            out.putByte('+');
        }
        IntegerText.append(value, out);
        out.putByte(' ');
        out.putAscii(unit);
        if (value != 1) {
            out.putByte('s');
        }
        return value < 0;
    }

    private static void appendIntervalTime(long micros, ByteBuilder out) {
        if (micros == Long.MIN_VALUE) {
            // its absolute value does not fit a long
            out.putAscii("2562047788:00:54.775808");
            return;
        }
        appendTime(Math.abs(micros), out);
    }
}
