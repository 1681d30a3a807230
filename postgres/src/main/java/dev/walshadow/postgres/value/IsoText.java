package dev.walshadow.postgres.value;

import java.time.LocalDate;
import java.time.LocalTime;
import java.time.temporal.ChronoField;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads finite dates and times as PostgreSQL prints them with {@code DateStyle} ISO. What is none
 * is an IllegalArgumentException or a DateTimeException; what no long holds is an
 * ArithmeticException.
 */
public final class IsoText {
    private static final Pattern DATE = Pattern.compile("(\\d+)-(\\d\\d)-(\\d\\d)( BC)?");
    private static final Pattern TIMESTAMP =
            Pattern.compile(
                    "(\\d+-\\d\\d-\\d\\d) (\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?)"
                            + "([+-]\\d\\d(?::\\d\\d){0,2})?( BC)?");
    private static final long MICROS_PER_DAY = 86_400_000_000L;
    private static final long MICROS_PER_SECOND = 1_000_000L;

    private IsoText() {}

    public static boolean isDate(String text) {
        return DATE.matcher(text).matches();
    }

    /** Days since 1970. */
    public static long day(String text) {
        Matcher matcher = DATE.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("no ISO date: " + text);
        }
        int year = Integer.parseInt(matcher.group(1));
        return LocalDate.of(
                        matcher.group(4) == null ? year : 1 - year,
                        Integer.parseInt(matcher.group(2)),
                        Integer.parseInt(matcher.group(3)))
                .toEpochDay();
    }

    /** Microseconds since midnight; 24:00:00 is a time in PostgreSQL. */
    public static long time(String text) {
        if (text.startsWith("24:")) {
            return MICROS_PER_DAY;
        }
        return LocalTime.parse(text).getLong(ChronoField.MICRO_OF_DAY);
    }

    /** Microseconds since 1970 UTC of a timestamp, with a zone or without. */
    public static long micros(String text) {
        Matcher matcher = TIMESTAMP.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("no ISO timestamp: " + text);
        }
        String era = matcher.group(4) == null ? "" : " BC";
        long midnight = Math.multiplyExact(day(matcher.group(1) + era), MICROS_PER_DAY);
        long micros = Math.addExact(midnight, time(matcher.group(2)));
        String zone = matcher.group(3);
        return zone == null
                ? micros
                : Math.subtractExact(micros, zoneSeconds(zone) * MICROS_PER_SECOND);
    }

    private static long zoneSeconds(String zone) {
        String[] parts = zone.substring(1).split(":", -1);
        long seconds = 0;
        for (int i = 0; i < 3; i++) {
            seconds = seconds * 60 + (i < parts.length ? Integer.parseInt(parts[i]) : 0);
        }
        return zone.charAt(0) == '-' ? -seconds : seconds;
    }
}
