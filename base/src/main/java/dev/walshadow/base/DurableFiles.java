package dev.walshadow.base;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Objects;

/** Durable file replacement: write beside, fsync, rename, fsync of the directory (I11). */
public final class DurableFiles {
    private DurableFiles() {}

    /** Replaces {@code target} atomically; after the return the new content survives a crash. */
    public static void replace(Path target, byte[] bytes, int offset, int length)
            throws IOException {
        Path beside = target.resolveSibling(target.getFileName() + ".tmp");
        try (FileChannel channel =
                FileChannel.open(
                        beside,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.TRUNCATE_EXISTING,
                        StandardOpenOption.WRITE)) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes, offset, length);
            while (buffer.hasRemaining()) {
                channel.write(buffer);
            }
            channel.force(true);
        }
        rename(beside, target);
    }

    public static void replace(Path target, byte[] bytes) throws IOException {
        replace(target, bytes, 0, bytes.length);
    }

    /** Renames a file that has been fsynced already, and fsyncs the directory. */
    public static void rename(Path from, Path to) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        syncDirectory(
                Objects.requireNonNull(to.toAbsolutePath().getParent(), "a file has a directory"));
    }

    public static void syncDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
