package dev.walshadow.pipeline.mapping;

/**
 * What becomes of a value that its column's ClickHouse type cannot hold: a date or timestamp
 * outside of ClickHouse's range, a numeric that is no number. Counted, whatever it is.
 */
public enum OutOfRange {
    /** The nearest bound; of dates and timestamps the default. */
    CLAMP,
    /** NULL; of numerics the default. */
    NULL,
    /** The table is set aside. */
    ERROR
}
