package dev.walshadow.embedded;

import dev.walshadow.base.Code;

/** The message codes of this module. */
public final class EmbeddedCodes {
    public static final Code BINARIES_MISSING = new Code(2101);
    public static final Code NO_USER = new Code(2102);
    public static final Code NOT_TRAVERSABLE = new Code(2103);
    public static final Code DIRECTORY_IN_USE = new Code(2104);
    public static final Code OTHER_VERSION = new Code(2105);
    public static final Code START_FAILED = new Code(2106);
    public static final Code STOP_FAILED = new Code(2107);
    public static final Code FILES = new Code(2108);
    public static final Code LIBRARY_MISSING = new Code(2109);
    public static final Code ENGINE_FAILED = new Code(2110);

    private EmbeddedCodes() {}
}
