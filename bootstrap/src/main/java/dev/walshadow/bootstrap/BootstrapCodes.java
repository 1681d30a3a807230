package dev.walshadow.bootstrap;

import dev.walshadow.base.Code;

/** Message codes 18xx. */
public final class BootstrapCodes {
    public static final Code DAMAGED_PAGE = new Code(1811);
    public static final Code SOURCE_QUERY = new Code(1812);
    public static final Code SPOOL = new Code(1813);
    public static final Code DEFERRED_DAMAGED = new Code(1814);
    public static final Code DEFERRED_FOREIGN = new Code(1815);
    public static final Code UNEVEN_FILE = new Code(1816);
    public static final Code LOST_OUTCOME = new Code(1817);

    /** A column cannot be read from the source as the target needs it. */
    public static final Code LOAD_COLUMN = new Code(1818);

    /** The source refuses to give a table's rows. */
    public static final Code LOAD_REFUSED = new Code(1819);

    private BootstrapCodes() {}
}
