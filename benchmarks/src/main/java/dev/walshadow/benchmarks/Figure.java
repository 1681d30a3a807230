package dev.walshadow.benchmarks;

import java.util.Locale;

/** One measured number, and the number it is measured against, if there is one. */
record Figure(String name, double value, String unit, Target target) {
    /** What the number should be. */
    sealed interface Target {}

    record AtLeast(double bound) implements Target {}

    record AtMost(double bound) implements Target {}

    record None() implements Target {}

    static Figure of(String name, double value, String unit) {
        return new Figure(name, value, unit, new None());
    }

    Figure atLeast(double bound) {
        return new Figure(name, value, unit, new AtLeast(bound));
    }

    Figure atMost(double bound) {
        return new Figure(name, value, unit, new AtMost(bound));
    }

    /** A line of the Markdown table that {@link #HEADER} opens. */
    String line() {
        return "| %s | %s %s | %s | %s |".formatted(name, number(value), unit, wanted(), verdict());
    }

    static final String HEADER =
            """
            | figure | measured | target | |
            |---|---|---|---|\
            """;

    private String wanted() {
        return switch (target) {
            case AtLeast(double bound) -> "at least " + number(bound);
            case AtMost(double bound) -> "at most " + number(bound);
            case None() -> "";
        };
    }

    private String verdict() {
        return switch (target) {
            case AtLeast(double bound) -> value >= bound ? "met" : "missed";
            case AtMost(double bound) -> value <= bound ? "met" : "missed";
            case None() -> "";
        };
    }

    /** Three significant digits below 100, whole numbers above. */
    private static String number(double value) {
        double size = Math.abs(value);
        String form = size >= 100 ? "%,.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f";
        return String.format(Locale.ROOT, form, value);
    }
}
