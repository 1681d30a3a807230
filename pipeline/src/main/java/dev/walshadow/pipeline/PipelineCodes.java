package dev.walshadow.pipeline;

import dev.walshadow.base.Code;

/** Message codes 17xx. */
public final class PipelineCodes {
    public static final Code SHAPE_CHANGED = new Code(1700);
    public static final Code OLD_KEY_MISSING = new Code(1701);
    public static final Code WAL_LEVEL_LOWERED = new Code(1702);
    public static final Code DECODE_FAILED = new Code(1703);
    public static final Code TARGET_REFUSED = new Code(1704);
    public static final Code TARGET_NOT_EMPTY = new Code(1705);
    public static final Code FOREIGN_METADATA = new Code(1706);
    public static final Code MAPPING_CHANGED = new Code(1707);
    public static final Code TARGET_MISSING = new Code(1708);
    public static final Code OLD_VALUE_MISSING = new Code(1709);
    public static final Code QUARANTINE_FILE = new Code(1710);
    public static final Code METADATA_NEWER = new Code(1711);
    public static final Code SPOOL = new Code(1712);
    public static final Code STOPPED = new Code(1713);
    public static final Code NAME_COLLISION = new Code(1714);

    /** The ClickHouse user lacks a privilege that the target tables need. */
    public static final Code TARGET_GRANTS = new Code(1715);

    /** A table was dropped on the source; a warning, where that is wanted. */
    public static final Code DROPPED = new Code(1716);

    /** A value out of line whose chunks are missing, or not all there. */
    public static final Code TOAST_MISSING = new Code(1717);

    /** A view of current rows cannot be made, or makes room for a table. */
    public static final Code VIEW_REFUSED = new Code(1718);

    /** Tombstones could not be removed. */
    public static final Code TOMBSTONES = new Code(1719);

    /** The shards are not those that have the rows, or in another order. */
    public static final Code SHARDS = new Code(1960);

    /** The versions of a table that keeps all of them stay in a table beside it. */
    public static final Code HISTORY_KEPT = new Code(1971);

    private PipelineCodes() {}
}
