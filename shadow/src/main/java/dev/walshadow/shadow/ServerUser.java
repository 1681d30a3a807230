package dev.walshadow.shadow;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Whom the shadow's server runs as. PostgreSQL refuses to run as root, so a daemon that is root
 * gives the shadow's directories and processes to another user; any other daemon runs it as itself
 * and every method here does nothing.
 */
public final class ServerUser {
    private static final String DEFAULT_NAME = "postgres";
    private static final String FALLBACK_NAME = "nobody";

    /** By what is configured: an account keeps its numbers, and they cost three processes. */
    private static final Map<Optional<String>, Switch> KNOWN = new ConcurrentHashMap<>();

    private final @Nullable Switch target;

    private record Switch(String name, int uid, int gid, List<String> prefix) {}

    private ServerUser(@Nullable Switch target) {
        this.target = target;
    }

    /**
     * @param configured whom to switch to when this process is root; null: {@code postgres} if
     *     there is such a user, else {@code nobody}
     * @throws ConfigurationException when the switch is needed and not possible
     */
    public static ServerUser of(@Nullable String configured) {
        if (!isRoot()) {
            return new ServerUser(null);
        }
        Optional<String> asked = Optional.ofNullable(configured);
        Switch known = KNOWN.get(asked);
        if (known == null) {
            known = find(configured == null ? defaultName() : configured);
            KNOWN.put(asked, known);
        }
        return new ServerUser(known);
    }

    private static Switch find(String name) {
        int uid = id("-u", name);
        int gid = id("-g", name);
        if (uid == 0) {
            throw new ConfigurationException(
                    ShadowCodes.USER,
                    "the shadow's PostgreSQL cannot run as root; name another user");
        }
        return new Switch(name, uid, gid, prefix(name, uid, gid));
    }

    /** What to call this user in a message. */
    public String label() {
        return target == null ? System.getProperty("user.name", "this user") : target.name();
    }

    /** The command as this user would run it. */
    List<String> command(List<String> command) {
        if (target == null) {
            return command;
        }
        List<String> whole = new ArrayList<>(target.prefix());
        whole.addAll(command);
        return whole;
    }

    /** Gives a file or directory to this user. */
    void own(Path path) throws IOException {
        if (target != null) {
            Files.setAttribute(path, "unix:uid", target.uid(), LinkOption.NOFOLLOW_LINKS);
            Files.setAttribute(path, "unix:gid", target.gid(), LinkOption.NOFOLLOW_LINKS);
        }
    }

    /** Gives a directory and all it holds to this user; links are not followed. */
    void ownTree(Path root) throws IOException {
        if (target == null) {
            return;
        }
        try (Stream<Path> paths = Files.walk(root)) {
            for (Path path : (Iterable<Path>) paths::iterator) {
                own(path);
            }
        }
    }

    /** Creates the directory if it is missing, makes it this user's own and closes it to others. */
    public void ownDirectory(Path directory) throws IOException {
        Files.createDirectories(directory);
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        own(directory);
    }

    boolean owns(Path path) throws IOException {
        Object owner = Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        int uid =
                target == null
                        ? (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid")
                        : target.uid();
        return owner.equals(uid);
    }

    /** Fails unless this user can enter {@code directory}, that is: traverse all its parents. */
    public void requireEnterable(Path directory) {
        List<String> command =
                command(List.of("sh", "-c", "cd \"$1\"", "sh", directory.toString()));
        if (SystemCommands.run(command).exitCode() != 0) {
            throw new ConfigurationException(
                    ShadowCodes.USER,
                    "expected that the user "
                            + label()
                            + " can enter "
                            + directory
                            + ", but it or one of its parents refuses; choose another folder (for"
                            + " example under /var/lib), or give the parents mode o+x");
        }
    }

    private static boolean isRoot() {
        try {
            return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String defaultName() {
        boolean exists = SystemCommands.run(List.of("id", "-u", DEFAULT_NAME)).exitCode() == 0;
        return exists ? DEFAULT_NAME : FALLBACK_NAME;
    }

    private static int id(String option, String name) {
        SystemCommands.Result result = SystemCommands.run(List.of("id", option, name));
        if (result.exitCode() != 0) {
            throw new ConfigurationException(
                    ShadowCodes.USER,
                    "walshadow runs as root and PostgreSQL refuses to; expected a user "
                            + name
                            + " to run the shadow as, found: "
                            + result.output().strip()
                            + "; create it (useradd --system "
                            + name
                            + ") or name another one");
        }
        return Integer.parseUnsignedInt(result.output().strip());
    }

    /** setpriv keeps the pid; the other two put a waiting parent in front of the server. */
    private static List<String> prefix(String name, int uid, int gid) {
        if (SystemCommands.find("setpriv").isPresent()) {
            return List.of("setpriv", "--reuid=" + uid, "--regid=" + gid, "--clear-groups", "--");
        }
        if (SystemCommands.find("runuser").isPresent()) {
            return List.of("runuser", "-u", name, "--");
        }
        if (SystemCommands.find("su").isPresent()) {
            return List.of("su", "-s", "/bin/sh", name, "-c", "exec \"$0\" \"$@\"", "--");
        }
        throw new ConfigurationException(
                ShadowCodes.USER,
                "walshadow runs as root, PostgreSQL refuses to, and none of setpriv, runuser and su"
                        + " is here to switch the user; install util-linux");
    }
}
