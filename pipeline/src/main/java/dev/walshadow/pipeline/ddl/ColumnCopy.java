package dev.walshadow.pipeline.ddl;

import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.EnumValue;
import dev.walshadow.clickhouse.ClickHouseType.Enumeration;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which stored values become a changed column's values exactly, without the source. The tuples were
 * not rewritten, so every value has the bytes that it had; only what is made of them may differ.
 */
final class ColumnCopy {
    /** Their results do not depend on which of their source types it is. */
    private static final Set<Conversion> BY_BYTES =
            Set.of(Conversion.CHARACTERS, Conversion.BYTES, Conversion.DATETIME64);

    private static final Map<ClickHouseType, Set<ClickHouseType>> WIDER =
            Map.of(
                    Scalar.INT16, Set.of(Scalar.INT32, Scalar.INT64),
                    Scalar.INT32, Set.of(Scalar.INT64),
                    Scalar.FLOAT32, Set.of(Scalar.FLOAT64));

    private ColumnCopy() {}

    /** The expression over the old column, or null if ClickHouse cannot tell the new values. */
    static @Nullable String expression(ColumnMapping from, ColumnMapping to) {
        if (!sameMeaning(from, to)) {
            return null;
        }
        String name = Ddl.identifier(from.name());
        if (from.type().equals(to.type())) {
            return name;
        }
        return widens(from.type(), to.type())
                ? "CAST(" + name + ", " + Ddl.literal(to.type().print()) + ")"
                : null;
    }

    /**
     * The same over values of versions that are past, which a rewriting ALTER has not changed: they
     * stay what they were, if the new type can hold all of them.
     */
    static @Nullable String past(ColumnMapping from, ColumnMapping to) {
        String exact = expression(from, to);
        boolean wider =
                from.dimensions() == 0
                        && to.dimensions() == 0
                        && Objects.equals(from.transform(), to.transform())
                        && isNullable(from.type()) == isNullable(to.type())
                        && WIDER.getOrDefault(from.type().bare(), Set.of())
                                .contains(to.type().bare());
        return exact == null && wider
                ? "CAST("
                        + Ddl.identifier(from.name())
                        + ", "
                        + Ddl.literal(to.type().print())
                        + ")"
                : exact;
    }

    /** Whether MODIFY COLUMN gives the same as {@link #expression}; not for key columns. */
    static boolean modifies(ColumnMapping from, ColumnMapping to) {
        return sameMeaning(from, to)
                && isNullable(from.type()) == isNullable(to.type())
                && widens(from.type(), to.type());
    }

    private static boolean sameMeaning(ColumnMapping from, ColumnMapping to) {
        return from.conversion() == to.conversion()
                && from.dimensions() == to.dimensions()
                && Objects.equals(from.transform(), to.transform())
                && (from.typeOid() == to.typeOid() || BY_BYTES.contains(to.conversion()));
    }

    private static boolean isNullable(ClickHouseType type) {
        return type instanceof ClickHouseType.Nullable;
    }

    /** NULLs aside: a cast of NULL to a type that has none fails and changes nothing. */
    private static boolean widens(ClickHouseType from, ClickHouseType to) {
        if (from instanceof ClickHouseType.Array(var old)
                && to instanceof ClickHouseType.Array(var now)) {
            return widens(old, now);
        }
        ClickHouseType old = from instanceof ClickHouseType.Nullable(var inner) ? inner : from;
        ClickHouseType now = to instanceof ClickHouseType.Nullable(var inner) ? inner : to;
        return old.equals(now)
                || switch (now) {
                    case ClickHouseType.Decimal(int precision, int scale) ->
                            old instanceof ClickHouseType.Decimal(int least, int same)
                                    && scale == same
                                    && precision >= least;
                    case ClickHouseType.DateTime64(int precision, String zone) ->
                            old instanceof ClickHouseType.DateTime64(int least, String same)
                                    && zone.equals(same)
                                    && precision >= least;
                    case Enumeration enumeration ->
                            old instanceof Enumeration before && widens(before, enumeration);
                    default -> false;
                };
    }

    /**
     * ClickHouse casts by number. Values keep theirs, or as many values were renamed: PostgreSQL
     * neither drops nor moves values of an enum.
     */
    private static boolean widens(Enumeration from, Enumeration to) {
        Set<EnumValue> now = new HashSet<>(to.values());
        if (now.containsAll(from.values())) {
            return true;
        }
        return numbers(from).equals(numbers(to));
    }

    private static List<Integer> numbers(Enumeration type) {
        return type.values().stream().map(EnumValue::number).sorted().toList();
    }
}
