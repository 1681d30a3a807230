package dev.walshadow.daemon.state;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Locale;
import java.util.Set;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The directory of everything that survives a restart. One daemon at a time holds its {@code lock}
 * (the kernel gives it back when the process dies).
 *
 * <pre>
 * lock           held while a daemon runs
 * manifest.toml  identity of the source, positions
 * desclog/       relation shapes by position
 * spill/         transactions past the memory budget; emptied at start
 * archive/       filtered WAL segments for the shadow
 * deferred/      rows of the initial load whose transactions are still open
 * shadow/        the shadow's data directory
 * run/           sockets
 * </pre>
 */
public final class StateDirectory implements AutoCloseable {
    /**
     * A socket's path may have 107 bytes; the longest name inside is {@code .s.PGSQL.65535.lock}.
     */
    private static final int RUN_PATH_LIMIT = 80;

    private final Path root;
    private final FileChannel channel;
    private final FileLock lock;

    private StateDirectory(Path root, FileChannel channel, FileLock lock) {
        this.root = root;
        this.channel = channel;
        this.lock = lock;
    }

    /** Creates what is missing and takes the lock. */
    public static StateDirectory open(Path root) {
        Path absolute = root.toAbsolutePath().normalize();
        FileChannel channel = null;
        try {
            Files.createDirectories(absolute);
            refuseForeign(absolute);
            channel =
                    FileChannel.open(
                            absolute.resolve("lock"),
                            StandardOpenOption.CREATE,
                            StandardOpenOption.WRITE);
            FileLock lock = channel.tryLock();
            if (lock == null) {
                channel.close();
                throw inUse(absolute, null);
            }
            for (String name : new String[] {"desclog", "spill", "archive", "deferred"}) {
                Files.createDirectories(absolute.resolve(name));
            }
            Files.createDirectories(run(absolute));
            return new StateDirectory(absolute, channel, lock);
        } catch (OverlappingFileLockException e) {
            throw inUse(absolute, e);
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE,
                    "the state directory "
                            + absolute
                            + " cannot be used: "
                            + e
                            + "; give [state] dir a directory that this user may write",
                    e);
        }
    }

    /** What is here is emptied at a first attach, so it must be ours: its lock tells. */
    private static void refuseForeign(Path root) {
        if (Files.exists(root.resolve("lock"))) {
            return;
        }
        for (String name : new String[] {"desclog", "spill", "archive", "deferred", "shadow"}) {
            if (Files.exists(root.resolve(name))) {
                throw new ConfigurationException(
                        DaemonCodes.STATE_FOREIGN,
                        "the directory "
                                + root
                                + " holds "
                                + name
                                + " but no lock file, so it is no state directory of walshadow;"
                                + " give [state] dir an empty directory, or one that walshadow"
                                + " made. Nothing was changed");
            }
        }
    }

    private static ConfigurationException inUse(Path root, @Nullable Throwable cause) {
        return new ConfigurationException(
                DaemonCodes.STATE_IN_USE,
                "the state directory "
                        + root
                        + " is in use by another running walshadow; stop that"
                        + " one, or give this one a [state] dir of its own",
                cause);
    }

    public Path root() {
        return root;
    }

    public Path manifest() {
        return root.resolve("manifest.toml");
    }

    public Path descriptorLog() {
        return root.resolve("desclog");
    }

    public Path spill() {
        return root.resolve("spill");
    }

    public Path archive() {
        return root.resolve("archive");
    }

    public Path deferred() {
        return root.resolve("deferred");
    }

    public Path shadow() {
        return root.resolve("shadow");
    }

    public Path run() {
        return run(root);
    }

    /**
     * Where the sockets of the daemon with this state directory are: {@code run/} inside, or, where
     * a socket's path there would be longer than the kernel takes, a directory of this user in the
     * system's temporary directory, named by a hash of the state directory.
     */
    public static Path run(Path stateDirectory) {
        Path inside = stateDirectory.toAbsolutePath().normalize().resolve("run");
        if (inside.toString().length() <= RUN_PATH_LIMIT) {
            return inside;
        }
        CRC32C crc = new CRC32C();
        crc.update(inside.toString().getBytes(StandardCharsets.UTF_8));
        String name =
                String.format(
                        Locale.ROOT,
                        "walshadow-%s-%08x",
                        System.getProperty("user.name", "user"),
                        crc.getValue());
        return Path.of(System.getProperty("java.io.tmpdir", "/tmp"), name);
    }

    public static Path controlSocket(Path stateDirectory) {
        return run(stateDirectory).resolve("control.sock");
    }

    /**
     * The first directory above (and with) the state directory that others may not traverse, so
     * that the shadow's user could not reach its files; null if there is none.
     */
    public @Nullable Path untraversableParent() throws IOException {
        for (Path path = root; path != null; path = path.getParent()) {
            Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path);
            if (!permissions.contains(PosixFilePermission.OTHERS_EXECUTE)) {
                return path;
            }
        }
        return null;
    }

    @Override
    public void close() throws IOException {
        lock.release();
        channel.close();
    }
}
