package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Looks for what must not be on the shadow's disk: user rows, and user relations' files. */
final class Canary {
    private Canary() {}

    /** The text occurs in no file of the shadow and of the archive, and no user table is there. */
    static void requireAbsent(Installation installation, String text) throws Exception {
        byte[] wanted = text.getBytes(StandardCharsets.UTF_8);
        Path shadow = installation.state().resolve("shadow");
        Path archive = installation.state().resolve("archive");
        Set<String> userFiles = userFiles(installation);
        assertThat(userFiles).isNotEmpty();
        int seen = 0;
        for (Path root : List.of(shadow, archive)) {
            for (Path file : files(root)) {
                assertThat(contains(file, wanted)).as("canary in %s", file).isFalse();
                assertThat(userFiles).doesNotContain(root.relativize(file).toString());
                seen++;
            }
        }
        assertThat(seen).as("files looked at").isGreaterThan(100);
    }

    private static Set<String> userFiles(Installation installation) throws Exception {
        Set<String> files = new HashSet<>();
        try (var session = installation.session();
                var statement = session.createStatement();
                var rows =
                        statement.executeQuery(
                                "SELECT pg_relation_filepath(oid) FROM pg_class WHERE oid >= 16384"
                                        + " AND relkind IN ('r', 't')")) {
            while (rows.next()) {
                files.add(rows.getString(1));
            }
        }
        return files;
    }

    private static List<Path> files(Path root) {
        try (Stream<Path> walk = Files.walk(root)) {
            return walk.filter(Files::isRegularFile).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean contains(Path file, byte[] wanted) throws IOException {
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(file);
        } catch (NoSuchFileException e) {
            // the running shadow has removed it
            return false;
        }
        String haystack = new String(bytes, StandardCharsets.ISO_8859_1);
        return haystack.contains(new String(wanted, StandardCharsets.ISO_8859_1));
    }
}
