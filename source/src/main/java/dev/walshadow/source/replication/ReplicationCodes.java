package dev.walshadow.source.replication;

import dev.walshadow.base.Code;

/** Message codes 1400..1449: connecting to the source and streaming from it. */
public final class ReplicationCodes {
    /** The connection setting cannot be understood. */
    public static final Code BAD_SETTING = new Code(1400);

    /** No host could be reached. */
    public static final Code UNREACHABLE = new Code(1401);

    /** An established connection broke. */
    public static final Code CONNECTION_LOST = new Code(1402);

    /** The peer sent something that is not PostgreSQL's protocol. */
    public static final Code PROTOCOL = new Code(1403);

    /** 28P01, or no password where one is asked for. */
    public static final Code WRONG_PASSWORD = new Code(1404);

    /** 28000: no pg_hba.conf entry, role missing or without LOGIN or REPLICATION. */
    public static final Code NOT_ADMITTED = new Code(1405);

    /** TLS is required and not to be had, or the certificate is not to be trusted. */
    public static final Code TLS_REFUSED = new Code(1406);

    /** The server asks for an authentication method that is not spoken here. */
    public static final Code AUTHENTICATION_METHOD = new Code(1407);

    /** The server starts up, shuts down or has no connection free. */
    public static final Code SERVER_NOT_READY = new Code(1408);

    /** The replication slot does not exist. */
    public static final Code SLOT_MISSING = new Code(1409);

    /** The replication slot is in use by another connection. */
    public static final Code SLOT_ACTIVE = new Code(1410);

    /** The slot is of another kind, or was invalidated. */
    public static final Code SLOT_UNUSABLE = new Code(1411);

    /** 58P01: the server no longer has the WAL asked for. */
    public static final Code WAL_REMOVED = new Code(1412);

    /** Another cluster answers at this address. */
    public static final Code FOREIGN_SYSTEM = new Code(1413);

    /** The server is on another timeline: a promotion happened. */
    public static final Code TIMELINE_CHANGED = new Code(1414);

    /** The server's WAL ends before the position asked for. */
    public static final Code SERVER_BEHIND = new Code(1415);

    /** All hosts answer, none is a primary. */
    public static final Code NO_PRIMARY = new Code(1416);

    /** Any other error the server reports. */
    public static final Code SERVER_ERROR = new Code(1417);

    private ReplicationCodes() {}
}
