package dev.walshadow.embedded;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.FileTree;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;

/**
 * Where unpacked servers and libraries live between runs and across clones: the system property
 * {@code walshadow.cache}, the variable {@code WALSHADOW_CACHE}, else {@code /var/cache/walshadow}
 * for root (an unprivileged user must be able to read it) and {@code $XDG_CACHE_HOME/walshadow} or
 * {@code ~/.cache/walshadow} for everybody else.
 */
public final class CacheDirectory {
    private static final Object ONE_FILLER = new Object();

    private CacheDirectory() {}

    /** What fills a directory that does not exist yet. */
    @FunctionalInterface
    interface Filler {
        void fill(Path emptyDirectory) throws IOException;
    }

    public static Path path() {
        String configured = setting("walshadow.cache", "WALSHADOW_CACHE");
        if (configured != null) {
            return Path.of(configured).toAbsolutePath();
        }
        if (UnprivilegedUser.needed()) {
            return Path.of("/var/cache/walshadow");
        }
        String cacheHome = System.getenv("XDG_CACHE_HOME");
        if (cacheHome != null && !cacheHome.isEmpty()) {
            return Path.of(cacheHome, "walshadow");
        }
        return Path.of(System.getProperty("user.home"), ".cache", "walshadow");
    }

    static @Nullable String setting(String property, String variable) {
        String value = System.getProperty(property);
        if (value == null || value.isEmpty()) {
            value = System.getenv(variable);
        }
        return value == null || value.isEmpty() ? null : value;
    }

    /**
     * The entry {@code name}, filled once: the filler works in a directory beside it, which is then
     * renamed. Safe against other threads and other processes.
     */
    static Path entry(String name, Filler filler) {
        Path cache = path();
        Path entry = cache.resolve(name);
        if (Files.isDirectory(entry)) {
            return entry;
        }
        synchronized (ONE_FILLER) {
            try {
                Files.createDirectories(cache);
                if (UnprivilegedUser.needed()) {
                    Files.setPosixFilePermissions(
                            cache, PosixFilePermissions.fromString("rwxr-xr-x"));
                }
                fillUnderLock(entry, filler);
            } catch (IOException e) {
                throw new ConfigurationException(
                        EmbeddedCodes.FILES,
                        "cannot fill "
                                + entry
                                + ": "
                                + e
                                + "; make it writable, or set WALSHADOW_CACHE to a writable folder"
                                + " that every user can traverse",
                        e);
            }
        }
        return entry;
    }

    private static void fillUnderLock(Path entry, Filler filler) throws IOException {
        Path lockFile = entry.resolveSibling("." + entry.getFileName() + ".lock");
        try (FileChannel channel =
                        FileChannel.open(
                                lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = channel.lock()) {
            if (!lock.isValid() || Files.isDirectory(entry)) {
                return;
            }
            Path beside = entry.resolveSibling("." + entry.getFileName() + ".new");
            deleteTree(beside);
            Files.createDirectory(
                    beside,
                    PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rwxr-xr-x")));
            filler.fill(beside);
            Files.move(beside, entry, StandardCopyOption.ATOMIC_MOVE);
        }
    }

    /** Deletes a directory with everything in it; nothing happens where there is none. */
    static void deleteTree(Path root) {
        try {
            FileTree.delete(root);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
