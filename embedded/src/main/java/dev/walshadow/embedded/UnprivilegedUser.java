package dev.walshadow.embedded;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The user that PostgreSQL's processes run as. PostgreSQL refuses to run as root; when this process
 * is root, its servers run as {@code postgres} where that user exists, else as {@code nobody}. For
 * any other caller nothing changes.
 */
public final class UnprivilegedUser {
    private static final @Nullable UnprivilegedUser INSTANCE = isRoot() ? find() : null;

    private final String user;
    private final long uid;
    private final long gid;
    private final List<String> prefix;

    private UnprivilegedUser(String user, long uid, long gid, List<String> prefix) {
        this.user = user;
        this.uid = uid;
        this.gid = gid;
        this.prefix = prefix;
    }

    /** Whether this process is root and so has to switch. */
    public static boolean needed() {
        return INSTANCE != null;
    }

    /** Name of the user to switch to; empty when no switch is needed. */
    public static Optional<String> name() {
        return INSTANCE == null ? Optional.empty() : Optional.of(INSTANCE.user);
    }

    /**
     * The command as that user would run it. With {@code setpriv} (everywhere on Debian) the
     * process keeps its pid; {@code runuser} and {@code su} put a parent in front of it.
     */
    public static List<String> wrap(List<String> command) {
        if (INSTANCE == null) {
            return command;
        }
        List<String> wrapped = new ArrayList<>(INSTANCE.prefix);
        wrapped.addAll(command);
        return wrapped;
    }

    /** Hands one file or directory over to that user. */
    public static void own(Path path) {
        if (INSTANCE == null) {
            return;
        }
        try {
            Files.setAttribute(path, "unix:uid", (int) INSTANCE.uid, LinkOption.NOFOLLOW_LINKS);
            Files.setAttribute(path, "unix:gid", (int) INSTANCE.gid, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Hands a directory and everything in it over to that user. */
    public static void ownTree(Path root) {
        if (INSTANCE == null) {
            return;
        }
        try (Stream<Path> paths = Files.walk(root)) {
            paths.forEach(UnprivilegedUser::own);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Creates a directory (mode 0700, with its missing parents) that belongs to that user. */
    public static Path createDirectory(Path directory) {
        try {
            Path parent = directory.toAbsolutePath().getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            Files.createDirectory(directory, ownerOnly());
            own(directory);
            return directory;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A new directory under the system's temporary folder that belongs to that user. */
    public static Path temporaryDirectory(String prefix) {
        try {
            Path directory = Files.createTempDirectory(prefix, ownerOnly());
            own(directory);
            return directory;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether that user can enter {@code directory}, that is: may traverse all its parents. */
    public static boolean canEnter(Path directory) {
        if (INSTANCE == null) {
            return Files.isExecutable(directory);
        }
        List<String> command =
                wrap(List.of("sh", "-c", "cd \"$1\"", "sh", directory.toAbsolutePath().toString()));
        return SystemCommands.run(command).exitCode() == 0;
    }

    /** Fails unless that user can enter {@code directory}. */
    public static void requireEnterable(Path directory) {
        if (!canEnter(directory)) {
            throw new ConfigurationException(
                    EmbeddedCodes.NOT_TRAVERSABLE,
                    "expected that the user "
                            + name().orElse(System.getProperty("user.name"))
                            + " can enter "
                            + directory
                            + ", but it or one of its parents refuses; choose another folder (for"
                            + " example under /var/lib or /tmp), or give the parents mode o+x");
        }
    }

    private static FileAttribute<?> ownerOnly() {
        return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    }

    private static boolean isRoot() {
        try {
            return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static UnprivilegedUser find() {
        UserPrincipalLookupService users =
                Path.of("/").getFileSystem().getUserPrincipalLookupService();
        for (String candidate : List.of("postgres", "nobody")) {
            try {
                users.lookupPrincipalByName(candidate);
            } catch (IOException e) {
                continue;
            }
            long uid = id("-u", candidate);
            long gid = id("-g", candidate);
            return new UnprivilegedUser(candidate, uid, gid, switchTo(candidate, uid, gid));
        }
        throw new ConfigurationException(
                EmbeddedCodes.NO_USER,
                "PostgreSQL refuses to run as root and neither the user postgres nor nobody exists;"
                        + " create one (useradd --system postgres) or run walshadow as another"
                        + " user");
    }

    private static List<String> switchTo(String user, long uid, long gid) {
        if (SystemCommands.find("setpriv").isPresent()) {
            return List.of("setpriv", "--reuid=" + uid, "--regid=" + gid, "--clear-groups", "--");
        }
        if (SystemCommands.find("runuser").isPresent()) {
            return List.of("runuser", "-u", user, "--");
        }
        if (SystemCommands.find("su").isPresent()) {
            return List.of("su", "-s", "/bin/sh", user, "-c", "exec \"$0\" \"$@\"", "--");
        }
        throw new ConfigurationException(
                EmbeddedCodes.NO_USER,
                "PostgreSQL refuses to run as root and none of setpriv, runuser and su is here to"
                        + " switch the user; install util-linux or run walshadow as another user");
    }

    private static long id(String option, String user) {
        SystemCommands.Result result = SystemCommands.run(List.of("id", option, user));
        if (result.exitCode() != 0) {
            throw new ConfigurationException(
                    EmbeddedCodes.NO_USER,
                    "id " + option + " " + user + " failed: " + result.output());
        }
        return Long.parseLong(result.output().strip());
    }
}
