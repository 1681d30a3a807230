package dev.walshadow.shadow;

import dev.walshadow.base.ConfigurationException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.UUID;

/** Where Unix sockets live: their whole path may have no more than 107 bytes. */
public final class RuntimeDirectory {
    private static final int SOCKET_PATH_LIMIT = 107;
    private static final int LONGEST_SOCKET_NAME = "/.s.PGSQL.65535".length();

    private RuntimeDirectory() {}

    /**
     * The wanted directory, or a short one under /tmp (always the same for the same wanted path)
     * when sockets in it would get too long a name. Created if missing, closed to everybody but
     * {@code user} (and root).
     *
     * @throws ConfigurationException when another user owns the short directory
     */
    public static Path prepare(Path wanted, ServerUser user) {
        Path absolute = wanted.toAbsolutePath().normalize();
        try {
            if (fits(absolute)) {
                user.ownDirectory(absolute);
                return absolute;
            }
            Path shorter = Path.of("/tmp", "walshadow-" + shortName(absolute));
            if (Files.exists(shorter, LinkOption.NOFOLLOW_LINKS)
                    && (!Files.isDirectory(shorter, LinkOption.NOFOLLOW_LINKS)
                            || !user.owns(shorter))) {
                throw new ConfigurationException(
                        ShadowCodes.USER,
                        "expected "
                                + shorter
                                + " to be a directory of the user "
                                + user.label()
                                + " (it holds the sockets because "
                                + absolute
                                + " is too long a path for them), but it is not; remove it");
            }
            user.ownDirectory(shorter);
            return shorter;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot prepare the directory for sockets", e);
        }
    }

    private static boolean fits(Path directory) {
        return directory.toString().getBytes(StandardCharsets.UTF_8).length + LONGEST_SOCKET_NAME
                <= SOCKET_PATH_LIMIT;
    }

    private static String shortName(Path directory) {
        byte[] bytes = directory.toString().getBytes(StandardCharsets.UTF_8);
        return UUID.nameUUIDFromBytes(bytes).toString().substring(0, 13);
    }
}
