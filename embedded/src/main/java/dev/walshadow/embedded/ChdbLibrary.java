package dev.walshadow.embedded;

import dev.walshadow.base.ConfigurationException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Finds {@code libchdb.so}, the ClickHouse engine as a library. Looked for in this order: the
 * system property {@code walshadow.libchdb} or the variable {@code WALSHADOW_LIBCHDB} (the file);
 * the {@linkplain CacheDirectory cache}, where {@code embedded/libchdb/install} puts it; {@code
 * node_modules} beside that script, for who ran {@code npm ci} there.
 */
public final class ChdbLibrary {
    /** Pinned here and in {@code embedded/libchdb/package.json}. */
    static final String VERSION = "26.7.3-stable.1";

    private static final Path INSIDE_INSTALLATION =
            Path.of("node_modules", "@chdb", "lib-linux-x64-gnu", "libchdb.so");

    private ChdbLibrary() {}

    public static Path find() {
        String configured = CacheDirectory.setting("walshadow.libchdb", "WALSHADOW_LIBCHDB");
        if (configured != null) {
            return require(Path.of(configured));
        }
        Path cached = CacheDirectory.path().resolve("libchdb-" + VERSION);
        Path inCache = cached.resolve(INSIDE_INSTALLATION);
        if (Files.isRegularFile(inCache)) {
            return inCache;
        }
        Path module = EmbeddedPostgresBinaries.ownLocation().resolve("../..").normalize();
        Path inProject = module.resolve("libchdb").resolve(INSIDE_INSTALLATION);
        return Files.isRegularFile(inProject) ? inProject : require(inCache);
    }

    private static Path require(Path file) {
        if (!Files.isRegularFile(file)) {
            throw new ConfigurationException(
                    EmbeddedCodes.LIBRARY_MISSING,
                    "expected the ClickHouse engine at "
                            + file
                            + ", found nothing; run ./build or embedded/libchdb/install once (they"
                            + " fetch it with npm), or set WALSHADOW_LIBCHDB to a libchdb.so "
                            + VERSION);
        }
        return file;
    }
}
