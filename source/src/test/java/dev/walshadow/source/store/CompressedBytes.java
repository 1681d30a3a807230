package dev.walshadow.source.store;

import com.github.luben.zstd.ZstdOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.GZIPOutputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;
import org.tukaani.xz.LZMA2Options;
import org.tukaani.xz.LZMAOutputStream;

/** Compresses as wal-g does. */
final class CompressedBytes {
    private static final int STORED_MOST = 1 << 16;

    private CompressedBytes() {}

    static byte[] of(Compression how, byte[] plain) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        if (how == Compression.BROTLI) {
            storeAsBrotli(plain, out);
            return out.toByteArray();
        }
        try (OutputStream into = open(how, out)) {
            into.write(plain);
        }
        return out.toByteArray();
    }

    private static OutputStream open(Compression how, OutputStream out) throws IOException {
        return switch (how) {
            case LZ4 -> new LZ4FrameOutputStream(out);
            case ZSTD -> new ZstdOutputStream(out);
            case LZMA -> new LZMAOutputStream(out, new LZMA2Options(1), -1);
            case GZIP -> new GZIPOutputStream(out);
            case BROTLI, NONE -> out;
        };
    }

    /**
     * RFC 7932: a window of 16 bits, meta-blocks of stored bytes, an empty last one. Nobody encodes
     * brotli in Java.
     */
    private static void storeAsBrotli(byte[] plain, ByteArrayOutputStream out) {
        for (int at = 0; at < plain.length; at += STORED_MOST) {
            int length = Math.min(STORED_MOST, plain.length - at);
            // the first block's header has the window's bit in front
            int header = ((length - 1) << 3) | (1 << 19);
            int bits = at == 0 ? header << 1 : header;
            for (int i = 0; i < 3; i++) {
                out.write(bits >>> (8 * i));
            }
            out.write(plain, at, length);
        }
        out.write(3);
    }
}
