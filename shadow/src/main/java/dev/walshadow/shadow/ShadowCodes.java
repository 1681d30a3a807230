package dev.walshadow.shadow;

import dev.walshadow.base.Code;

/** Message codes of the shadow module: 15xx. */
final class ShadowCodes {
    static final Code SENDER_BIND = new Code(1501);
    static final Code APPLY_STALLED = new Code(1502);
    static final Code BINARIES_MISSING = new Code(1510);
    static final Code DATA_DIRECTORY = new Code(1511);
    static final Code START_FAILED = new Code(1512);
    static final Code NOT_READY = new Code(1513);
    static final Code USER = new Code(1514);
    static final Code FOREIGN_POSTMASTER = new Code(1515);
    static final Code SESSION = new Code(1520);
    static final Code LOCALE = new Code(1521);
    static final Code PROMOTED_COPY = new Code(1522);
    static final Code SCRATCH_START = new Code(1523);
    static final Code SCRATCH_VALUE = new Code(1524);
    static final Code CATALOG_LOCKED = new Code(1530);

    private ShadowCodes() {}
}
