package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.PostgresCodes;

/**
 * PostgreSQL's own LZ compression, decompression only.
 *
 * <pre>
 * control byte, least significant bit first: 0 = one literal byte, 1 = a match tag
 * tag byte 0: offset, high 4 bits &lt;&lt; 4 | length - 3 (0..15)
 * tag byte 1: offset, low 8 bits
 * if length - 3 was 15: tag byte 2 is added to the length (up to 273)
 * </pre>
 *
 * Source: {@code pglz_decompress} in {@code src/common/pg_lzcompress.c}, PostgreSQL 15-18.
 */
public final class Pglz {
    private Pglz() {}

    /**
     * Appends exactly {@code rawSize} decompressed bytes.
     *
     * @throws QuarantineException if the bytes do not decompress to exactly that size
     */
    public static void decompress(
            byte[] source, int offset, int length, int rawSize, ByteBuilder out) {
        if (rawSize < 0 || length < 0 || offset < 0 || length > source.length - offset) {
            throw malformed(offset, length, rawSize);
        }
        // a control byte and its 8 tags of 3 bytes make at most 8 * 273 bytes
        if (rawSize > (long) length * 273) {
            throw malformed(offset, length, rawSize);
        }
        out.ensure(rawSize);
        byte[] target = out.array();
        int start = out.length();
        int end = start + rawSize;
        if (expand(source, offset, offset + length, target, start, end) != length) {
            throw malformed(offset, length, rawSize);
        }
        out.setLength(end);
    }

    /**
     * Appends the first {@code count} decompressed bytes.
     *
     * @param length bytes of the beginning of the source; what follows them is not needed
     */
    public static void decompressPrefix(
            byte[] source, int offset, int length, int count, ByteBuilder out) {
        out.ensure(count);
        int start = out.length();
        int end = start + count;
        if (expand(source, offset, offset + length, out.array(), start, end) < 0) {
            throw malformed(offset, length, count);
        }
        out.setLength(end);
    }

    /** Returns how much of the source made the target full, or -1 if it did not. */
    private static int expand(
            byte[] source, int from, int limit, byte[] target, int start, int end) {
        int sp = from;
        int dp = start;
        while (sp < limit && dp < end) {
            int control = source[sp++];
            for (int bit = 0; bit < 8 && sp < limit && dp < end; bit++, control >>= 1) {
                if ((control & 1) == 0) {
                    target[dp++] = source[sp++];
                    continue;
                }
                if (limit - sp < 2) {
                    return -1;
                }
                int tag = source[sp];
                int distance = (tag & 0xF0) << 4 | (source[sp + 1] & 0xFF);
                int count = (tag & 0x0F) + 3;
                sp += 2;
                if (count == 18) {
                    if (sp >= limit) {
                        return -1;
                    }
                    count += source[sp++] & 0xFF;
                }
                if (distance == 0 || distance > dp - start) {
                    return -1;
                }
                count = Math.min(count, end - dp);
                copy(target, dp, distance, count);
                dp += count;
            }
        }
        return dp == end ? sp - from : -1;
    }

    /** A match may overlap what it produces: it then repeats. */
    private static void copy(byte[] target, int at, int distance, int count) {
        if (distance >= count) {
            System.arraycopy(target, at - distance, target, at, count);
            return;
        }
        for (int i = 0; i < count; i++) {
            target[at + i] = target[at + i - distance];
        }
    }

    private static QuarantineException malformed(int offset, int length, int rawSize) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_COMPRESSION,
                "malformed pglz data: expected "
                        + length
                        + " bytes at buffer offset "
                        + offset
                        + " to decompress to exactly "
                        + rawSize
                        + " bytes. The source's data or the WAL is damaged: check it with"
                        + " pg_amcheck.");
    }
}
