package dev.walshadow.source;

/** What the filter does with a record on its way to the shadow. */
public enum Decision {
    /** Passes as it is: the shadow replays it. */
    KEEP,
    /** Becomes an {@code XLOG_NOOP} of the same length: it concerns only user data. */
    DROP,
    /** Passes with some payload bytes zeroed and a new checksum (a tablespace's path). */
    PATCH
}
