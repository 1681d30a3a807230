package dev.walshadow.testkit.shadow;

import dev.walshadow.base.FileTree;
import dev.walshadow.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What lies on disk where no user data may lie. */
public final class ShadowFiles {
    private static final Pattern RELATION_FILE =
            Pattern.compile(
                    "(?:.*/)?(base/(\\d+)|global|pg_tblspc/.*/(\\d+))/(\\d+)(_\\w+)?(\\.\\d+)?");
    private static final int FIRST_NORMAL_OID = 16384;
    private static final int READ_BYTES = 1 << 20;

    private ShadowFiles() {}

    /** Database OID / relation number of all system relations of a server, shared ones under 0. */
    public static Set<String> systemRelations(EmbeddedPostgres server, List<String> databases)
            throws SQLException {
        Set<String> found = new HashSet<>();
        for (String database : databases) {
            try (Connection session = DriverManager.getConnection(server.jdbcUrl(database));
                    Statement statement = session.createStatement();
                    ResultSet row =
                            statement.executeQuery(
                                    """
                                    SELECT CASE reltablespace WHEN 1664 THEN 0 ELSE d.oid END
                                           || '/' || pg_relation_filenode(c.oid)
                                    FROM pg_class c, pg_database d
                                    WHERE d.datname = current_database() AND c.oid < 16384
                                      AND pg_relation_filenode(c.oid) IS NOT NULL\
                                    """)) {
                while (row.next()) {
                    found.add(row.getString(1));
                }
            }
        }
        return found;
    }

    /** Files of relations that are no system relations; empty is right. */
    public static List<Path> userRelationFiles(Path dataDirectory, Set<String> systemRelations)
            throws IOException {
        List<Path> found = new ArrayList<>();
        for (Path file : files(dataDirectory)) {
            Matcher name = RELATION_FILE.matcher(dataDirectory.relativize(file).toString());
            if (name.matches() && Long.parseLong(name.group(4)) >= FIRST_NORMAL_OID) {
                String database =
                        name.group(2) != null
                                ? name.group(2)
                                : name.group(3) != null ? name.group(3) : "0";
                if (!systemRelations.contains(database + "/" + name.group(4))) {
                    found.add(file);
                }
            }
        }
        return found;
    }

    /** Files below {@code directory} that contain the text. */
    public static List<Path> filesWith(Path directory, String text) throws IOException {
        byte[] wanted = text.getBytes(StandardCharsets.UTF_8);
        List<Path> found = new ArrayList<>();
        for (Path file : files(directory)) {
            if (contains(file, wanted)) {
                found.add(file);
            }
        }
        return found;
    }

    /** Removes a rig's directory when everything in it has ended. */
    public static void remove(Path directory) {
        try {
            FileTree.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove all of " + directory, e);
        }
    }

    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> paths = Files.walk(directory)) {
            return paths.filter(Files::isRegularFile).toList();
        }
    }

    private static boolean contains(Path file, byte[] wanted) throws IOException {
        byte[] buffer = new byte[READ_BYTES];
        int kept = 0;
        try (InputStream in = Files.newInputStream(file)) {
            while (true) {
                int count = in.read(buffer, kept, buffer.length - kept);
                if (count < 0) {
                    return false;
                }
                int length = kept + count;
                if (indexOf(buffer, length, wanted) >= 0) {
                    return true;
                }
                kept = Math.min(length, wanted.length - 1);
                System.arraycopy(buffer, length - kept, buffer, 0, kept);
            }
        }
    }

    private static int indexOf(byte[] bytes, int length, byte[] wanted) {
        for (int i = 0; i + wanted.length <= length; i++) {
            int same = 0;
            while (same < wanted.length && bytes[i + same] == wanted[same]) {
                same++;
            }
            if (same == wanted.length) {
                return i;
            }
        }
        return -1;
    }
}
