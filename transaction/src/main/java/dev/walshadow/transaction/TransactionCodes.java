package dev.walshadow.transaction;

import dev.walshadow.base.Code;

/** Message codes of this module. */
public final class TransactionCodes {
    /** The spill directory has no room: the WAL pump waits and tries again. */
    public static final Code SPILL_WAITS = new Code(1601);

    /** The spill directory cannot be read or written, for another reason than space. */
    public static final Code SPILL_FAILED = new Code(1602);

    /** A spill file is not as it was written. */
    public static final Code SPILL_CORRUPT = new Code(1603);

    /** The spill directory holds files of another cluster, or of no walshadow at all. */
    public static final Code SPILL_FOREIGN = new Code(1604);

    /** The spill directory holds files of a newer walshadow. */
    public static final Code SPILL_NEWER = new Code(1605);

    /** The source's wal_level was set below logical. */
    public static final Code WAL_LEVEL_LOWERED = new Code(1606);

    /** The memory budget cannot hold even a few records. */
    public static final Code BUDGET_TOO_SMALL = new Code(1607);

    private TransactionCodes() {}
}
