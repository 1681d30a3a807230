package dev.walshadow.bootstrap;

import dev.walshadow.base.Code;

/** Message codes 18xx. */
public final class BootstrapCodes {
    public static final Code DAMAGED_PAGE = new Code(1801);
    public static final Code SOURCE_QUERY = new Code(1802);
    public static final Code SPOOL = new Code(1803);
    public static final Code DEFERRED_DAMAGED = new Code(1804);
    public static final Code DEFERRED_FOREIGN = new Code(1805);
    public static final Code UNEVEN_FILE = new Code(1806);

    private BootstrapCodes() {}
}
