package dev.walshadow.postgres;

import dev.walshadow.base.Code;

/**
 * The message codes of this module: 1100-1139 WAL, 1140-1169 heap and values, 1170-1199 cluster.
 */
public final class PostgresCodes {
    public static final Code MALFORMED_TUPLE = new Code(1140);
    public static final Code MALFORMED_PAGE = new Code(1141);
    public static final Code PAGE_CHECKSUM = new Code(1142);
    public static final Code MALFORMED_VARLENA = new Code(1143);
    public static final Code MALFORMED_COMPRESSION = new Code(1144);
    public static final Code MALFORMED_VALUE = new Code(1145);
    public static final Code MALFORMED_CONTROL_FILE = new Code(1170);
    public static final Code UNSUPPORTED_CLUSTER = new Code(1171);
    public static final Code MALFORMED_TRANSACTION_STATUS = new Code(1172);
    public static final Code MALFORMED_MULTIXACT = new Code(1173);
    public static final Code MALFORMED_BACKUP_LABEL = new Code(1174);

    private PostgresCodes() {}
}
