package dev.walshadow.source.store;

import dev.walshadow.base.Code;

/** Message codes of object stores: 1480-1489. */
public final class StoreCodes {
    /** The address of the store, or what is needed to open it, is not usable. */
    public static final Code BAD_ADDRESS = new Code(1480);

    /** The store does not answer, or answers with a failure that may pass. */
    public static final Code UNREACHABLE = new Code(1481);

    /** The store refuses, or has no such bucket. */
    public static final Code REFUSED = new Code(1482);

    /** An object that is named elsewhere is not there. */
    public static final Code OBJECT_MISSING = new Code(1483);

    /** An object's bytes are not what its name says. */
    public static final Code OBJECT_DAMAGED = new Code(1484);

    /** A way of compression or a kind of backup that walshadow does not read. */
    public static final Code UNSUPPORTED = new Code(1485);

    private StoreCodes() {}
}
