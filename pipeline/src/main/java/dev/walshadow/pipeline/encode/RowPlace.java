package dev.walshadow.pipeline.encode;

import dev.walshadow.postgres.Lsn;
import java.util.HexFormat;

/** Names a row and shows bytes of it, for messages about what cannot be read. */
public final class RowPlace {
    private static final int BYTES_SHOWN = 48;
    private static final int OFFSET_NUMBER_BITS = 16;

    private RowPlace() {}

    /** Its ctid, and what wrote it. */
    public static String of(RowMeta meta) {
        String position = Lsn.format(meta.commitPosition());
        if (meta.xid() == 0) {
            return "row " + ctid(meta.tid()) + " of the load as of " + position;
        }
        return "row "
                + ctid(meta.tid())
                + " at "
                + Lsn.format(meta.recordLsn())
                + " of the transaction with xid "
                + Integer.toUnsignedString(meta.xid())
                + " committed at "
                + position;
    }

    private static String ctid(long tid) {
        return "("
                + Integer.toUnsignedString((int) (tid >>> OFFSET_NUMBER_BITS))
                + ","
                + (tid & 0xFFFF)
                + ")";
    }

    /** The first bytes, in hex, and how many there are. */
    public static String bytes(byte[] bytes, int offset, int length) {
        int from = Math.min(offset, bytes.length);
        int there = Math.max(0, Math.min(length, bytes.length - from));
        int shown = Math.min(there, BYTES_SHOWN);
        String hex = HexFormat.of().formatHex(bytes, from, from + shown);
        return shown == length
                ? "\\x" + hex
                : "\\x" + hex + "... (" + shown + " of " + length + " bytes)";
    }
}
