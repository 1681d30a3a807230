package dev.walshadow.postgres.value;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.PostgresCodes;

/**
 * The header of a variable-length datum (little-endian machines).
 *
 * <pre>
 * first byte
 * xxxxxx00  4B    u32 = total length << 2, then the payload              (aligned)
 * xxxxxx10  4B_C  u32 = total length << 2 | 2, u32 = raw size | method << 30, compressed bytes
 * xxxxxxx1  1B    u8 = total length << 1 | 1, then the payload           (never aligned)
 * 00000001  1B_E  u8 tag: 18 = on disk ({@link ToastPointer}); others never occur on disk
 * </pre>
 *
 * Total lengths count the header. A byte 0 where a varlena may start is alignment padding. Source:
 * {@code src/include/varatt.h} (15: {@code postgres.h}), PostgreSQL 15-18.
 */
public final class Varlena {
    /** VARHDRSZ. */
    public static final int HEADER_LENGTH = 4;

    /** VARHDRSZ_SHORT. */
    public static final int SHORT_HEADER_LENGTH = 1;

    /** VARHDRSZ_COMPRESSED. */
    public static final int COMPRESSED_HEADER_LENGTH = 8;

    /** VARTAG_ONDISK. */
    public static final int TAG_ON_DISK = 18;

    /** VARLENA_EXTSIZE_BITS and its mask: raw or external sizes are below 1 GB. */
    public static final int SIZE_MASK = (1 << 30) - 1;

    /** TOAST_PGLZ_COMPRESSION_ID. */
    public static final int METHOD_PGLZ = 0;

    /** TOAST_LZ4_COMPRESSION_ID. */
    public static final int METHOD_LZ4 = 1;

    private Varlena() {}

    /** 1B: the payload follows the first byte. */
    public static boolean isShort(byte[] bytes, int offset) {
        int first = bytes[offset];
        return (first & 1) != 0 && first != 1;
    }

    /** 1B_E: the value is elsewhere. */
    public static boolean isExternal(byte[] bytes, int offset) {
        return bytes[offset] == 1;
    }

    /** 4B_C: the value is here, compressed. */
    public static boolean isCompressed(byte[] bytes, int offset) {
        return (bytes[offset] & 3) == 2;
    }

    /** Whether the payload can be read in place: neither compressed nor external. */
    public static boolean isPlain(byte[] bytes, int offset) {
        int first = bytes[offset];
        return (first & 3) == 0 || ((first & 1) != 0 && first != 1);
    }

    /**
     * VARSIZE_ANY: header and payload, checked to lie before {@code limit}.
     *
     * @throws QuarantineException if the header is cut, lies, or has an unknown external tag
     */
    public static int totalLength(byte[] bytes, int offset, int limit) {
        if (offset < limit) {
            int first = bytes[offset];
            int total;
            int least;
            if ((first & 1) == 0) {
                if (limit - offset < HEADER_LENGTH) {
                    throw malformed(bytes, offset, limit, "a 4-byte header");
                }
                total = LittleEndian.getInt(bytes, offset) >>> 2;
                least = (first & 2) == 0 ? HEADER_LENGTH : COMPRESSED_HEADER_LENGTH;
            } else if (first != 1) {
                total = (first & 0xFF) >>> 1;
                least = SHORT_HEADER_LENGTH;
            } else {
                if (limit - offset < 2 || bytes[offset + 1] != TAG_ON_DISK) {
                    throw malformed(bytes, offset, limit, "an on-disk TOAST pointer (tag 18)");
                }
                total = ToastPointer.LENGTH;
                least = total;
            }
            if (total >= least && total <= limit - offset) {
                return total;
            }
        }
        throw malformed(bytes, offset, limit, "a varlena that ends inside its tuple");
    }

    /** Where a plain datum's payload starts. */
    public static int payloadOffset(byte[] bytes, int offset) {
        return offset + ((bytes[offset] & 1) != 0 ? SHORT_HEADER_LENGTH : HEADER_LENGTH);
    }

    /** A plain datum's payload length, given its checked {@code totalLength}. */
    public static int payloadLength(byte[] bytes, int offset, int totalLength) {
        return totalLength - ((bytes[offset] & 1) != 0 ? SHORT_HEADER_LENGTH : HEADER_LENGTH);
    }

    /** The decompressed payload length of a compressed datum. */
    public static int compressedRawSize(byte[] bytes, int offset) {
        return LittleEndian.getInt(bytes, offset + HEADER_LENGTH) & SIZE_MASK;
    }

    /** The method of a compressed datum: {@link #METHOD_PGLZ}, {@link #METHOD_LZ4} or unknown. */
    public static int compressedMethod(byte[] bytes, int offset) {
        return LittleEndian.getInt(bytes, offset + HEADER_LENGTH) >>> 30;
    }

    private static QuarantineException malformed(
            byte[] bytes, int offset, int limit, String expected) {
        String found = offset < limit ? "0x" + Integer.toHexString(bytes[offset] & 0xFF) : "none";
        return new QuarantineException(
                PostgresCodes.MALFORMED_VARLENA,
                "malformed varlena: expected "
                        + expected
                        + ", found first byte "
                        + found
                        + " at buffer offset "
                        + offset
                        + " with "
                        + (limit - offset)
                        + " bytes left. The source's data or the WAL is damaged:"
                        + " check it with pg_amcheck.");
    }
}
