package dev.walshadow.source.store;

import com.github.luben.zstd.ZstdInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import java.util.zip.GZIPInputStream;
import net.jpountz.lz4.LZ4FrameInputStream;
import org.brotli.dec.BrotliInputStream;
import org.tukaani.xz.LZMAInputStream;

/**
 * How wal-g compresses an object, told by the end of its name. After {@code internal/compression}
 * of wal-g: lz4 frames, zstd, LZMA alone, gzip, brotli, or nothing. Its lzo is only of old backups.
 */
public enum Compression {
    LZ4("lz4"),
    ZSTD("zst"),
    LZMA("lzma"),
    GZIP("gz"),
    BROTLI("br"),
    NONE("");

    /** Dictionaries larger than wal-g's own would be a way to exhaust the memory. */
    private static final int LZMA_KILOBYTES = 256 << 10;

    private static final int GZIP_BUFFER = 64 << 10;

    private final String extension;

    Compression(String extension) {
        this.extension = extension;
    }

    /** What wal-g appends to a name, with its dot. */
    public String suffix() {
        return extension.isEmpty() ? "" : "." + extension;
    }

    /** Of the extension without a dot; empty if walshadow does not know it. */
    public static Optional<Compression> ofExtension(String extension) {
        for (Compression each : values()) {
            if (each.extension.equals(extension)) {
                return Optional.of(each);
            }
        }
        return Optional.empty();
    }

    /** Reads what was compressed. Bytes that are no such stream make it throw IOException. */
    InputStream open(InputStream compressed) throws IOException {
        return switch (this) {
            case LZ4 -> new LZ4FrameInputStream(compressed);
            case ZSTD -> new ZstdInputStream(compressed);
            case LZMA -> new LZMAInputStream(compressed, LZMA_KILOBYTES);
            case GZIP -> new GZIPInputStream(compressed, GZIP_BUFFER);
            case BROTLI -> new BrotliInputStream(compressed);
            case NONE -> compressed;
        };
    }
}
