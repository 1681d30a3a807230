package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
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
