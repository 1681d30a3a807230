package dev.walshadow.daemon.state;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.FileTree;
import dev.walshadow.daemon.DaemonCodes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directory of everything that survives a restart. One daemon at a time holds its {@code lock}
 * (the kernel gives it back when the process dies).
 *
 * <pre>
 * lock           held while a daemon runs
 * manifest.toml  identity of the source, positions
 * source-settings.toml    what the configuration tables in the source say
 * tables.toml    tables that were added and removed by command
 * sequences.toml last values of sequences
 * paused.toml    there while an operator wants ClickHouse left alone
 * desclog/       relation shapes by position
 * spill/         transactions past the memory budget; emptied at start
 * archive/       filtered WAL segments for the shadow
 * wal/           the source's own WAL, as far as [wal] spool_max allows
 * deferred/      rows of the initial load whose transactions are still open
 * shadow/        the shadow's data directory
 * scratch/       data directory of a server that prints values of extensions' types, if needed
 * seed/          a server of the backup's catalogs, while the first load from an archive runs
 * archive.toml   what an attach to an archive found out about its source
 * run/           sockets
 * </pre>
 */
public final class StateDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StateDirectory.class);

    /**
     * A socket's path may have 107 bytes; the longest name inside is {@code .s.PGSQL.65535.lock}.
     */
    private static final int RUN_PATH_LIMIT = 80;

    /** Everything but the lock and the sockets. */
    private static final List<String> NAMES =
            List.of(
                    "manifest.toml",
                    "initial-load.toml",
                    "tables.toml",
                    "sequences.toml",
                    "paused.toml",
                    "source-settings.toml",
                    "desclog",
                    "spill",
                    "archive",
                    "wal",
                    "deferred",
                    "waiting",
                    "scratch",
                    "seed",
                    "archive.toml",
                    "shadow",
                    "shadow-promoted");

    private final Path root;
    private final @Nullable Held held;

    /** What this process made here, outer directories first. */
    private final List<Path> made;

    private StateDirectory(Path root, @Nullable Held held, List<Path> made) {
        this.root = root;
        this.held = held;
        this.made = made;
    }

    /**
     * The lock. The kernel gives it back as soon as the process closes any channel of the file, so
     * all of them stay open.
     *
     * @param witness reads the file that has the name
     */
    private record Held(FileChannel channel, FileLock lock, FileChannel witness) {}

    /** Creates what is missing and takes the lock. */
    public static StateDirectory open(Path root) {
        Path absolute = root.toAbsolutePath().normalize();
        List<Path> made = new ArrayList<>();
        try {
            make(absolute, made);
            refuseForeign(absolute);
            Path file = absolute.resolve("lock");
            Held held = take(openLock(file, made), file);
            while (held == null) {
                // a start that was refused has removed the file meanwhile: this is another one now
                held = take(openLock(file, made), file);
            }
            for (String name : new String[] {"desclog", "spill", "archive", "wal", "deferred"}) {
                make(absolute.resolve(name), made);
            }
            make(run(absolute), made);
            return new StateDirectory(absolute, held, made);
        } catch (OverlappingFileLockException e) {
            throw inUse(absolute, e);
        } catch (IOException e) {
            remove(made);
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

    private static void make(Path directory, List<Path> made) throws IOException {
        if (Files.isDirectory(directory)) {
            return;
        }
        Path parent = directory.getParent();
        if (parent != null) {
            make(parent, made);
        }
        Files.createDirectory(directory);
        made.add(directory);
    }

    private static FileChannel openLock(Path file, List<Path> made) throws IOException {
        if (!Files.exists(file)) {
            made.add(file);
        }
        return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }

    /** Null if the locked file is not the one of that name any more; see {@link #undo}. */
    private static @Nullable Held take(FileChannel channel, Path file) throws IOException {
        FileLock lock;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException e) {
            channel.close();
            throw e;
        }
        if (lock == null) {
            channel.close();
            throw inUse(Objects.requireNonNull(file.getParent()), null);
        }
        byte[] owner = UUID.randomUUID().toString().getBytes(StandardCharsets.US_ASCII);
        channel.truncate(0);
        channel.write(ByteBuffer.wrap(owner), 0);
        FileChannel witness = openIfThere(file);
        if (witness != null && Arrays.equals(owner, content(witness))) {
            return new Held(channel, lock, witness);
        }
        channel.close();
        if (witness != null) {
            witness.close();
        }
        return null;
    }

    private static @Nullable FileChannel openIfThere(Path file) throws IOException {
        try {
            return FileChannel.open(file, StandardOpenOption.READ);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private static byte[] content(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(channel.size(), 1024));
        while (bytes.hasRemaining() && channel.read(bytes) >= 0) {
            // until the end
        }
        return Arrays.copyOf(bytes.array(), bytes.position());
    }

    private static void remove(List<Path> made) {
        for (Path path : made.reversed()) {
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                LOG.debug("left behind after a refused start: {}", e.toString());
            }
        }
    }

    /** To look at, whether it exists or not and whoever uses it; nothing is created. */
    public static StateDirectory unlocked(Path root) {
        return new StateDirectory(root.toAbsolutePath().normalize(), null, List.of());
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

    /** Those that this process writes to; they need not be there yet. */
    public List<Path> directories() {
        return List.of(descriptorLog(), spill(), archive(), spool(), deferred());
    }

    public Path manifest() {
        return root.resolve("manifest.toml");
    }

    /** What an initial load that is not done goes by. */
    public Path loadStart() {
        return root.resolve("initial-load.toml");
    }

    public Path tableDecisions() {
        return root.resolve("tables.toml");
    }

    public Path sourceSettings() {
        return sourceSettings(root);
    }

    /** Of a state directory that nobody has opened. */
    public static Path sourceSettings(Path root) {
        return root.resolve("source-settings.toml");
    }

    public Path sequences() {
        return root.resolve("sequences.toml");
    }

    public Path pause() {
        return root.resolve("paused.toml");
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

    public Path spool() {
        return root.resolve("wal");
    }

    public Path deferred() {
        return root.resolve("deferred");
    }

    /** Which transactions an initial load that is done still waits for. */
    public Path openAtStart() {
        return deferred().resolve("open");
    }

    /** Data directory of the server that prints values of extensions' types. */
    public Path scratch() {
        return root.resolve("scratch");
    }

    /** The server that has the catalogs of a backup. */
    public Path seed() {
        return root.resolve("seed");
    }

    public Path seedRun() {
        return run().resolve("seed");
    }

    /** What is known of a source that cannot be asked. */
    public Path sourceFacts() {
        return root.resolve("archive.toml");
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

    /** Whether walshadow has made this directory its own. */
    public static boolean isOne(Path root) {
        return Files.isRegularFile(root.resolve("lock"));
    }

    /**
     * Deletes what walshadow keeps here, the lock last, and the directory unless it holds something
     * else. The lock is held.
     */
    public void delete() throws IOException {
        for (String name : NAMES) {
            FileTree.delete(root.resolve(name));
        }
        FileTree.delete(run(root));
        close();
        Files.deleteIfExists(root.resolve("lock"));
        try (Stream<Path> left = Files.list(root)) {
            if (left.findAny().isPresent()) {
                return;
            }
        }
        Files.delete(root);
    }

    /** Closes it and leaves it as it was found: the start was refused, so nothing is changed. */
    public void undo() throws IOException {
        remove(made);
        close();
    }

    @Override
    public void close() throws IOException {
        if (held != null && held.lock().isValid()) {
            held.lock().release();
            held.channel().close();
            held.witness().close();
        }
    }
}
