package dev.walshadow.pipeline.encode;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.pipeline.mapping.Conversion;

/** Readers of numbers that are the same bytes on both sides, or nearly. */
final class FixedReaders {
    private FixedReaders() {}

    static final class Int8 extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            ((FixedColumn) out).appendByte(bytes[offset]);
            return true;
        }
    }

    static final class Int16 extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            ((FixedColumn) out).appendShort(LittleEndian.getShort(bytes, offset));
            return true;
        }
    }

    /** Integers into wider ones. */
    static final class Widened extends ValueReader {
        private final Conversion source;
        private final int width;

        /**
         * @param source INT16, INT32 or UINT32
         * @param width 4 or 8 bytes
         */
        Widened(Conversion source, int width) {
            this.source = source;
            this.width = width;
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            long value =
                    switch (source) {
                        case INT16 -> LittleEndian.getShort(bytes, offset);
                        case UINT32 -> LittleEndian.getUnsignedInt(bytes, offset);
                        default -> LittleEndian.getInt(bytes, offset);
                    };
            if (width == Integer.BYTES) {
                ((FixedColumn) out).appendInt((int) value);
            } else {
                ((FixedColumn) out).appendLong(value);
            }
            return true;
        }
    }

    /** int4, oid, xid, float4. */
    static final class Int32 extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            ((FixedColumn) out).appendInt(LittleEndian.getInt(bytes, offset));
            return true;
        }
    }

    /** int8, xid8, float8, time as microseconds. */
    static final class Int64 extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            ((FixedColumn) out).appendLong(LittleEndian.getLong(bytes, offset));
            return true;
        }
    }

    /** money: hundredths in 64 bits, into the 128 bits of Decimal(19, 2). */
    static final class Money extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            long value = LittleEndian.getLong(bytes, offset);
            ((FixedColumn) out).appendInt128(value, value >> 63);
            return true;
        }
    }

    /** ClickHouse keeps the two halves of a UUID as little-endian numbers. */
    static final class Uuid extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            ((FixedColumn) out)
                    .appendInt128(
                            Long.reverseBytes(LittleEndian.getLong(bytes, offset)),
                            Long.reverseBytes(LittleEndian.getLong(bytes, offset + Long.BYTES)));
            return true;
        }
    }
}
