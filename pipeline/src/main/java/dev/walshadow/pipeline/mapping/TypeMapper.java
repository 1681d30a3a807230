package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.postgres.value.TypeOid;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The table of types: one default per PostgreSQL type (docs/types.md). */
final class TypeMapper {
    /**
     * A ClickHouse type without Nullable and Array, and the way to it.
     *
     * @param enumNumbers of an enum
     */
    record Target(ClickHouseType type, Conversion conversion, List<EnumNumber> enumNumbers) {
        Target(ClickHouseType type, Conversion conversion) {
            this(type, conversion, List.of());
        }
    }

    private static final Target CHARACTERS = new Target(Scalar.STRING, Conversion.CHARACTERS);
    private static final Target TEXT = new Target(Scalar.STRING, Conversion.TEXT);
    private static final Target HEX = new Target(Scalar.STRING, Conversion.HEX);
    private static final Target NAME = new Target(Scalar.STRING, Conversion.NAME);

    /** timestamp and time without a modifier hold microseconds. */
    private static final int DEFAULT_PRECISION = 6;

    private final boolean time64;
    private final TypeCodecs codecs;

    TypeMapper(boolean time64, TypeCodecs codecs) {
        this.time64 = time64;
        this.codecs = codecs;
    }

    /**
     * The default of a scalar type, or null if it cannot be rendered yet.
     *
     * @param pinned the numbers that an enum's labels were given before
     */
    @Nullable Target scalar(ResolvedType resolved, List<EnumNumber> pinned) {
        TypeDescriptor type = resolved.descriptor();
        int modifier = resolved.modifier();
        return switch (type.oid()) {
            case TypeOid.BOOL -> new Target(Scalar.BOOL, Conversion.BOOL);
            case TypeOid.INT2 -> new Target(Scalar.INT16, Conversion.INT16);
            case TypeOid.INT4 -> new Target(Scalar.INT32, Conversion.INT32);
            case TypeOid.INT8 -> new Target(Scalar.INT64, Conversion.INT64);
            case TypeOid.OID, TypeOid.XID, TypeOid.CID ->
                    new Target(Scalar.UINT32, Conversion.UINT32);
            case TypeOid.XID8 -> new Target(Scalar.UINT64, Conversion.UINT64);
            case TypeOid.FLOAT4 -> new Target(Scalar.FLOAT32, Conversion.FLOAT32);
            case TypeOid.FLOAT8 -> new Target(Scalar.FLOAT64, Conversion.FLOAT64);
            case TypeOid.NUMERIC -> numeric(modifier);
            case TypeOid.MONEY -> new Target(new ClickHouseType.Decimal(19, 2), Conversion.MONEY);
            case TypeOid.UUID -> new Target(Scalar.UUID, Conversion.UUID);
            case TypeOid.DATE -> new Target(Scalar.DATE32, Conversion.DATE32);
            case TypeOid.TIMESTAMP, TypeOid.TIMESTAMPTZ ->
                    new Target(
                            new ClickHouseType.DateTime64(precision(modifier), "UTC"),
                            Conversion.DATETIME64);
            case TypeOid.TIME ->
                    time64
                            ? new Target(
                                    new ClickHouseType.Time64(DEFAULT_PRECISION), Conversion.TIME64)
                            : TEXT;
            case TypeOid.BYTEA -> new Target(Scalar.STRING, Conversion.BYTES);
            default -> other(type, pinned);
        };
    }

    private @Nullable Target other(TypeDescriptor type, List<EnumNumber> pinned) {
        if (type.structure() instanceof TypeStructure.Enumeration enumeration) {
            List<EnumNumber> numbers = EnumNumbers.of(enumeration.labels(), pinned);
            return numbers.isEmpty()
                    ? TEXT
                    : new Target(EnumNumbers.type(numbers), Conversion.ENUM, numbers);
        }
        Target text = text(type);
        if (type.kind() != 'b' || ResolvedType.isArray(type)) {
            return text;
        }
        if (text == null) {
            return HEX;
        }
        return switch (type.name()) {
            case "hstore" ->
                    new Target(
                            new ClickHouseType.Map(
                                    Scalar.STRING, new ClickHouseType.Nullable(Scalar.STRING)),
                            Conversion.HSTORE);
            case "vector" -> floats(Conversion.VECTOR);
            case "halfvec" -> floats(Conversion.HALFVEC);
            default -> text;
        };
    }

    private static Target floats(Conversion conversion) {
        return new Target(new ClickHouseType.Array(Scalar.FLOAT32), conversion);
    }

    /** PostgreSQL's own text, or null if no codec prints it. */
    @Nullable Target text(TypeDescriptor type) {
        return switch (type.oid()) {
            case TypeOid.TEXT, TypeOid.VARCHAR, TypeOid.BPCHAR, TypeOid.JSON -> CHARACTERS;
            case TypeOid.NAME -> NAME;
            default ->
                    type.kind() == 'b' && type.name().equals("citext")
                            ? CHARACTERS
                            : codecs.of(type.oid()) == null ? null : TEXT;
        };
    }

    /** An array as PostgreSQL's own text, or null if no codec prints its elements. */
    @Nullable Target arrayText(TypeDescriptor element) {
        return text(element) == null ? null : new Target(Scalar.STRING, Conversion.ARRAY_TEXT);
    }

    /** An array's element: one that can be NULL. What cannot is PostgreSQL's text there. */
    @Nullable Target element(ResolvedType resolved, List<EnumNumber> pinned) {
        Target target = scalar(resolved, pinned);
        return target == null || target.type().canBeNullable()
                ? target
                : text(resolved.descriptor());
    }

    /**
     * The type of a key column: an injective one, never Nullable. Dates and timestamps are text
     * there, since Date32 and DateTime64 cannot hold all of them.
     */
    @Nullable Target key(ResolvedType resolved, List<EnumNumber> pinned) {
        Target target = scalar(resolved, pinned);
        if (target == null) {
            return null;
        }
        return switch (target.conversion()) {
            // the source cannot be asked for rows by such a key
            case HEX -> null;
            case DATE32, DATETIME64, HSTORE, VECTOR, HALFVEC -> text(resolved.descriptor());
            default -> target;
        };
    }

    /** numeric(p, s) has typmod ((p << 16) | (s & 0x7FF)) + 4, s in 11 bits with sign. */
    private static Target numeric(int modifier) {
        if (modifier < 4) {
            return TEXT;
        }
        int precision = (modifier - 4) >>> 16;
        int scale = (((modifier - 4) & 0x7FF) ^ 0x400) - 0x400;
        boolean fits =
                precision <= ClickHouseType.Decimal.MAX_PRECISION
                        && scale >= 0
                        && scale <= precision;
        return fits
                ? new Target(new ClickHouseType.Decimal(precision, scale), Conversion.DECIMAL)
                : TEXT;
    }

    private static int precision(int modifier) {
        return modifier < 0 ? DEFAULT_PRECISION : modifier;
    }
}
