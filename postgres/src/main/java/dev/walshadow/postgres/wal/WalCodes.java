package dev.walshadow.postgres.wal;

import dev.walshadow.base.Code;

/** Message codes of the WAL formats: 1100-1119. */
public final class WalCodes {
    /** The bytes are not what PostgreSQL writes: a damaged record, page or payload. */
    public static final Code CORRUPT_RECORD = new Code(1100);

    public static final Code CORRUPT_PAGE = new Code(1101);
    public static final Code CHECKSUM_MISMATCH = new Code(1102);

    /** A page magic or record type of a release that walshadow does not know. */
    public static final Code UNSUPPORTED_VERSION = new Code(1103);

    /** Pages of another cluster or another segment size than announced. */
    public static final Code FOREIGN_WAL = new Code(1104);

    public static final Code CORRUPT_IMAGE = new Code(1105);

    private WalCodes() {}
}
