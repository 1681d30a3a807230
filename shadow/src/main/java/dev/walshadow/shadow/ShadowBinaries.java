package dev.walshadow.shadow;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds the server binaries for the shadow. Only {@code postgres} itself is needed: the shadow's
 * data directory comes from a base backup, and its processes are started and signalled directly.
 */
public final class ShadowBinaries {
    private static final Pattern VERSION = Pattern.compile("\\(PostgreSQL\\) (\\d+)");

    /** What has answered, so that a start asks each program once. */
    private static final Map<Program, Integer> MAJORS = new ConcurrentHashMap<>();

    /** The file as it was; another one in its place is asked anew. */
    private record Program(Path path, FileTime modified, long size, String file) {}

    private ShadowBinaries() {}

    /**
     * The directory that holds {@code postgres}: the configured one, else the system's of the same
     * major, else the bundled ones.
     *
     * @throws ConfigurationException when the configured one is not there or of another major
     */
    public static Path find(@Nullable Path configured, int major, Supplier<Path> bundled) {
        if (configured != null) {
            requireMajor(configured, major);
            return configured;
        }
        for (Path candidate : systemDirectories(major)) {
            OptionalInt found = major(candidate);
            if (found.isPresent() && found.getAsInt() == major) {
                return candidate;
            }
        }
        Path directory = bundled.get();
        requireMajor(directory, major);
        return directory;
    }

    private static void requireMajor(Path directory, int major) {
        OptionalInt found = major(directory);
        if (found.isEmpty() || found.getAsInt() != major) {
            throw new ConfigurationException(
                    ShadowCodes.BINARIES_MISSING,
                    "expected the binaries of PostgreSQL "
                            + major
                            + " (the source's major) in "
                            + directory
                            + ", found "
                            + (found.isPresent()
                                    ? "those of " + found.getAsInt()
                                    : "no postgres that runs")
                            + "; install postgresql-"
                            + major
                            + " or name the directory that holds its postgres");
        }
    }

    /** Major version of the {@code postgres} in a directory; empty if none runs there. */
    static OptionalInt major(Path directory) {
        Path postgres = directory.resolve("postgres");
        if (!Files.isExecutable(postgres)) {
            return OptionalInt.empty();
        }
        Program program = program(postgres);
        Integer known = MAJORS.get(program);
        if (known != null) {
            return OptionalInt.of(known);
        }
        Matcher version =
                VERSION.matcher(
                        SystemCommands.run(List.of(postgres.toString(), "--version")).output());
        if (!version.find()) {
            return OptionalInt.empty();
        }
        int major = Integer.parseInt(version.group(1));
        MAJORS.put(program, major);
        return OptionalInt.of(major);
    }

    private static Program program(Path postgres) {
        try {
            BasicFileAttributes is = Files.readAttributes(postgres, BasicFileAttributes.class);
            return new Program(
                    postgres, is.lastModifiedTime(), is.size(), String.valueOf(is.fileKey()));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot look at " + postgres, e);
        }
    }

    /** Debian, Red Hat, Homebrew, Alpine; then whatever PATH holds. */
    private static List<Path> systemDirectories(int major) {
        List<Path> directories = new ArrayList<>();
        directories.add(Path.of("/usr/lib/postgresql/" + major + "/bin"));
        directories.add(Path.of("/usr/pgsql-" + major + "/bin"));
        directories.add(Path.of("/opt/homebrew/opt/postgresql@" + major + "/bin"));
        directories.add(Path.of("/usr/libexec/postgresql" + major));
        for (String entry : System.getenv().getOrDefault("PATH", "").split(":", -1)) {
            if (!entry.isEmpty()) {
                directories.add(Path.of(entry));
            }
        }
        return directories;
    }
}
