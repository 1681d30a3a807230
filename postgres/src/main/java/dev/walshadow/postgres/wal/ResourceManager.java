package dev.walshadow.postgres.wal;

/**
 * Resource manager ids, the same in PostgreSQL 15-18. Source: {@code
 * src/include/access/rmgrlist.h}. Ids from {@link #MIN_CUSTOM} up belong to extensions.
 */
public final class ResourceManager {
    public static final int XLOG = 0;
    public static final int TRANSACTION = 1;
    public static final int STORAGE = 2;
    public static final int CLOG = 3;
    public static final int DATABASE = 4;
    public static final int TABLESPACE = 5;
    public static final int MULTIXACT = 6;
    public static final int RELMAP = 7;
    public static final int STANDBY = 8;
    public static final int HEAP2 = 9;
    public static final int HEAP = 10;
    public static final int BTREE = 11;
    public static final int HASH = 12;
    public static final int GIN = 13;
    public static final int GIST = 14;
    public static final int SEQUENCE = 15;
    public static final int SPGIST = 16;
    public static final int BRIN = 17;
    public static final int COMMIT_TS = 18;
    public static final int REPLICATION_ORIGIN = 19;
    public static final int GENERIC = 20;
    public static final int LOGICAL_MESSAGE = 21;
    public static final int MAX_BUILTIN = 21;
    public static final int MIN_CUSTOM = 128;

    private static final String[] NAMES = {
        "XLOG",
        "Transaction",
        "Storage",
        "CLOG",
        "Database",
        "Tablespace",
        "MultiXact",
        "RelMap",
        "Standby",
        "Heap2",
        "Heap",
        "Btree",
        "Hash",
        "Gin",
        "Gist",
        "Sequence",
        "SPGist",
        "BRIN",
        "CommitTs",
        "ReplicationOrigin",
        "Generic",
        "LogicalMessage",
    };

    private ResourceManager() {}

    /** The name that pg_waldump prints. */
    public static String name(int id) {
        if (id >= 0 && id < NAMES.length) {
            return NAMES[id];
        }
        return (id >= MIN_CUSTOM ? "custom" : "unknown") + id;
    }
}
