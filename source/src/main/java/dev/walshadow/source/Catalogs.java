package dev.walshadow.source;

/**
 * The catalogs whose writes are told apart, as bits of a {@code long}. OIDs are fixed in {@code
 * src/include/catalog/*.h}, PostgreSQL 15-18.
 */
public final class Catalogs {
    public static final int FIRST_NORMAL_OID = 16384;
    public static final int GLOBAL_TABLESPACE = 1664;

    public static final int PG_TYPE = 1247;
    public static final int PG_ATTRIBUTE = 1249;
    public static final int PG_CLASS = 1259;
    public static final int PG_DATABASE = 1262;
    public static final int PG_INDEX = 2610;
    public static final int PG_INHERITS = 2611;
    public static final int PG_LARGEOBJECT = 2613;
    public static final int PG_NAMESPACE = 2615;
    public static final int PG_STATISTIC = 2619;
    public static final int PG_LARGEOBJECT_LOID_PN_INDEX = 2683;
    public static final int PG_PARTITIONED_TABLE = 3350;
    public static final int PG_ENUM = 3501;
    public static final int PG_RANGE = 3541;

    public static final long CLASS = 1;
    public static final long ATTRIBUTE = 1 << 1;
    public static final long INDEX = 1 << 2;
    public static final long INHERITS = 1 << 3;
    public static final long PARTITIONED_TABLE = 1 << 4;
    public static final long ENUM = 1 << 5;
    public static final long RANGE = 1 << 6;
    public static final long TYPE = 1 << 7;

    /** pg_type by UPDATE or DELETE. */
    public static final long TYPE_CHANGED = 1 << 8;

    public static final long NAMESPACE = 1 << 9;

    /** pg_namespace by UPDATE or DELETE. */
    public static final long NAMESPACE_CHANGED = 1 << 10;

    public static final long DATABASE = 1 << 11;
    public static final long STATISTIC = 1 << 12;

    /** Any catalog that has no bit of its own. */
    public static final long OTHER = 1 << 13;

    /** A row of a relation that is captured was inserted into pg_class, or one not shown. */
    static final long CLASS_INSERTED_CAPTURED = 1 << 21;

    /** A pg_type row was updated; dropping a temporary table only deletes some. */
    static final long TYPE_UPDATED = 1 << 22;

    /** A pg_class row was updated or deleted, which may have changed what is captured. */
    static final long CLASS_CHANGED = 1 << 23;

    /** A pg_attribute row was updated or deleted. */
    static final long ATTRIBUTE_CHANGED = 1 << 24;

    /** A pg_index row was updated or deleted. */
    static final long INDEX_CHANGED = 1 << 25;

    /** A row of an index that may be a key was inserted into pg_index, or one not shown. */
    static final long KEY_INSERTED = 1 << 26;

    /** A relation that may be captured was locked as for changing its own row in pg_class. */
    static final long CAPTURED_LOCKED = 1 << 27;

    /** In every entry since the bits above exist: without it they are not known. */
    static final long TOLD = 1 << 28;

    /** A pg_index row was updated. */
    static final long INDEX_UPDATED = 1 << 29;

    /** A pg_class row was updated, maybe in what it is called or where it is stored. */
    static final long CLASS_MOVED = 1 << 30;

    /** In every entry since the two above exist. */
    static final long TOLD_UPDATES = 1L << 31;

    static final long TOLD_ALL = TOLD | TOLD_UPDATES;

    /** What no transaction does that is about relations only which are never captured. */
    static final long NOT_TEMPORARY =
            CLASS_INSERTED_CAPTURED | TYPE_UPDATED | ENUM | RANGE | NAMESPACE_CHANGED | DATABASE;

    /**
     * What no transaction does that makes indexes which are no keys: without these, rows were
     * inserted for relations only that are not captured. What pg_index rows it updated or deleted
     * is told by the relations that it names.
     */
    static final long SHAPES =
            CLASS_INSERTED_CAPTURED
                    | CLASS_CHANGED
                    | ATTRIBUTE_CHANGED
                    | KEY_INSERTED
                    | INHERITS
                    | PARTITIONED_TABLE
                    | ENUM
                    | RANGE
                    | TYPE_CHANGED
                    | NAMESPACE_CHANGED
                    | DATABASE;

    /**
     * What no transaction does that changes only what is known already, without its name, its place
     * or its storage.
     */
    static final long NOT_IN_PLACE =
            CLASS_INSERTED_CAPTURED
                    | INHERITS
                    | PARTITIONED_TABLE
                    | ENUM
                    | RANGE
                    | TYPE_CHANGED
                    | NAMESPACE_CHANGED
                    | DATABASE;

    /** A transaction that wrote one of these is a boundary. */
    public static final long BOUNDARY =
            CLASS
                    | ATTRIBUTE
                    | INDEX
                    | INHERITS
                    | PARTITIONED_TABLE
                    | ENUM
                    | RANGE
                    | TYPE_CHANGED
                    | NAMESPACE_CHANGED
                    | DATABASE;

    /** Of a transaction whose writes were not all seen. */
    static final long ANY =
            BOUNDARY
                    | CLASS_INSERTED_CAPTURED
                    | CLASS_CHANGED
                    | ATTRIBUTE_CHANGED
                    | INDEX_CHANGED
                    | INDEX_UPDATED
                    | CLASS_MOVED
                    | KEY_INSERTED
                    | CAPTURED_LOCKED
                    | TYPE_UPDATED;

    /** What is remembered of a transaction's writes. */
    static final long TRACKED = BOUNDARY | TYPE | NAMESPACE;

    private Catalogs() {}

    /** An entry of a snapshot: what an earlier version did not tell counts as done. */
    static long resumed(long written) {
        if ((written & TOLD) == 0) {
            return written | ANY;
        }
        return (written & TOLD_UPDATES) == 0 ? written | INDEX_UPDATED | CLASS_MOVED : written;
    }

    /** The bit of the catalog with this OID (also of an index or TOAST table: OTHER). */
    public static long bit(int catalogOid) {
        return switch (catalogOid) {
            case PG_CLASS -> CLASS;
            case PG_ATTRIBUTE -> ATTRIBUTE;
            case PG_INDEX -> INDEX;
            case PG_INHERITS -> INHERITS;
            case PG_PARTITIONED_TABLE -> PARTITIONED_TABLE;
            case PG_ENUM -> ENUM;
            case PG_RANGE -> RANGE;
            case PG_TYPE -> TYPE;
            case PG_NAMESPACE -> NAMESPACE;
            case PG_DATABASE -> DATABASE;
            case PG_STATISTIC -> STATISTIC;
            default -> OTHER;
        };
    }
}
