package dev.walshadow.clickhouse;

import java.util.List;
import java.util.Locale;

/**
 * A ClickHouse type as a tree. {@link #print()} gives ClickHouse's own spelling (as {@code
 * system.columns.type} shows it), {@link #parse(String)} reads it back; what is not known to this
 * tree is kept as its text ({@link Other}). Immutable, compared by value.
 */
public sealed interface ClickHouseType {

    static ClickHouseType parse(String text) {
        return new TypeParser(text).parseAll();
    }

    /** The type in ClickHouse's own spelling. */
    String print();

    /** Whether {@code Nullable(this)} exists: not for composed types or another Nullable. */
    default boolean canBeNullable() {
        return switch (this) {
            case Nullable _, Array _, Tuple _, Map _, LowCardinality _, Other _ -> false;
            case Scalar _,
                    FixedString _,
                    Decimal _,
                    DateTime _,
                    DateTime64 _,
                    Time64 _,
                    Enumeration _ ->
                    true;
        };
    }

    /** This type, or {@code Nullable(this)} where ClickHouse allows it. */
    default ClickHouseType nullable() {
        return canBeNullable() ? new Nullable(this) : this;
    }

    /** The type inside Nullable and LowCardinality. */
    default ClickHouseType bare() {
        return switch (this) {
            case Nullable n -> n.inner().bare();
            case LowCardinality l -> l.inner().bare();
            default -> this;
        };
    }

    /** Types without parameters; {@code width} is the bytes of one value, -1 if variable. */
    enum Scalar implements ClickHouseType {
        BOOL("Bool", 1),
        INT8("Int8", 1),
        INT16("Int16", 2),
        INT32("Int32", 4),
        INT64("Int64", 8),
        INT128("Int128", 16),
        INT256("Int256", 32),
        UINT8("UInt8", 1),
        UINT16("UInt16", 2),
        UINT32("UInt32", 4),
        UINT64("UInt64", 8),
        UINT128("UInt128", 16),
        UINT256("UInt256", 32),
        BFLOAT16("BFloat16", 2),
        FLOAT32("Float32", 4),
        FLOAT64("Float64", 8),
        STRING("String", -1),
        UUID("UUID", 16),
        IPV4("IPv4", 4),
        IPV6("IPv6", 16),
        DATE("Date", 2),
        DATE32("Date32", 4),
        TIME("Time", 4),
        JSON("JSON", -1);

        private final String text;
        private final int width;

        Scalar(String text, int width) {
            this.text = text;
            this.width = width;
        }

        public int width() {
            return width;
        }

        @Override
        public String print() {
            return text;
        }

        @Override
        public boolean canBeNullable() {
            return this != JSON;
        }

        static @org.jspecify.annotations.Nullable Scalar named(String name) {
            for (Scalar scalar : values()) {
                if (scalar.text.equals(name)) {
                    return scalar;
                }
            }
            return null;
        }
    }

    record FixedString(int length) implements ClickHouseType {
        @Override
        public String print() {
            return "FixedString(" + length + ")";
        }
    }

    /** A fixed-point number; stored in 4, 8, 16 or 32 bytes by its precision (at most 76). */
    record Decimal(int precision, int scale) implements ClickHouseType {
        public static final int MAX_PRECISION = 76;

        public Decimal {
            if (precision < 1 || precision > MAX_PRECISION || scale < 0 || scale > precision) {
                throw new IllegalArgumentException(
                        "no such ClickHouse type: Decimal(" + precision + ", " + scale + ")");
            }
        }

        public int width() {
            return precision <= 9 ? 4 : precision <= 18 ? 8 : precision <= 38 ? 16 : 32;
        }

        @Override
        public String print() {
            return "Decimal(" + precision + ", " + scale + ")";
        }
    }

    /** Seconds; {@code zone} is empty for the server's own. */
    record DateTime(String zone) implements ClickHouseType {
        @Override
        public String print() {
            return zone.isEmpty() ? "DateTime" : "DateTime(" + Ddl.literal(zone) + ")";
        }
    }

    /** Ticks of 10^-precision seconds since 1970; {@code zone} is empty for the server's own. */
    record DateTime64(int precision, String zone) implements ClickHouseType {
        @Override
        public String print() {
            String rest = zone.isEmpty() ? "" : ", " + Ddl.literal(zone);
            return "DateTime64(" + precision + rest + ")";
        }
    }

    /** Ticks of 10^-precision seconds since midnight. */
    record Time64(int precision) implements ClickHouseType {
        @Override
        public String print() {
            return "Time64(" + precision + ")";
        }
    }

    /** One label of an {@link Enumeration}. */
    record EnumValue(String label, int number) {}

    /** {@code bits} is 8 or 16. */
    record Enumeration(int bits, List<EnumValue> values) implements ClickHouseType {
        public Enumeration {
            values = List.copyOf(values);
        }

        @Override
        public String print() {
            StringBuilder out = new StringBuilder("Enum").append(bits).append('(');
            String separator = "";
            for (EnumValue value : values) {
                out.append(separator).append(Ddl.literal(value.label()));
                out.append(String.format(Locale.ROOT, " = %d", value.number()));
                separator = ", ";
            }
            return out.append(')').toString();
        }
    }

    record Nullable(ClickHouseType inner) implements ClickHouseType {
        @Override
        public String print() {
            return "Nullable(" + inner.print() + ")";
        }
    }

    record LowCardinality(ClickHouseType inner) implements ClickHouseType {
        @Override
        public String print() {
            return "LowCardinality(" + inner.print() + ")";
        }
    }

    record Array(ClickHouseType element) implements ClickHouseType {
        @Override
        public String print() {
            return "Array(" + element.print() + ")";
        }
    }

    /** {@code name} is empty for an unnamed element. */
    record TupleElement(String name, ClickHouseType type) {
        String print() {
            return name.isEmpty()
                    ? type.print()
                    : Ddl.identifierIfNeeded(name) + " " + type.print();
        }
    }

    record Tuple(List<TupleElement> elements) implements ClickHouseType {
        public Tuple {
            elements = List.copyOf(elements);
        }

        @Override
        public String print() {
            return "Tuple("
                    + String.join(", ", elements.stream().map(TupleElement::print).toList())
                    + ")";
        }
    }

    record Map(ClickHouseType key, ClickHouseType value) implements ClickHouseType {
        @Override
        public String print() {
            return "Map(" + key.print() + ", " + value.print() + ")";
        }
    }

    /** A type that this tree does not take apart, as ClickHouse spells it. */
    record Other(String text) implements ClickHouseType {
        @Override
        public String print() {
            return text;
        }
    }
}
