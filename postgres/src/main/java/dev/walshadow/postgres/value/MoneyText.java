package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/** money and pg_lsn: 8-byte integers with a notation of their own. */
final class MoneyText {
    private MoneyText() {}

    /** What {@code cash_out} prints with {@code lc_monetary = C}: {@code -$1,234.56}. */
    static void money(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("money", 8, bytes, offset, length);
        long value = LittleEndian.getLong(bytes, offset);
        if (value < 0) {
            out.putByte('-');
        }
        out.putByte('$');
        // unsigned, because the lowest long has no positive counterpart
        long size = value < 0 ? -value : value;
        long whole = Long.divideUnsigned(size, 100);
        appendGrouped(whole, out);
        out.putByte('.');
        IntegerText.appendPadded(Long.remainderUnsigned(size, 100), 2, out);
    }

    private static void appendGrouped(long value, ByteBuilder out) {
        if (value < 1_000) {
            IntegerText.append(value, out);
            return;
        }
        appendGrouped(value / 1_000, out);
        out.putByte(',');
        IntegerText.appendPadded(value % 1_000, 3, out);
    }

    static void pgLsn(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("pg_lsn", 8, bytes, offset, length);
        long lsn = LittleEndian.getLong(bytes, offset);
        appendUpperHex(lsn >>> 32, out);
        out.putByte('/');
        appendUpperHex(lsn & 0xFFFF_FFFFL, out);
    }

    private static void appendUpperHex(long value, ByteBuilder out) {
        int nibbles = Math.max(1, (67 - Long.numberOfLeadingZeros(value)) / 4);
        for (int i = nibbles - 1; i >= 0; i--) {
            int nibble = (int) (value >>> (4 * i)) & 15;
            out.putByte(nibble < 10 ? '0' + nibble : 'A' + nibble - 10);
        }
    }
}
