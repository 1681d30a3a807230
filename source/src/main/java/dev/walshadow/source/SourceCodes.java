package dev.walshadow.source;

import dev.walshadow.base.Code;

/** Message codes of the record stream, the filter, the archive and the spool: 1450-1479. */
public final class SourceCodes {
    /** An earlier failure left the stream between two states; only a new stream can go on. */
    public static final Code STREAM_POISONED = new Code(1450);

    /** The bytes given do not follow those given before. */
    public static final Code WAL_GAP = new Code(1451);

    public static final Code WAL_LEVEL_LOWERED = new Code(1452);

    /** A catalog was rewritten while the base backup began: the shadow lacks the new file. */
    public static final Code CATALOG_REWRITE_MISSED = new Code(1453);

    public static final Code ARCHIVE_UNWRITABLE = new Code(1454);

    /** No resume point, or a damaged one. */
    public static final Code RESUME_POINT_MISSING = new Code(1455);

    public static final Code RESUME_POINT_CORRUPT = new Code(1456);

    /** A durable file of another cluster, timeline, segment size or of a newer walshadow. */
    public static final Code RESUME_POINT_FOREIGN = new Code(1457);

    public static final Code FILE_UNREADABLE = new Code(1458);

    /** The local spool of WAL is full; the source keeps its WAL again. */
    public static final Code SPOOL_FULL = new Code(1470);

    /** The local spool cannot be written; the source keeps its WAL again. */
    public static final Code SPOOL_UNWRITABLE = new Code(1471);

    /** The local spool is of another cluster, timeline or segment size, or of a newer walshadow. */
    public static final Code SPOOL_FOREIGN = new Code(1472);

    public static final Code SPOOL_DAMAGED = new Code(1473);

    private SourceCodes() {}
}
