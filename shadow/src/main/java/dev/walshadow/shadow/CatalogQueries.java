package dev.walshadow.shadow;

import java.util.List;

/**
 * The statements of {@link CatalogReader}, the same for 15-18. The reader's transaction has {@code
 * search_path = pg_catalog}.
 *
 * <p>A read of relations is a {@link #ALL} or {@link #NAMED} prefix, which defines the relations as
 * {@code wanted(oid)} and, with {@link #NEEDED}, their types as {@code needed(oid)}, before the
 * bodies: before each for a whole database, before the union of all for few relations ({@link
 * #union}), so that these are found once and in one round trip.
 */
final class CatalogQueries {
    /** FirstNormalObjectId: below it are the objects that initdb made. */
    private static final String FIRST_NORMAL_OID = "16384";

    /**
     * Values are read as text: pins the settings that shape it, until the transaction's end. No
     * statement is run often enough to be worth compiling.
     */
    static final String PIN_SETTINGS =
            """
            SELECT pg_catalog.set_config('search_path', 'pg_catalog', true),
                   pg_catalog.set_config('datestyle', 'ISO, MDY', true),
                   pg_catalog.set_config('intervalstyle', 'postgres', true),
                   pg_catalog.set_config('timezone', 'UTC', true),
                   pg_catalog.set_config('extra_float_digits', '1', true),
                   pg_catalog.set_config('bytea_output', 'hex', true),
                   pg_catalog.set_config('jit', 'off', true)\
            """;

    /**
     * For a read of few relations: index scans whatever the statistics say, which a standby does
     * not gather for itself, and one plan for ever. Until the transaction's end.
     */
    static final String PIN_PLANS =
            """
            SELECT pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true),
                   pg_catalog.set_config('enable_seqscan', 'off', true),
                   pg_catalog.set_config('enable_hashjoin', 'off', true),
                   pg_catalog.set_config('enable_mergejoin', 'off', true)\
            """;

    private static final String IS_WANTED =
            "c.relkind IN ('r', 'p', 'm', 't', 'S') AND c.relpersistence <> 't'";

    /** Every relation of the session's database. */
    static final String ALL =
            """
            WITH RECURSIVE wanted(oid) AS MATERIALIZED (
                SELECT c.oid FROM pg_class c
                WHERE %s AND c.oid >= %s)
            """
                    .formatted(IS_WANTED, FIRST_NORMAL_OID);

    /**
     * The relations that the parameter, an array of OIDs in its text form, names. Indexes stand for
     * their table; a TOAST relation and its owner come together; a table brings the sequences that
     * its columns own; a composite type's relation stands for the tables whose columns hold it, at
     * whatever depth.
     */
    static final String NAMED =
            """
            WITH RECURSIVE
            named(oid) AS MATERIALIZED (SELECT unnest(?::oid[])),
            row_types(oid) AS (
                SELECT c.reltype FROM named JOIN pg_class c ON c.oid = named.oid
                WHERE c.reltype <> 0
                UNION
                SELECT x.oid FROM row_types t
                JOIN pg_depend p ON p.refclassid = 1247 AND p.refobjid = t.oid
                CROSS JOIN LATERAL (
                    SELECT p.objid WHERE p.classid = 1247
                    UNION ALL
                    SELECT c.reltype FROM pg_class c
                    WHERE p.classid = 1259 AND c.oid = p.objid AND c.reltype <> 0) x(oid)),
            tables(oid) AS MATERIALIZED (
                SELECT oid FROM named
                UNION
                SELECT p.objid FROM row_types t
                JOIN pg_depend p ON p.refclassid = 1247 AND p.refobjid = t.oid AND p.classid = 1259
                UNION
                SELECT i.indrelid FROM named JOIN pg_index i ON i.indexrelid = named.oid),
            related(oid) AS MATERIALIZED (
                SELECT oid FROM tables
                UNION
                SELECT c.reltoastrelid FROM tables JOIN pg_class c ON c.oid = tables.oid
                UNION
                SELECT o.refobjid FROM tables JOIN pg_class c ON c.oid = tables.oid
                JOIN pg_depend o ON o.classid = 1259 AND o.objid = c.oid AND o.objsubid = 0
                     AND o.refclassid::int8 = 1259 AND o.deptype = 'i'
                WHERE c.relkind = 't'
                UNION
                SELECT s.objid FROM tables JOIN pg_depend s ON s.refclassid = 1259
                     AND s.refobjid = tables.oid AND s.refobjsubid > 0 AND s.classid = 1259
                     AND s.deptype IN ('a', 'i')),
            wanted(oid) AS MATERIALIZED (
                SELECT c.oid FROM related JOIN pg_class c ON c.oid = related.oid
                WHERE %s)
            """
                    .formatted(IS_WANTED);

    /**
     * 1 oid, 2 schema, 3 name, 4 kind, 5 persistence, 6 tablespace (the database's default where
     * the relation names none), 7 database of the storage (0 if shared), 8 relation number (0: no
     * storage; mapped relations have it in no row), 9 toast, 10 owner of a TOAST relation or table
     * of the column that owns a sequence, 11 identity, 12 access method, 13 parent of a partition,
     * 14 database, 15 its name
     */
    static final String RELATIONS =
            """
            SELECT c.oid, n.nspname, c.relname, c.relkind, c.relpersistence,
                   CASE c.reltablespace WHEN 0 THEN d.dattablespace ELSE c.reltablespace END,
                   CASE c.reltablespace WHEN 1664 THEN 0 ELSE d.oid END,
                   CASE WHEN c.relfilenode <> 0 THEN c.relfilenode
                        WHEN c.relkind = 'p' THEN 0
                        ELSE coalesce(pg_relation_filenode(c.oid), 0) END,
                   c.reltoastrelid, coalesce(o.refobjid, 0), c.relreplident,
                   CASE a.amhandler WHEN 'pg_catalog.heap_tableam_handler'::regproc THEN 'heap'
                        ELSE coalesce(a.amname, '') END,
                   CASE WHEN c.relispartition THEN coalesce(
                        (SELECT inhparent FROM pg_inherits WHERE inhrelid = c.oid), 0::oid)
                        ELSE 0::oid END,
                   d.oid, d.datname
            FROM wanted w
            JOIN pg_class c ON c.oid = w.oid
            JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_database d ON d.datname = current_database()
            LEFT JOIN pg_am a ON a.oid = c.relam
            LEFT JOIN pg_depend o ON c.relkind IN ('t', 'S') AND o.classid = 1259
                 AND o.objid = c.oid AND o.objsubid = 0 AND o.refclassid::int8 = 1259
                 AND (o.deptype = 'i' OR (o.deptype = 'a' AND o.refobjsubid > 0))\
            """;

    /**
     * 1 relation, 2 number, 3 name, 4 type, 5 modifier, 6 length, 7 by value, 8 alignment, 9
     * storage, 10 not null, 11 dropped, 12 generated, 13 missing value, 14 declared dimensions.
     * attmissingval is an array of one element, so joining its elements gives the value's own
     * output text.
     */
    static final String ATTRIBUTES =
            """
            SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attlen, a.attbyval,
                   a.attalign, a.attstorage, a.attnotnull, a.attisdropped, a.attgenerated,
                   CASE WHEN a.atthasmissing THEN array_to_string(a.attmissingval, '') END,
                   a.attndims
            FROM wanted w
            JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0
            ORDER BY a.attrelid, a.attnum\
            """;

    /** 1 relation, 2 primary, 3 replica identity, 4 key columns in index order, 5 index. */
    static final String KEYS =
            """
            SELECT i.indrelid, i.indisprimary, i.indisreplident,
                   array_to_string((i.indkey::int2[])[0:i.indnkeyatts - 1], ' '),
                   i.indexrelid
            FROM wanted w
            JOIN pg_index i ON i.indrelid = w.oid
            WHERE (i.indisprimary OR i.indisreplident)
              AND i.indisvalid AND i.indisunique AND i.indimmediate AND i.indpred IS NULL\
            """;

    /** The columns of the widest body; the union adds the body's number behind them. */
    static final int COLUMNS = 18;

    /** Every type of the wanted relations' columns, transitively, as {@code needed(oid)}. */
    static final String NEEDED =
            """
            , needed(oid) AS (
                SELECT a.atttypid FROM wanted w
                JOIN pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0 AND a.atttypid <> 0
                UNION
                SELECT x.oid FROM needed n JOIN pg_type t ON t.oid = n.oid
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN t.typsubscript = 'array_subscript_handler'::regproc
                                THEN t.typelem ELSE 0::oid END
                    UNION ALL SELECT t.typbasetype
                    UNION ALL SELECT r.rngsubtype FROM pg_range r
                              WHERE t.typtype = 'r' AND r.rngtypid = t.oid
                    UNION ALL SELECT r.rngtypid FROM pg_range r
                              WHERE t.typtype = 'm' AND r.rngmultitypid = t.oid
                    UNION ALL SELECT a.atttypid FROM pg_attribute a
                              WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0
                    ) x(oid)
                WHERE x.oid <> 0)
            """;

    /**
     * 1 oid, 2 schema, 3 name, 4 kind, 5 category, 6 element of a true array, 7 base, 8 base's
     * modifier, 9 length, 10 by value, 11 alignment, 12 delimiter, 13 dimensions of a domain, 14
     * relation of a composite, 15 a range's subtype, 16 a multirange's range, 17 the library and 18
     * the symbol of an output function in C; the types of the columns and, transitively, those that
     * they are made of. Dropped columns name none.
     */
    static final String TYPES =
            """
            SELECT t.oid, s.nspname, t.typname, t.typtype, t.typcategory,
                   CASE WHEN t.typsubscript = 'array_subscript_handler'::regproc
                        THEN t.typelem ELSE 0::oid END,
                   t.typbasetype, t.typtypmod, t.typlen, t.typbyval, t.typalign,
                   t.typdelim, t.typndims, t.typrelid, coalesce(r.rngsubtype, 0),
                   coalesce(m.rngtypid, 0), p.probin, p.prosrc
            FROM needed JOIN pg_type t ON t.oid = needed.oid
            JOIN pg_namespace s ON s.oid = t.typnamespace
            LEFT JOIN pg_range r ON t.typtype = 'r' AND r.rngtypid = t.oid
            LEFT JOIN pg_range m ON t.typtype = 'm' AND m.rngmultitypid = t.oid
            LEFT JOIN pg_proc p ON t.typtype = 'b' AND p.oid = t.typoutput
                 AND (p.prolang = 13 OR p.prolang = 12 AND t.oid >= 16384
                      AND t.typsubscript <> 'array_subscript_handler'::regproc)\
            """;

    /** 1 type, 2 oid, 3 label, in sort order. */
    static final String ENUM_LABELS =
            """
            SELECT e.enumtypid, e.oid, e.enumlabel
            FROM needed JOIN pg_enum e ON e.enumtypid = needed.oid
            ORDER BY e.enumtypid, e.enumsortorder\
            """;

    /** The columns of {@link #ATTRIBUTES}, of the needed composite types' relations. */
    static final String ROW_ATTRIBUTES =
            """
            SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attlen,
                   a.attbyval, a.attalign, a.attstorage, a.attnotnull, a.attisdropped,
                   a.attgenerated,
                   CASE WHEN a.atthasmissing THEN array_to_string(a.attmissingval, '') END,
                   a.attndims
            FROM needed JOIN pg_type t ON t.oid = needed.oid AND t.typtype = 'c'
            JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0
            ORDER BY a.attrelid, a.attnum\
            """;

    /**
     * One statement for several bodies: their rows one body after the other, every value as text,
     * column {@link #COLUMNS} + 1 is the body's index in the list.
     *
     * @param columns of each body
     */
    static String union(List<String> bodies, int[] columns) {
        StringBuilder text = new StringBuilder(NAMED).append(NEEDED);
        for (int body = 0; body < bodies.size(); body++) {
            text.append(body == 0 ? "SELECT " : "\nUNION ALL SELECT ");
            for (int column = 1; column <= COLUMNS; column++) {
                text.append(column <= columns[body] ? "x.c" + column + "::text, " : "NULL, ");
            }
            text.append(body).append(" FROM (").append(bodies.get(body)).append(") x(");
            for (int column = 1; column <= columns[body]; column++) {
                text.append(column == 1 ? "c" : ", c").append(column);
            }
            text.append(')');
        }
        return text.toString();
    }

    /** A database whose DROP was interrupted (datconnlimit = -2) cannot be used any more. */
    static final String DATABASES =
            """
            SELECT oid, datname, pg_catalog.pg_encoding_to_char(encoding), dattablespace,
                   datallowconn, datistemplate, datcollate, datctype
            FROM pg_catalog.pg_database WHERE datconnlimit <> -2 ORDER BY oid\
            """;

    static final String NAMESPACES =
            "SELECT oid, nspname FROM pg_catalog.pg_namespace ORDER BY oid";

    /** 1 index, 2 its table. */
    static final String INDEXES =
            "SELECT indexrelid, indrelid FROM pg_catalog.pg_index WHERE indexrelid >= 16384";

    /** 1 relation, 2 tablespace, 3 database (0: shared), 4 relation number. */
    static final String REWRITTEN_CATALOGS =
            """
            SELECT c.oid,
                   CASE c.reltablespace WHEN 0 THEN d.dattablespace ELSE c.reltablespace END,
                   CASE c.reltablespace WHEN 1664 THEN 0 ELSE d.oid END, f.number
            FROM pg_catalog.pg_class c
            JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()
            CROSS JOIN LATERAL (SELECT pg_catalog.pg_relation_filenode(c.oid)) f(number)
            WHERE c.oid < 16384 AND f.number >= 16384
            ORDER BY c.oid\
            """;

    /** Roles that a session on the shadow may use. */
    static final String SUPERUSERS =
            """
            SELECT rolname FROM pg_catalog.pg_roles WHERE rolsuper AND rolcanlogin
            ORDER BY oid <> 10, oid\
            """;

    static final String BOOTSTRAP_ROLE = "SELECT rolname FROM pg_catalog.pg_roles WHERE oid = 10";

    private CatalogQueries() {}

    static String oidArray(int[] oids) {
        StringBuilder text = new StringBuilder("{");
        for (int oid : oids) {
            text.append(text.length() == 1 ? "" : ",").append(Integer.toUnsignedLong(oid));
        }
        return text.append('}').toString();
    }
}
