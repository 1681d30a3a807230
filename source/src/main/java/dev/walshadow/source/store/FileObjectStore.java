package dev.walshadow.source.store;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A directory as a store: what wal-g writes under {@code WALG_FILE_PREFIX}. */
public final class FileObjectStore implements ObjectStore {
    private final Path root;

    /** Of a directory that exists. */
    public FileObjectStore(Path root) {
        this.root = root.toAbsolutePath().normalize();
    }

    @Override
    public List<StoredObject> list(String folder) {
        Path directory = resolve(folder);
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(Files::isRegularFile)
                    .map(this::describe)
                    .sorted(Comparator.comparing(StoredObject::name))
                    .toList();
        } catch (UncheckedIOException e) {
            throw failed(directory, new IOException(e.getMessage(), e));
        } catch (IOException e) {
            throw failed(directory, e);
        }
    }

    private StoredObject describe(Path file) {
        try {
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            return new StoredObject(
                    root.relativize(file).toString().replace('\\', '/'),
                    attributes.size(),
                    attributes.lastModifiedTime().toInstant());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public @Nullable InputStream open(String name, long offset) throws IOException {
        Path file = resolve(name);
        SeekableByteChannel channel;
        try {
            channel = Files.newByteChannel(file);
        } catch (NoSuchFileException e) {
            return null;
        } catch (IOException e) {
            throw failed(file, e);
        }
        channel.position(offset);
        return Channels.newInputStream(channel);
    }

    /** Names come out of objects' content, too: none of them may lead out of the directory. */
    private Path resolve(String name) {
        Path path;
        try {
            path = root.resolve(name).normalize();
        } catch (InvalidPathException e) {
            throw new ConfigurationException(
                    StoreCodes.BAD_ADDRESS, "no object can have the name " + name, e);
        }
        if (!path.startsWith(root)) {
            throw new ConfigurationException(
                    StoreCodes.BAD_ADDRESS,
                    "the object name " + name + " leads out of " + address());
        }
        return path;
    }

    private static RuntimeException failed(Path file, IOException cause) {
        return cause instanceof AccessDeniedException
                ? new ConfigurationException(
                        StoreCodes.REFUSED,
                        file + " cannot be read: access is denied to the user walshadow runs as",
                        cause)
                : new RetryException(
                        StoreCodes.UNREACHABLE, file + " cannot be read: " + cause, cause);
    }

    @Override
    public String address() {
        return "file://" + root;
    }

    @Override
    public void close() {}
}
