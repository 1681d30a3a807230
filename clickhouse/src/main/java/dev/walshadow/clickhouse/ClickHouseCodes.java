package dev.walshadow.clickhouse;

import dev.walshadow.base.Code;

/** The message codes of this module. */
public final class ClickHouseCodes {
    /** ClickHouse cannot be reached, or the connection broke. */
    public static final Code UNREACHABLE = new Code(1201);

    /** ClickHouse is overloaded or not ready: too many parts, memory, timeouts. */
    public static final Code BUSY = new Code(1202);

    /** User, password or rights. */
    public static final Code ACCESS = new Code(1203);

    /** ClickHouse refused a statement or the rows of one table. */
    public static final Code REFUSED = new Code(1204);

    /** The URL or an option of the connection is unusable. */
    public static final Code OPTIONS = new Code(1205);

    /** An answer that this client cannot read. */
    public static final Code ANSWER = new Code(1206);

    /** A host of several cannot serve; the next one is used. */
    public static final Code FAILOVER = new Code(1207);

    private ClickHouseCodes() {}
}
