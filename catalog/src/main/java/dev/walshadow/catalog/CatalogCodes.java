package dev.walshadow.catalog;

import dev.walshadow.base.Code;

/** The message codes of this module. */
public final class CatalogCodes {
    public static final Code LOG_CORRUPT = new Code(1300);
    public static final Code LOG_TOO_NEW = new Code(1301);
    public static final Code LOG_FOREIGN = new Code(1302);
    public static final Code LOG_NOT_WRITABLE = new Code(1303);
    public static final Code LOG_TOO_OLD = new Code(1304);

    private CatalogCodes() {}
}
