package dev.walshadow.bootstrap.backup;

import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.HaltException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Writes files into the shadow's data directory, one after the other. Each is fsynced beside those
 * that follow, so that a backup does not wait for the disk a thousand times; {@link #finish()}
 * waits for all, and fsyncs the directories. Modes 0700 and 0600; the owner is set by whoever
 * starts the server. For one thread.
 */
public final class DirectoryLander implements AutoCloseable {
    private static final FileAttribute<Set<PosixFilePermission>> DIRECTORY_MODE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final FileAttribute<Set<PosixFilePermission>> FILE_MODE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    /** File systems write what several threads wait for at once. */
    private static final int SYNCS_AT_ONCE = 4;

    /** Files written, but not closed yet. */
    private static final int MOST_WAITING = 64;

    private final Path root;
    private final Set<Path> directories = new LinkedHashSet<>();
    private final Semaphore waiting = new Semaphore(MOST_WAITING);
    private final ExecutorService syncs =
            Executors.newFixedThreadPool(
                    SYNCS_AT_ONCE, Thread.ofPlatform().daemon().name("shadow-files-", 0).factory());
    private final AtomicReference<@Nullable HaltException> failure = new AtomicReference<>();
    private @Nullable FileChannel open;
    private @Nullable Path openPath;

    public DirectoryLander(Path root) {
        this.root = root;
        directories.add(root);
    }

    /** The data directory itself, private as PostgreSQL wants it. */
    static void createRoot(Path root) throws IOException {
        Files.createDirectories(root, DIRECTORY_MODE);
    }

    public void directory(String path) {
        Path directory = root.resolve(path);
        try {
            createDirectories(directory);
        } catch (IOException e) {
            throw cannotWrite(directory, e);
        }
    }

    private void createDirectories(Path directory) throws IOException {
        if (!directories.contains(directory)) {
            Files.createDirectories(directory, DIRECTORY_MODE);
            for (Path at = directory; at != null && !at.equals(root); at = at.getParent()) {
                directories.add(at);
            }
        }
    }

    public void begin(String path) {
        open(path, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE));
    }

    /**
     * A file that comes in pages, over several times; what no page was given of is zeros.
     *
     * @param bytes its whole length
     */
    public void beginPages(String path, long bytes) {
        open(path, Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE));
        FileChannel channel = Objects.requireNonNull(open, "a file has begun");
        try {
            if (channel.size() < bytes) {
                channel.write(ByteBuffer.allocate(1), bytes - 1);
            }
        } catch (IOException e) {
            throw cannotWrite(openPath, e);
        }
    }

    /** What comes next belongs to this position of the file. */
    public void seek(long position) {
        try {
            Objects.requireNonNull(open, "a file has begun").position(position);
        } catch (IOException e) {
            throw cannotWrite(openPath, e);
        }
    }

    private void open(String path, Set<OpenOption> options) {
        Path file = root.resolve(path);
        try {
            Path parent = file.getParent();
            if (parent != null) {
                createDirectories(parent);
            }
            openPath = file;
            open = FileChannel.open(file, options, FILE_MODE);
        } catch (IOException e) {
            throw cannotWrite(file, e);
        }
    }

    public void data(byte[] bytes, int offset, int length) {
        FileChannel channel = open;
        if (channel == null) {
            return;
        }
        try {
            ByteBuffer buffer = ByteBuffer.wrap(bytes, offset, length);
            while (buffer.hasRemaining()) {
                channel.write(buffer);
            }
        } catch (IOException e) {
            throw cannotWrite(openPath, e);
        }
    }

    public void end() throws InterruptedException {
        FileChannel channel = open;
        if (channel == null) {
            return;
        }
        waiting.acquire();
        Path path = openPath;
        syncs.execute(() -> sync(channel, path));
        open = null;
        requireSynced();
    }

    private void sync(FileChannel channel, @Nullable Path path) {
        try (channel) {
            channel.force(true);
        } catch (IOException e) {
            failure.compareAndSet(null, cannotWrite(path, e));
        } finally {
            waiting.release();
        }
    }

    private void requireSynced() {
        HaltException known = failure.get();
        if (known != null) {
            throw known;
        }
    }

    /** After it everything that was laid survives a crash. */
    public void finish() throws InterruptedException {
        waiting.acquire(MOST_WAITING);
        waiting.release(MOST_WAITING);
        requireSynced();
        for (Path directory : directories) {
            try {
                DurableFiles.syncDirectory(directory);
            } catch (IOException e) {
                throw cannotWrite(directory, e);
            }
        }
    }

    @Override
    public void close() {
        syncs.shutdown();
        FileChannel channel = open;
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                throw cannotWrite(openPath, e);
            }
        }
    }

    static HaltException cannotWrite(@Nullable Path path, IOException e) {
        return new HaltException(
                BackupCodes.CANNOT_WRITE,
                "the shadow's file "
                        + path
                        + " cannot be written: "
                        + e
                        + ". Make room or give the rights, then start again: the bootstrap begins"
                        + " anew",
                e);
    }
}
