package dev.walshadow.shadow;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitOption;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Makes one folder hold the files of another, in which a server may be writing, and may remove
 * files, meanwhile. A file that has the original's size and modification time is not copied again:
 * it got that time with the content, and whoever writes to it changes it. A file that was written
 * to moments ago is copied until it equals the original, and does not get its time, which need not
 * tell a later write.
 */
final class FileMirror {
    private static final Duration SETTLED = Duration.ofSeconds(2);
    private static final int ATTEMPTS = 100;
    private static final FileTime UNKNOWN = FileTime.fromMillis(0);

    private final Path from;
    private final Path to;
    private final Options options;
    private final Map<Path, BasicFileAttributes> found = new HashMap<>();
    private int copied;

    /**
     * Paths are relative to the folders.
     *
     * @param wanted files; what else there is in the mirror is removed
     * @param linked wanted files that neither side writes to while the mirror is in use: they
     *     become hard links where the file system can
     */
    record Options(Predicate<Path> wanted, Predicate<Path> linked, ServerUser user) {}

    private FileMirror(Path from, Path to, Options options) {
        this.from = from;
        this.to = to;
        this.options = options;
    }

    /** Returns how many files it had to copy; {@code to} is made if it is missing. */
    static int update(Path from, Path to, Options options) throws IOException {
        FileMirror mirror = new FileMirror(from, to, options);
        options.user().ownDirectory(to);
        Files.walkFileTree(to, mirror.new Finding());
        Files.walkFileTree(
                from,
                EnumSet.of(FileVisitOption.FOLLOW_LINKS),
                Integer.MAX_VALUE,
                mirror.new Copying());
        for (Path left :
                mirror.found.keySet().stream().sorted(Comparator.reverseOrder()).toList()) {
            Files.delete(to.resolve(left));
        }
        return mirror.copied;
    }

    /** What the mirror has. */
    private final class Finding extends SimpleFileVisitor<Path> {
        @Override
        public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
            found.put(to.relativize(directory), attributes);
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            found.put(to.relativize(file), attributes);
            return FileVisitResult.CONTINUE;
        }
    }

    /** What vanishes meanwhile is not wanted. */
    private final class Copying extends SimpleFileVisitor<Path> {
        @Override
        public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
                throws IOException {
            Path relative = from.relativize(directory);
            if (found.remove(relative) == null) {
                options.user().ownDirectory(to.resolve(relative));
            }
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                throws IOException {
            Path relative = from.relativize(file);
            if (options.wanted().test(relative)) {
                BasicFileAttributes had = found.remove(relative);
                try {
                    take(file, attributes, had);
                } catch (NoSuchFileException e) {
                    Files.deleteIfExists(to.resolve(relative));
                }
            }
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            return postVisitDirectory(file, e);
        }

        @Override
        public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException e)
                throws IOException {
            if (e != null && !(e instanceof NoSuchFileException)) {
                throw e;
            }
            return FileVisitResult.CONTINUE;
        }
    }

    private void take(Path file, BasicFileAttributes is, @Nullable BasicFileAttributes had)
            throws IOException {
        Path relative = from.relativize(file);
        Path copy = to.resolve(relative);
        if (options.linked().test(relative)) {
            if (had == null || !Objects.equals(had.fileKey(), is.fileKey())) {
                link(file, copy);
            }
        } else if (had == null
                || had.size() != is.size()
                || !had.lastModifiedTime().equals(is.lastModifiedTime())) {
            copy(file, copy);
        }
    }

    private void link(Path file, Path copy) throws IOException {
        Files.deleteIfExists(copy);
        try {
            Files.createLink(copy, file);
        } catch (FileSystemException | UnsupportedOperationException e) {
            copy(file, copy);
        }
    }

    private void copy(Path file, Path copy) throws IOException {
        copied++;
        FileTime settled = FileTime.from(Instant.now().minus(SETTLED));
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            // the old file goes first: nothing is ever written through a link
            Files.copy(
                    file,
                    copy,
                    StandardCopyOption.REPLACE_EXISTING,
                    StandardCopyOption.COPY_ATTRIBUTES);
            if (Files.getLastModifiedTime(file).compareTo(settled) < 0) {
                return;
            }
            if (Files.mismatch(file, copy) < 0) {
                Files.setLastModifiedTime(copy, UNKNOWN);
                return;
            }
        }
        throw new IOException(file + " changes all the time");
    }
}
