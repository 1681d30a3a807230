package dev.walshadow.pipeline;

/** Where an UPDATE's unchanged values that are stored out of line come from. */
public enum ToastMode {
    /** The row's previous version in ClickHouse. */
    DESTINATION,

    /** Copies of the TOAST relations' chunks in ClickHouse; else as {@link #DESTINATION}. */
    CLICKHOUSE,

    /** Nowhere: they arrive as NULL. */
    DISABLED
}
