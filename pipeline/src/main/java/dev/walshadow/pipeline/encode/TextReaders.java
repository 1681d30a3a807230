package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.clickhouse.StringColumn;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.postgres.value.NumericScaler;
import dev.walshadow.postgres.value.ValueCodec;

/** Readers into String columns, and of numeric. */
final class TextReaders {
    /** Memory of a larger value is given back. */
    private static final int KEPT_CAPACITY = 1 << 20;

    private TextReaders() {}

    /** bytea: the bytes themselves. */
    static final class Bytes extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            ((StringColumn) out).append(bytes, offset, length);
            return true;
        }
    }

    static final class Characters extends ValueReader {
        private final TextConverter converter;
        private final boolean isKey;

        Characters(TextConverter converter, boolean isKey) {
            this.converter = converter;
            this.isKey = isKey;
        }

        /** As {@link #append}, at most so many characters of it. */
        void appendCut(byte[] bytes, int length, int most, ColumnBuffer out) {
            converter.appendCut(bytes, length, most, (StringColumn) out);
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            if (!converter.append(bytes, offset, length, (StringColumn) out) && isKey) {
                throw notUnique("text with bytes that are invalid in the source's encoding");
            }
            return true;
        }
    }

    /** name: 64 bytes, the text ends at the first zero byte. */
    static final class Name extends ValueReader {
        private final Characters characters;

        Name(Characters characters) {
            this.characters = characters;
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            int end = 0;
            while (end < length && bytes[offset + end] != 0) {
                end++;
            }
            return characters.append(bytes, offset, end, out);
        }
    }

    /** What the output function prints. */
    static final class Rendered extends ValueReader {
        private final ValueCodec codec;
        private final Characters characters;
        private final int limit;
        private ByteBuilder text;

        Rendered(ValueCodec codec, Characters characters, ValueLimit limit) {
            this.codec = codec;
            this.characters = characters;
            this.limit = limit.bytes();
            this.text = nothing();
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            text.clear();
            try {
                codec.appendText(bytes, offset, length, text);
                return characters.append(text.array(), 0, text.length(), out);
            } finally {
                if (text.capacity() > KEPT_CAPACITY) {
                    text = nothing();
                }
            }
        }

        private ByteBuilder nothing() {
            return ByteBuilder.onDemand(256, limit);
        }
    }

    static final class Decimal extends ValueReader {
        private final NumericScaler scaler;
        private final boolean isKey;
        private final PolicyCounts counts;
        private final boolean refuses;

        /**
         * @param refuses sets the table aside at what is no number
         */
        Decimal(NumericScaler scaler, boolean isKey, PolicyCounts counts, boolean refuses) {
            this.refuses = refuses;
            this.scaler = scaler;
            this.isKey = isKey;
            this.counts = counts;
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            int outcome = scaler.append(bytes, offset, length, ((FixedColumn) out).body());
            return switch (outcome) {
                case NumericScaler.OK -> true;
                case NumericScaler.ROUNDED -> {
                    if (isKey) {
                        throw notUnique("a numeric with more digits behind the point");
                    }
                    counts.add(Policy.ROUNDED);
                    yield true;
                }
                case NumericScaler.OVERFLOW ->
                        throw new QuarantineException(
                                MappingCodes.VALUE,
                                "a numeric has more digits than the mapped Decimal holds");
                default -> {
                    if (refuses) {
                        throw new QuarantineException(
                                MappingCodes.VALUE,
                                "a numeric is NaN or infinite, which a Decimal cannot hold, and the"
                                        + " column's out_of_range is error");
                    }
                    counts.add(Policy.NOT_A_NUMBER);
                    yield false;
                }
            };
        }
    }

    private static QuarantineException notUnique(String what) {
        return new QuarantineException(
                MappingCodes.VALUE, what + " cannot be a key: it would not stay unique");
    }
}
