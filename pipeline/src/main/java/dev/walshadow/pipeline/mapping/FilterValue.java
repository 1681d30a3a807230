package dev.walshadow.pipeline.mapping;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.pipeline.mapping.RowFilter.Literal;
import dev.walshadow.pipeline.mapping.RowFilter.Operator;
import dev.walshadow.postgres.value.Codecs;
import dev.walshadow.postgres.value.IsoText;
import dev.walshadow.postgres.value.TypeOid;
import dev.walshadow.postgres.value.ValueCodec;
import java.math.BigDecimal;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.util.Arrays;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A literal that stored values of one type are compared with, as PostgreSQL compares them. */
public abstract class FilterValue {
    private static final int DAYS_TO_2000 = 10_957;
    private static final long MICROS_PER_DAY = 86_400_000_000L;

    /** Below zero, zero or above it, as the stored value is to the literal. */
    public abstract int order(byte[] bytes, int offset, int length);

    /** The same for a value that is known as PostgreSQL's text. */
    public abstract int order(String text);

    /**
     * @param charset of the source database; null: UTF-8
     * @throws IllegalArgumentException says why they cannot be compared exactly
     */
    public static FilterValue of(
            TypeDescriptor type, Operator operator, Literal literal, @Nullable Charset charset) {
        Charset encoding = charset == null ? StandardCharsets.UTF_8 : charset;
        try {
            if (type.structure() instanceof TypeStructure.Enumeration labels) {
                requireEquality(type, operator);
                return new Label(labels, text(literal));
            }
            return switch (type.oid()) {
                case TypeOid.BOOL -> new Number64(truth(literal.text()), 1, false);
                case TypeOid.INT2 -> new Number64(Long.parseLong(literal.text()), 2, false);
                case TypeOid.INT4 -> new Number64(Long.parseLong(literal.text()), 4, false);
                case TypeOid.INT8 -> new Number64(Long.parseLong(literal.text()), 8, false);
                case TypeOid.OID -> new Number64(unsigned(literal.text()), 4, true);
                case TypeOid.FLOAT4 -> new Floating(single(literal), true);
                case TypeOid.FLOAT8 -> new Floating(Double.parseDouble(literal.text()), false);
                case TypeOid.NUMERIC -> new Exact(literal.text());
                case TypeOid.DATE -> new Number64(date(text(literal)), 4, false);
                case TypeOid.TIMESTAMP -> new Moment(moment(text(literal), false), false);
                case TypeOid.TIMESTAMPTZ -> new Moment(moment(text(literal), true), true);
                case TypeOid.TEXT, TypeOid.VARCHAR, TypeOid.BPCHAR, TypeOid.NAME, TypeOid.UUID -> {
                    requireEquality(type, operator);
                    yield type.oid() == TypeOid.UUID
                            ? new Bytes(uuid(text(literal)), type.oid(), encoding)
                            : new Bytes(text(literal).getBytes(encoding), type.oid(), encoding);
                }
                default ->
                        throw new IllegalArgumentException(
                                "values of the type "
                                        + type.name()
                                        + " cannot be compared here as PostgreSQL does; IS NULL"
                                        + " can be asked of them");
            };
        } catch (NumberFormatException | ArithmeticException | DateTimeException e) {
            throw new IllegalArgumentException(
                    literal.text() + " is no value of the type " + type.name() + " in ISO form", e);
        }
    }

    private static void requireEquality(TypeDescriptor type, Operator operator) {
        if (operator != Operator.EQUAL && operator != Operator.NOT_EQUAL) {
            throw new IllegalArgumentException(
                    "the order of values of the type "
                            + type.name()
                            + " is not known here; use =, <> or IN");
        }
    }

    private static String text(Literal literal) {
        if (literal.kind() != Literal.Kind.TEXT) {
            throw new IllegalArgumentException(
                    literal.text() + " must be in single quotes to be compared with that column");
        }
        return literal.text();
    }

    private static long truth(String text) {
        return switch (text) {
            case "true", "t" -> 1;
            case "false", "f" -> 0;
            default -> throw new NumberFormatException(text);
        };
    }

    private static long unsigned(String text) {
        return Integer.toUnsignedLong(Integer.parseUnsignedInt(text));
    }

    /** A number literal is a double for PostgreSQL, a quoted one takes the column's type. */
    private static double single(Literal literal) {
        return literal.kind() == Literal.Kind.TEXT
                ? Float.parseFloat(literal.text())
                : Double.parseDouble(literal.text());
    }

    private static long date(String text) {
        return switch (text) {
            case "infinity" -> Integer.MAX_VALUE;
            case "-infinity" -> Integer.MIN_VALUE;
            default -> IsoText.day(text) - DAYS_TO_2000;
        };
    }

    private static long moment(String text, boolean withZone) {
        if (text.equals("infinity")) {
            return Long.MAX_VALUE;
        }
        if (text.equals("-infinity")) {
            return Long.MIN_VALUE;
        }
        boolean hasZone = text.matches(".*\\d:\\d\\d(\\.\\d+)?[+-]\\d.*");
        if (hasZone != withZone) {
            throw new IllegalArgumentException(
                    "'"
                            + text
                            + "' must "
                            + (withZone ? "say its zone, as in " : "have no zone, as in ")
                            + "'2001-02-03 04:05:06"
                            + (withZone ? "+00'" : "'"));
        }
        if (text.matches(".*\\.\\d{7,}.*")) {
            throw new IllegalArgumentException("'" + text + "' has digits beyond microseconds");
        }
        return Math.subtractExact(IsoText.micros(text), DAYS_TO_2000 * MICROS_PER_DAY);
    }

    private static byte[] uuid(String text) {
        UUID uuid = UUID.fromString(text);
        byte[] bytes = new byte[16];
        LittleEndian.putLong(bytes, 0, Long.reverseBytes(uuid.getMostSignificantBits()));
        LittleEndian.putLong(bytes, 8, Long.reverseBytes(uuid.getLeastSignificantBits()));
        return bytes;
    }

    /** bool, integers, oid, date: by their stored number. */
    private static final class Number64 extends FilterValue {
        private final long literal;
        private final int width;
        private final boolean unsigned;

        Number64(long literal, int width, boolean unsigned) {
            this.literal = literal;
            this.width = width;
            this.unsigned = unsigned;
        }

        @Override
        public int order(byte[] bytes, int offset, int length) {
            long value =
                    switch (width) {
                        case 1 -> bytes[offset];
                        case 2 -> LittleEndian.getShort(bytes, offset);
                        case 4 ->
                                unsigned
                                        ? LittleEndian.getUnsignedInt(bytes, offset)
                                        : LittleEndian.getInt(bytes, offset);
                        default -> LittleEndian.getLong(bytes, offset);
                    };
            return Long.compare(value, literal);
        }

        @Override
        public int order(String text) {
            long value =
                    switch (width) {
                        case 1 -> truth(text);
                        default ->
                                text.indexOf('-', 1) > 0 || text.contains("inf")
                                        ? date(text)
                                        : Long.parseLong(text);
                    };
            return Long.compare(value, literal);
        }
    }

    /** timestamp and timestamptz. */
    private static final class Moment extends FilterValue {
        private final long literal;
        private final boolean withZone;

        Moment(long literal, boolean withZone) {
            this.literal = literal;
            this.withZone = withZone;
        }

        @Override
        public int order(byte[] bytes, int offset, int length) {
            return Long.compare(LittleEndian.getLong(bytes, offset), literal);
        }

        @Override
        public int order(String text) {
            return Long.compare(moment(text, withZone), literal);
        }
    }

    /** NaN is above all and equal to itself; -0 equals 0. */
    private static final class Floating extends FilterValue {
        private final double literal;
        private final boolean single;

        Floating(double literal, boolean single) {
            this.literal = literal + 0.0;
            this.single = single;
        }

        @Override
        public int order(byte[] bytes, int offset, int length) {
            double value =
                    single
                            ? Float.intBitsToFloat(LittleEndian.getInt(bytes, offset))
                            : Double.longBitsToDouble(LittleEndian.getLong(bytes, offset));
            return Double.compare(value + 0.0, literal);
        }

        @Override
        public int order(String text) {
            double value = single ? Float.parseFloat(text) : Double.parseDouble(text);
            return Double.compare(value + 0.0, literal);
        }
    }

    /** numeric: NaN is above all, then the infinities. */
    private static final class Exact extends FilterValue {
        private final ValueCodec codec =
                Objects.requireNonNull(Codecs.builtin(TypeOid.NUMERIC), "numeric has a codec");
        private final ByteBuilder text = new ByteBuilder(64);
        private final int rank;
        private final @Nullable BigDecimal literal;

        Exact(String literal) {
            this.rank = rank(literal);
            this.literal = rank == 0 ? new BigDecimal(literal) : null;
        }

        private static int rank(String text) {
            return switch (text) {
                case "NaN" -> 2;
                case "Infinity" -> 1;
                case "-Infinity" -> -1;
                default -> 0;
            };
        }

        @Override
        public int order(byte[] bytes, int offset, int length) {
            text.clear();
            codec.appendText(bytes, offset, length, text);
            return order(text.toString());
        }

        @Override
        public int order(String value) {
            int own = rank(value);
            return own == 0 && literal != null
                    ? new BigDecimal(value).compareTo(literal)
                    : Integer.compare(own, rank);
        }
    }

    /** An enum's label, by its OID. */
    private static final class Label extends FilterValue {
        private final String label;
        private final int oid;

        Label(TypeStructure.Enumeration labels, String label) {
            this.label = label;
            this.oid =
                    labels.labels().stream()
                            .filter(each -> each.label().equals(label))
                            .findFirst()
                            .orElseThrow(() ->
                                    new IllegalArgumentException(
                                            "the enum has no label '" + label + "'"))
                            .oid();
        }

        @Override
        public int order(byte[] bytes, int offset, int length) {
            return LittleEndian.getInt(bytes, offset) == oid ? 0 : 1;
        }

        @Override
        public int order(String text) {
            return text.equals(label) ? 0 : 1;
        }
    }

    /** Text whose equality is that of its bytes, and uuid. */
    private static final class Bytes extends FilterValue {
        private final byte[] literal;
        private final int typeOid;
        private final Charset charset;

        Bytes(byte[] literal, int typeOid, Charset charset) {
            this.typeOid = typeOid;
            this.charset = charset;
            this.literal = Arrays.copyOf(literal, end(literal, 0, literal.length));
        }

        /** bpchar: spaces at the end do not count; name: it ends at a zero byte. */
        private int end(byte[] bytes, int offset, int length) {
            int end = offset + length;
            if (typeOid == TypeOid.BPCHAR) {
                while (end > offset && bytes[end - 1] == ' ') {
                    end--;
                }
            } else if (typeOid == TypeOid.NAME) {
                end = offset;
                while (end < offset + length && bytes[end] != 0) {
                    end++;
                }
            }
            return end;
        }

        @Override
        public int order(byte[] bytes, int offset, int length) {
            return Arrays.compare(
                    bytes, offset, end(bytes, offset, length), literal, 0, literal.length);
        }

        @Override
        public int order(String text) {
            byte[] bytes = typeOid == TypeOid.UUID ? uuid(text) : text.getBytes(charset);
            return order(bytes, 0, bytes.length);
        }
    }
}
