package dev.walshadow.postgres.value;

import org.jspecify.annotations.Nullable;

/** Which codec prints which type. */
public final class Codecs {
    private Codecs() {}

    /**
     * A codec of a built-in scalar type (OID below 16384), or null if there is none. It may hold
     * state: one per thread.
     */
    public static @Nullable ValueCodec builtin(int typeOid) {
        return switch (typeOid) {
            case TypeOid.BOOL -> IntegerText::bool;
            case TypeOid.INT2 -> IntegerText::int2;
            case TypeOid.INT4 -> IntegerText::int4;
            case TypeOid.INT8 -> IntegerText::int8;
            case TypeOid.OID, TypeOid.XID, TypeOid.CID -> IntegerText::unsignedInt4;
            case TypeOid.TID -> IdentifierText::tid;
            case TypeOid.PG_SNAPSHOT, TypeOid.TXID_SNAPSHOT -> IdentifierText::snapshot;
            case TypeOid.INT2VECTOR -> new IdentifierText.Vector(Short.BYTES, IntegerText::int2);
            case TypeOid.OIDVECTOR ->
                    new IdentifierText.Vector(Integer.BYTES, IntegerText::unsignedInt4);
            case TypeOid.XID8 -> IntegerText::unsignedInt8;
            case TypeOid.FLOAT4 -> FloatText::float4;
            case TypeOid.FLOAT8 -> FloatText::float8;
            case TypeOid.NUMERIC -> NumericText::append;
            case TypeOid.MONEY -> MoneyText::money;
            case TypeOid.PG_LSN -> MoneyText::pgLsn;
            case TypeOid.TEXT,
                    TypeOid.VARCHAR,
                    TypeOid.BPCHAR,
                    TypeOid.JSON,
                    TypeOid.REFCURSOR,
                    TypeOid.PG_NODE_TREE ->
                    TextValues::text;
            case TypeOid.NAME, TypeOid.CSTRING -> TextValues::name;
            case TypeOid.CHAR -> TextValues::singleByte;
            case TypeOid.XML -> XmlText::xml;
            case TypeOid.BYTEA -> TextValues::bytea;
            case TypeOid.UUID -> TextValues::uuid;
            case TypeOid.BIT, TypeOid.VARBIT -> TextValues::bits;
            case TypeOid.MACADDR, TypeOid.MACADDR8 -> TextValues::macaddr;
            case TypeOid.INET -> NetworkText::inet;
            case TypeOid.CIDR -> NetworkText::cidr;
            case TypeOid.JSONB -> new JsonbText();
            case TypeOid.JSONPATH -> new JsonpathText();
            case TypeOid.TSVECTOR -> TextSearchText::tsvector;
            case TypeOid.TSQUERY -> new TsqueryText();
            default -> temporal(typeOid);
        };
    }

    private static @Nullable ValueCodec temporal(int typeOid) {
        return switch (typeOid) {
            case TypeOid.DATE -> TemporalText::date;
            case TypeOid.TIME -> TemporalText::time;
            case TypeOid.TIMETZ -> TemporalText::timetz;
            case TypeOid.TIMESTAMP -> TemporalText::timestamp;
            case TypeOid.TIMESTAMPTZ -> TemporalText::timestamptz;
            case TypeOid.INTERVAL -> TemporalText::interval;
            default -> geometric(typeOid);
        };
    }

    private static @Nullable ValueCodec geometric(int typeOid) {
        return switch (typeOid) {
            case TypeOid.POINT -> GeometricText::point;
            case TypeOid.LSEG -> GeometricText::lseg;
            case TypeOid.PATH -> GeometricText::path;
            case TypeOid.BOX -> GeometricText::box;
            case TypeOid.POLYGON -> GeometricText::polygon;
            case TypeOid.LINE -> GeometricText::line;
            case TypeOid.CIRCLE -> GeometricText::circle;
            default -> isObjectIdentifier(typeOid) ? IntegerText::unsignedInt4 : null;
        };
    }

    /**
     * regclass and its family: the stored OID. PostgreSQL prints the name that the object has when
     * it is asked, which no row says.
     */
    private static boolean isObjectIdentifier(int typeOid) {
        return switch (typeOid) {
            case TypeOid.REGPROC,
                    TypeOid.REGPROCEDURE,
                    TypeOid.REGOPER,
                    TypeOid.REGOPERATOR,
                    TypeOid.REGCLASS,
                    TypeOid.REGTYPE,
                    TypeOid.REGCONFIG,
                    TypeOid.REGDICTIONARY,
                    TypeOid.REGNAMESPACE,
                    TypeOid.REGROLE,
                    TypeOid.REGCOLLATION ->
                    true;
            default -> false;
        };
    }

    /**
     * A codec of a type that somebody made of a built-in output function ({@code CREATE TYPE ...
     * (..., output = f, like = int8)}), or null if there is none. What such a function is given is
     * what it is given of its own type.
     *
     * @param function its name in C, as {@code pg_proc.prosrc} has it
     */
    public static @Nullable ValueCodec byFunction(String function) {
        return switch (function) {
            case "boolout" -> builtin(TypeOid.BOOL);
            case "int2out" -> builtin(TypeOid.INT2);
            case "int4out" -> builtin(TypeOid.INT4);
            case "int8out" -> builtin(TypeOid.INT8);
            case "oidout" -> builtin(TypeOid.OID);
            case "xid8out" -> builtin(TypeOid.XID8);
            case "float4out" -> builtin(TypeOid.FLOAT4);
            case "float8out" -> builtin(TypeOid.FLOAT8);
            case "numeric_out" -> builtin(TypeOid.NUMERIC);
            case "textout", "varcharout", "bpcharout", "json_out" -> builtin(TypeOid.TEXT);
            case "nameout" -> builtin(TypeOid.NAME);
            case "byteaout" -> builtin(TypeOid.BYTEA);
            case "uuid_out" -> builtin(TypeOid.UUID);
            case "bit_out", "varbit_out" -> builtin(TypeOid.VARBIT);
            case "macaddr_out", "macaddr8_out" -> builtin(TypeOid.MACADDR);
            case "inet_out" -> builtin(TypeOid.INET);
            case "cidr_out" -> builtin(TypeOid.CIDR);
            case "jsonb_out" -> builtin(TypeOid.JSONB);
            case "pg_lsn_out" -> builtin(TypeOid.PG_LSN);
            case "date_out" -> builtin(TypeOid.DATE);
            case "time_out" -> builtin(TypeOid.TIME);
            case "timetz_out" -> builtin(TypeOid.TIMETZ);
            case "timestamp_out" -> builtin(TypeOid.TIMESTAMP);
            case "timestamptz_out" -> builtin(TypeOid.TIMESTAMPTZ);
            case "interval_out" -> builtin(TypeOid.INTERVAL);
            case "point_out" -> builtin(TypeOid.POINT);
            case "box_out" -> builtin(TypeOid.BOX);
            default -> null;
        };
    }

    /** A codec of an extension's type by its name, or null if there is none. */
    public static @Nullable ValueCodec byName(String typeName) {
        return switch (typeName) {
            case "citext" -> TextValues::text;
            case "hstore" -> new HstoreText();
            case "ltree" -> ExtensionText::ltree;
            case "cube" -> ExtensionText::cube;
            case "geometry", "geography" -> GeometryText::geometry;
            case "vector" -> VectorText::vector;
            case "halfvec" -> VectorText::halfvec;
            case "sparsevec" -> VectorText::sparsevec;
            default -> null;
        };
    }
}
