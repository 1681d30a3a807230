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
            case TypeOid.XID8 -> IntegerText::unsignedInt8;
            case TypeOid.FLOAT4 -> FloatText::float4;
            case TypeOid.FLOAT8 -> FloatText::float8;
            case TypeOid.NUMERIC -> NumericText::append;
            case TypeOid.MONEY -> MoneyText::money;
            case TypeOid.PG_LSN -> MoneyText::pgLsn;
            case TypeOid.TEXT, TypeOid.VARCHAR, TypeOid.BPCHAR, TypeOid.JSON -> TextValues::text;
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
            default -> null;
        };
    }

    /** A codec of an extension's type by its name, or null if there is none. */
    public static @Nullable ValueCodec byName(String typeName) {
        return switch (typeName) {
            case "citext" -> TextValues::text;
            default -> null;
        };
    }
}
