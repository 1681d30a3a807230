package dev.walshadow.postgres.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The segment files of one SLRU directory, each read when first asked for and then kept. A segment
 * has 32 pages of 8192 bytes and a name of four hexadecimal digits (more where needed). Source:
 * {@code src/backend/access/transam/slru.c}, PostgreSQL 15-18. Not thread safe.
 */
public final class SlruSegments {
    static final int PAGE_SIZE = 8192;
    static final int PAGES_PER_SEGMENT = 32;

    /** Gives a segment file's bytes, or null if there is no such file. */
    @FunctionalInterface
    public interface Source {
        byte @Nullable [] read(String fileName);
    }

    private static final byte[] ABSENT = new byte[0];

    private final Source source;
    private final Map<Long, byte[]> segments = new HashMap<>();

    public SlruSegments(Source source) {
        this.source = source;
    }

    /** The segments in a directory such as {@code pg_xact}. */
    public static SlruSegments in(Path directory) {
        return new SlruSegments(fileName -> {
            try {
                return Files.readAllBytes(directory.resolve(fileName));
            } catch (NoSuchFileException e) {
                return null;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    static String fileName(long segment) {
        return String.format(Locale.ROOT, "%04X", segment);
    }

    /** The segment that holds a page, or an empty array if there is no such file. */
    byte[] segmentOf(long page) {
        return segments.computeIfAbsent(
                page / PAGES_PER_SEGMENT,
                segment -> {
                    byte[] bytes = source.read(fileName(segment));
                    return bytes == null ? ABSENT : bytes;
                });
    }

    /** Where a page starts in its segment. */
    static int pageStart(long page) {
        return (int) (page % PAGES_PER_SEGMENT) * PAGE_SIZE;
    }
}
