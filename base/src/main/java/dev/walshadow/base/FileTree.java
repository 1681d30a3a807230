package dev.walshadow.base;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** Whole directories. */
public final class FileTree {
    private FileTree() {}

    /** Deletes a directory with everything in it, links as links; nothing where there is none. */
    public static void delete(Path root) throws IOException {
        if (Files.exists(root, LinkOption.NOFOLLOW_LINKS)) {
            delete(root, file -> true);
        }
    }

    /** Deletes everything in a directory. */
    public static void empty(Path root) throws IOException {
        delete(root, file -> !file.equals(root));
    }

    private static void delete(Path root, Predicate<Path> wanted) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.filter(wanted).sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /**
     * Copies a directory with everything in it for which {@code wanted} holds. Of a link to a file
     * the file is copied; what stands in a linked directory is not. Modes stay.
     *
     * @param to may be there when it is a directory, but none of the files may; its parent is made
     */
    public static void copy(Path from, Path to, Predicate<Path> wanted) throws IOException {
        if (!Files.isDirectory(from)) {
            throw new NoSuchFileException(from.toString(), null, "not a directory");
        }
        Path parent = to.getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : (Iterable<Path>) files.filter(wanted)::iterator) {
                Path target = to.resolve(from.relativize(file).toString());
                if (!Files.isDirectory(target)) {
                    Files.copy(file, target);
                }
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }
}
