package dev.walshadow.daemon;

import dev.walshadow.base.Code;

/** Message codes of the daemon. */
public final class DaemonCodes {
    public static final Code BAD_CONFIGURATION = new Code(1901);
    public static final Code STATE_IN_USE = new Code(1902);
    public static final Code STATE_FOREIGN = new Code(1903);
    public static final Code STATE_TORN = new Code(1904);
    public static final Code STATE_UNUSABLE = new Code(1905);
    public static final Code PREFLIGHT = new Code(1906);
    public static final Code UNKNOWN_TABLE = new Code(1907);
    public static final Code NOT_RUNNING = new Code(1908);
    public static final Code CONTROL_REQUEST = new Code(1909);
    public static final Code SOURCE_UNREACHABLE = new Code(1910);
    public static final Code WAL_LEVEL = new Code(1911);
    public static final Code SOURCE_VERSION = new Code(1912);
    public static final Code SLOT_MISSING = new Code(1913);
    public static final Code TARGET_UNREACHABLE = new Code(1914);
    public static final Code SOURCE_SETTING = new Code(1915);
    public static final Code SOURCE_RIGHTS = new Code(1916);
    public static final Code TARGET_REFUSED = new Code(1917);
    public static final Code WAIT_TIMED_OUT = new Code(1918);

    public static final Code UNKNOWN_DATABASE = new Code(1919);

    /** A rule for names or columns cannot be followed. */
    public static final Code BAD_RULE = new Code(1920);

    private DaemonCodes() {}
}
