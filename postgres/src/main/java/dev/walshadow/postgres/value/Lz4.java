package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.PostgresCodes;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;
import org.jspecify.annotations.Nullable;

/** Raw LZ4 blocks as TOAST and WAL page images hold them. */
public final class Lz4 {
    private static final LZ4SafeDecompressor DECOMPRESSOR =
            LZ4Factory.fastestInstance().safeDecompressor();

    private Lz4() {}

    /**
     * Appends exactly {@code rawSize} decompressed bytes.
     *
     * @throws QuarantineException if the bytes do not decompress to exactly that size
     */
    public static void decompress(
            byte[] source, int offset, int length, int rawSize, ByteBuilder out) {
        // a block expands at most 255 times
        if (offset < 0
                || length < 0
                || length > source.length - offset
                || rawSize < 0
                || rawSize > (length + 1) * 255L) {
            throw malformed(offset, length, rawSize, null);
        }
        out.ensure(rawSize);
        int written;
        try {
            written =
                    DECOMPRESSOR.decompress(
                            source, offset, length, out.array(), out.length(), rawSize);
        } catch (LZ4Exception e) {
            throw malformed(offset, length, rawSize, e);
        }
        if (written != rawSize) {
            throw malformed(offset, length, rawSize, null);
        }
        out.setLength(out.length() + written);
    }

    /**
     * Appends the first {@code count} decompressed bytes. Block format: token (literals &lt;&lt; 4
     * | match - 4, 15 each continued by bytes up to one below 255), literals, u16 distance.
     *
     * @param length bytes of the beginning of the source; what follows them is not needed
     */
    public static void decompressPrefix(
            byte[] source, int offset, int length, int count, ByteBuilder out) {
        out.ensure(count);
        byte[] target = out.array();
        int start = out.length();
        int end = start + count;
        Sequences in = new Sequences(source, offset, offset + length);
        int to = start;
        while (to < end && in.at < in.limit) {
            int token = source[in.at++];
            int literals = Math.min(in.count(token >>> 4 & 15), end - to);
            if (literals < 0 || literals > in.limit - in.at) {
                break;
            }
            System.arraycopy(source, in.at, target, to, literals);
            in.at += literals;
            to += literals;
            if (to == end || in.limit - in.at < Short.BYTES) {
                break;
            }
            int distance = LittleEndian.getUnsignedShort(source, in.at);
            in.at += Short.BYTES;
            int match = Math.min(in.count(token & 15) + 4, end - to);
            if (distance == 0 || distance > to - start || match < 0) {
                break;
            }
            for (; match > 0; match--, to++) {
                target[to] = target[to - distance];
            }
        }
        if (to != end) {
            throw malformed(offset, length, count, null);
        }
        out.setLength(end);
    }

    /** A place in a block. */
    private static final class Sequences {
        private final byte[] bytes;
        private final int limit;
        private int at;

        Sequences(byte[] bytes, int at, int limit) {
            this.bytes = bytes;
            this.at = at;
            this.limit = limit;
        }

        /** A count of which the token has this; negative if it is cut off. */
        int count(int nibble) {
            int count = nibble;
            int more = nibble == 15 ? 255 : 0;
            while (more == 255) {
                if (at >= limit) {
                    return Integer.MIN_VALUE;
                }
                more = bytes[at++] & 0xFF;
                count += more;
            }
            return count;
        }
    }

    private static QuarantineException malformed(
            int offset, int length, int rawSize, @Nullable Throwable cause) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_COMPRESSION,
                "malformed lz4 data: expected "
                        + length
                        + " bytes at buffer offset "
                        + offset
                        + " to decompress to exactly "
                        + rawSize
                        + " bytes. The source's data or the WAL is damaged: check it with"
                        + " pg_amcheck.",
                cause);
    }
}
