package dev.walshadow.embedded;

import dev.walshadow.base.ConfigurationException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Held while a server directory has an owner; the kernel gives it back when the owner dies. */
public final class DirectoryLock implements AutoCloseable {
    private final FileChannel channel;

    private DirectoryLock(FileChannel channel) {
        this.channel = channel;
    }

    /** Fails when somebody else, in this process or another, holds it. */
    public static DirectoryLock take(Path file) {
        try {
            Path parent = file.getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            FileChannel channel =
                    FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            FileLock lock = tryLock(channel);
            if (lock == null) {
                channel.close();
                throw new ConfigurationException(
                        EmbeddedCodes.DIRECTORY_IN_USE,
                        "expected to be the only user of "
                                + parent
                                + ", but another process holds "
                                + file
                                + "; stop it or choose another directory");
            }
            return new DirectoryLock(channel);
        } catch (IOException e) {
            throw new ConfigurationException(
                    EmbeddedCodes.FILES,
                    "expected a directory that this user may write, but "
                            + file
                            + " cannot be used: "
                            + e
                            + "; choose another directory",
                    e);
        }
    }

    private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            return null;
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
