package dev.walshadow.pipeline;

/** Where a followed table stands; the names are written to the table ledger in ClickHouse. */
public enum TableState {
    /** Its existing rows are being loaded; changes already flow. */
    LOADING,
    /** Complete: FINAL equals the source at the watermark. */
    LIVE,
    /** Cannot be replicated as it is (reason given); nothing is sent. */
    HELD,
    /** Failed while replicating (reason given); rows are discarded and counted. */
    QUARANTINED,
    /** Dropped on the source; its rows stay, or have been dropped too, as configured. */
    DROPPED
}
