package dev.walshadow.postgres;

import dev.walshadow.base.Invariant;
import java.util.Locale;

/**
 * Log sequence numbers: byte positions in the WAL. On hot paths an LSN is a bare {@code long}
 * (compare unsigned in principle; real positions stay below 2^63). Text form as PostgreSQL prints
 * it: {@code 16/B374D848}.
 */
public final class Lsn {
    /** PostgreSQL's InvalidXLogRecPtr. */
    public static final long INVALID = 0;

    private Lsn() {}

    public static String format(long lsn) {
        return String.format(Locale.ROOT, "%X/%X", lsn >>> 32, lsn & 0xFFFF_FFFFL);
    }

    /** Parses {@code hex/hex}; throws IllegalArgumentException with the text for anything else. */
    public static long parse(String text) {
        int slash = text.indexOf('/');
        try {
            if (slash > 0 && slash <= 8 && text.length() - slash - 1 <= 8) {
                long high = Long.parseLong(text, 0, slash, 16);
                long low = Long.parseLong(text, slash + 1, text.length(), 16);
                return high << 32 | low;
            }
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("not an LSN (expected hex/hex): " + text, e);
        }
        throw new IllegalArgumentException("not an LSN (expected hex/hex): " + text);
    }

    /** The 24-hex-digit name of the WAL segment file that holds {@code lsn}. */
    public static String segmentFileName(int timeline, long lsn, int segmentSize) {
        Invariant.check(Integer.bitCount(segmentSize) == 1, "segment size is a power of two");
        long segment = Long.divideUnsigned(lsn, segmentSize);
        long perLogId = 0x1_0000_0000L / segmentSize;
        return String.format(
                Locale.ROOT, "%08X%08X%08X", timeline, segment / perLogId, segment % perLogId);
    }
}
