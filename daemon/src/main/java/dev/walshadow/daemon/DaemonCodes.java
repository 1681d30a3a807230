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

    /** A command's options or arguments are wrong. */
    public static final Code BAD_COMMAND_LINE = new Code(1930);

    /** {@code [http] listen} cannot be bound. */
    public static final Code HTTP_ADDRESS = new Code(1940);

    /** The source keeps too little or any amount of WAL for the slot. */
    public static final Code SLOT_LIMIT = new Code(1941);

    public static final Code UNLOGGED_TABLES = new Code(1942);

    /** The disk of the state directory is nearly full. */
    public static final Code LITTLE_SPACE = new Code(1943);

    public static final Code TARGET_VERSION = new Code(1944);

    /** {@code walshadow init} cannot write the file. */
    public static final Code INIT = new Code(1945);

    /** The file of {@code [http] token_file} is no secret. */
    public static final Code HTTP_TOKEN = new Code(1946);

    /** Row-level security hides rows from the source's role. */
    public static final Code ROW_SECURITY = new Code(1947);

    /** What only the source could answer, where there is an archive alone. */
    public static final Code NO_SOURCE = new Code(1955);

    /** The ClickHouse cluster cannot have the tables. */
    public static final Code CLUSTER = new Code(1970);

    /** {@code walshadow uninstall} cannot go on. */
    public static final Code UNINSTALL = new Code(1948);

    /** The clocks of source, ClickHouse and this machine differ. */
    public static final Code CLOCK_SKEW = new Code(1949);

    /** The machine has less memory than the heap may take. */
    public static final Code LITTLE_MEMORY = new Code(1950);

    /** A signal in the stream that has no effect. */
    public static final Code SIGNAL = new Code(1951);

    /** The verification in the background has found rows that differ. */
    public static final Code DIFFERENCE = new Code(1952);

    /** A row of a configuration table in the source that has no effect. */
    public static final Code SOURCE_CONFIGURATION = new Code(1953);

    /** Traces cannot be sent. */
    public static final Code TRACES = new Code(1954);

    private DaemonCodes() {}
}
