package dev.walshadow.shadow;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a mirrored folder holds after files have changed on either side. */
class FileMirrorTest {
    @TempDir Path root;
    private Path from = Path.of("from");
    private Path to = Path.of("to");

    @BeforeEach
    void fill() throws IOException {
        from = root.resolve("from");
        Files.createDirectories(from.resolve("sub"));
        to = root.resolve("to");
        settled("a", "first");
        settled("sub/b", "second");
        settled("left.out", "not wanted");
        settled("sub/1.link", "linked");
    }

    /** A file that was last written long ago. */
    private void settled(String name, String text) throws IOException {
        Path file = Files.writeString(from.resolve(name), text);
        Instant before = Instant.now().minus(Duration.ofHours(1));
        Files.setLastModifiedTime(file, FileTime.from(before));
    }

    private int update() throws IOException {
        return FileMirror.update(
                from,
                to,
                new FileMirror.Options(
                        file -> !file.endsWith("left.out"),
                        file -> file.toString().endsWith(".link"),
                        ServerUser.of(null)));
    }

    private void assertMirrored() throws IOException {
        List<String> wanted = names(from);
        wanted.remove("left.out");
        assertThat(names(to)).isEqualTo(wanted);
        for (String name : wanted) {
            if (Files.isRegularFile(from.resolve(name))) {
                assertThat(Files.mismatch(from.resolve(name), to.resolve(name))).isEqualTo(-1);
            }
        }
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.map(file -> folder.relativize(file).toString())
                    .filter(name -> !name.isEmpty())
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    @Test
    void copiesAgainOnlyWhatHasChangedOnEitherSide() throws IOException {
        assertThat(update()).isEqualTo(2);
        assertMirrored();
        assertThat(update()).isZero();

        Files.writeString(to.resolve("a"), "FIRST");
        assertThat(update()).isEqualTo(1);
        assertMirrored();

        Instant other = Instant.now().minus(Duration.ofMinutes(1));
        settled("sub/b", "SECOND");
        Files.setLastModifiedTime(from.resolve("sub/b"), FileTime.from(other));
        assertThat(update()).isEqualTo(1);
        assertMirrored();
    }

    @Test
    void removesWhatTheOriginalDoesNotHave() throws IOException {
        update();
        Files.createDirectories(to.resolve("sub/more/deep"));
        Files.writeString(to.resolve("sub/more/deep/c"), "c");
        Files.delete(from.resolve("a"));
        update();
        assertMirrored();
    }

    @Test
    void doesNotTrustTheTimeOfAFileThatWasJustWritten() throws IOException {
        Path recent = Files.writeString(from.resolve("recent"), "one");
        FileTime time = Files.getLastModifiedTime(recent);
        update();
        assertMirrored();
        // in the same tick of the file system's clock
        Files.writeString(recent, "two");
        Files.setLastModifiedTime(recent, time);
        update();
        assertMirrored();
    }

    @Test
    void linksAndNeverWritesThroughALink() throws IOException {
        update();
        Path link = to.resolve("sub/1.link");
        assertThat(Files.isSameFile(link, from.resolve("sub/1.link"))).isTrue();
        Path kept = root.resolve("kept");
        Files.createLink(kept, link);
        Files.delete(from.resolve("sub/1.link"));
        settled("sub/1.link", "another");
        update();
        assertMirrored();
        assertThat(kept).hasContent("linked");
    }
}
