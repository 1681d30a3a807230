package dev.walshadow.embedded;

import dev.walshadow.base.Code;

/** The message codes of this module. */
final class EmbeddedCodes {
    static final Code BINARIES_MISSING = new Code(2101);
    static final Code NO_USER = new Code(2102);
    static final Code NOT_TRAVERSABLE = new Code(2103);
    static final Code DIRECTORY_IN_USE = new Code(2104);
    static final Code OTHER_VERSION = new Code(2105);
    static final Code START_FAILED = new Code(2106);
    static final Code STOP_FAILED = new Code(2107);
    static final Code FILES = new Code(2108);
    static final Code LIBRARY_MISSING = new Code(2109);
    static final Code ENGINE_FAILED = new Code(2110);

    private EmbeddedCodes() {}
}
