package dev.walshadow.pipeline.mapping;

import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.DateTime64;
import dev.walshadow.clickhouse.ClickHouseType.Decimal;
import dev.walshadow.clickhouse.ClickHouseType.LowCardinality;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.pipeline.mapping.MappingRules.ColumnRule;
import dev.walshadow.postgres.value.TypeOid;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Whether the operator's type may stand in for a column's own (docs/types.md). */
final class TypeOverride {
    /** Integers, and what holds every value of theirs. */
    private static final Map<Conversion, Set<ClickHouseType>> WIDER =
            Map.of(
                    Conversion.INT16, Set.of(Scalar.INT32, Scalar.INT64),
                    Conversion.INT32, Set.of(Scalar.INT64),
                    Conversion.UINT32, Set.of(Scalar.UINT64, Scalar.INT64));

    private static final int MOST_FRACTION_DIGITS = 6;

    private final TypeMapper types;
    private final ResolvedType resolved;
    private final TypeMapper.@Nullable Target own;
    private final ClickHouseType wanted;
    private final boolean lossy;
    private final boolean isKey;

    /** Set with {@link #choose()}: why there is no target. */
    private String refusal = "it is no type that the column's values can become";

    /**
     * @param own the target without the override, null if there is none
     */
    TypeOverride(
            TypeMapper types,
            ResolvedType resolved,
            TypeMapper.@Nullable Target own,
            ColumnRule rule,
            boolean isKey) {
        this.types = types;
        this.resolved = resolved;
        this.own = own;
        this.wanted = java.util.Objects.requireNonNull(rule.type());
        this.lossy = rule.lossy();
        this.isKey = isKey;
    }

    String refusal() {
        return refusal;
    }

    /** The target, or null: {@link #refusal()}. */
    TypeMapper.@Nullable Target choose() {
        ClickHouseType bare = wanted.bare();
        if (bare == Scalar.STRING) {
            return string();
        }
        if (wanted instanceof LowCardinality) {
            refusal = "only LowCardinality(String) is known";
            return null;
        }
        if (resolved.dimensions() > 0) {
            refusal = "an array can only be overridden to String";
            return null;
        }
        if (own == null) {
            return null;
        }
        if (own.type().equals(bare)) {
            return own;
        }
        return switch (bare) {
            case Scalar _ when WIDER.getOrDefault(own.conversion(), Set.of()).contains(bare) ->
                    new TypeMapper.Target(bare, own.conversion());
            case Decimal decimal when resolved.descriptor().oid() == TypeOid.NUMERIC ->
                    decimal(decimal);
            case DateTime64 time when own.conversion() == Conversion.DATETIME64 -> time(time);
            default -> null;
        };
    }

    private TypeMapper.@Nullable Target string() {
        TypeMapper.Target text = text();
        if (text == null || !(wanted instanceof LowCardinality)) {
            if (text == null) {
                refusal = "no codec prints its type";
            }
            return text;
        }
        if (isKey) {
            refusal = "a key column cannot be LowCardinality";
            return null;
        }
        return new TypeMapper.Target(
                new LowCardinality(new ClickHouseType.Nullable(Scalar.STRING)), text.conversion());
    }

    private TypeMapper.@Nullable Target text() {
        if (resolved.dimensions() > 0) {
            return types.arrayText(resolved.descriptor());
        }
        // bytes are a String as they are
        return own != null && own.conversion() == Conversion.BYTES
                ? own
                : types.text(resolved.descriptor());
    }

    private TypeMapper.@Nullable Target decimal(Decimal wide) {
        boolean holdsAll =
                own != null
                        && own.type() instanceof Decimal(int precision, int scale)
                        && wide.scale() >= scale
                        && wide.precision() - wide.scale() >= precision - scale;
        return chosen(holdsAll, Conversion.DECIMAL, wide, "digits would be lost");
    }

    private TypeMapper.@Nullable Target time(DateTime64 wanted) {
        if (wanted.precision() > MOST_FRACTION_DIGITS
                || !(wanted.zone().isEmpty() || wanted.zone().equals("UTC"))) {
            refusal = "it takes DateTime64(0) to DateTime64(6) in UTC";
            return null;
        }
        boolean holdsAll =
                own != null
                        && own.type() instanceof DateTime64(int precision, String _)
                        && wanted.precision() >= precision;
        return chosen(
                holdsAll,
                Conversion.DATETIME64,
                new DateTime64(wanted.precision(), "UTC"),
                "fractions of a second would be lost");
    }

    private TypeMapper.@Nullable Target chosen(
            boolean holdsAll, Conversion conversion, ClickHouseType type, String loss) {
        if (holdsAll || (lossy && !isKey)) {
            return new TypeMapper.Target(type, conversion);
        }
        refusal =
                loss
                        + (isKey
                                ? ", and a key must keep every value apart"
                                : "; lossy = true takes that");
        return null;
    }
}
