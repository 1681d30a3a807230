package dev.walshadow.source.replication;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * libpq's password file: lines {@code host:port:database:user:password}, {@code *} matches
 * anything, {@code \:} and {@code \\} are escapes, the first matching line wins. As in libpq, a
 * file that group or others can access is ignored.
 */
final class PasswordFile {
    private final Path path;

    PasswordFile(Path path) {
        this.path = path;
    }

    /** Why the file is not used although it exists; null if it is used or absent. */
    @Nullable String problem() {
        if (!Files.isRegularFile(path)) {
            return null;
        }
        try {
            Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path);
            for (PosixFilePermission permission : permissions) {
                if (!permission.name().startsWith("OWNER_")) {
                    return "the password file "
                            + path
                            + " is ignored because others can access it; run chmod 600 on it";
                }
            }
            return Files.isReadable(path) ? null : "the password file " + path + " is not readable";
        } catch (IOException e) {
            return "the password file " + path + " cannot be read: " + e.getMessage();
        }
    }

    /** The password of the first line that matches; null if there is none. */
    @Nullable String find(HostAddress host, String database, String user) {
        if (!Files.isRegularFile(path) || problem() != null) {
            return null;
        }
        try {
            // A Unix socket directory matches as "localhost" too, as in libpq's default directory.
            String hostName = host.isUnixSocket() ? "localhost" : host.host();
            for (String line : Files.readAllLines(path)) {
                List<String> fields = split(line);
                if (fields.size() >= 5
                        && !line.startsWith("#")
                        && (matches(fields.get(0), hostName) || fields.get(0).equals(host.host()))
                        && matches(fields.get(1), Integer.toString(host.port()))
                        && matches(fields.get(2), database)
                        && matches(fields.get(3), user)) {
                    return fields.get(4);
                }
            }
            return null;
        } catch (IOException e) {
            return null;
        }
    }

    private static boolean matches(String field, String value) {
        return field.equals("*") || field.equals(value);
    }

    private static List<String> split(String line) {
        List<String> fields = new ArrayList<>();
        StringBuilder field = new StringBuilder();
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '\\' && i + 1 < line.length()) {
                i++;
                field.append(line.charAt(i));
            } else if (c == ':' && fields.size() < 4) {
                fields.add(field.toString());
                field.setLength(0);
            } else {
                field.append(c);
            }
        }
        fields.add(field.toString());
        return fields;
    }
}
