package dev.walshadow.daemon.preflight;

/** What is wanted of the replication slot. */
public enum SlotUse {
    /** A first attach makes it. */
    MADE,

    /** It has kept the WAL since an earlier run. */
    RESUMED,

    /** As RESUMED, but the archive has what it should have kept: it may be made again. */
    REPLACEABLE
}
