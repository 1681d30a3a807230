package dev.walshadow.base;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FileTreeTest {
    @TempDir Path folder;
    private Path tree;

    @BeforeEach
    void plant() throws IOException {
        tree = Files.createDirectories(folder.resolve("tree"));
        Files.createDirectories(tree.resolve("inner/empty"));
        Files.writeString(tree.resolve("inner/file"), "text");
        Files.writeString(folder.resolve("outside"), "stays");
        Files.createSymbolicLink(tree.resolve("link"), folder.resolve("outside"));
        Files.setPosixFilePermissions(
                tree.resolve("inner"), PosixFilePermissions.fromString("rwx------"));
    }

    @Test
    void deletesLinksAndNotWhatTheyPointTo() throws IOException {
        Files.createSymbolicLink(tree.resolve("up"), folder);
        FileTree.delete(tree);
        assertThat(tree).doesNotExist();
        assertThat(folder.resolve("outside")).hasContent("stays");
        FileTree.delete(tree);
    }

    @Test
    void emptiesWithoutDeleting() throws IOException {
        FileTree.empty(tree);
        assertThat(tree).isEmptyDirectory();
        assertThatThrownBy(() -> FileTree.empty(folder.resolve("missing")))
                .isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void copiesWhatIsWantedWithItsModes() throws IOException {
        Path copy = folder.resolve("new/copy");
        FileTree.copy(tree, copy, file -> !file.endsWith("empty"));
        assertThat(copy.resolve("inner/file")).hasContent("text");
        assertThat(copy.resolve("inner/empty")).doesNotExist();
        assertThat(copy.resolve("link")).hasContent("stays").isRegularFile();
        assertThat(Files.getPosixFilePermissions(copy.resolve("inner")))
                .isEqualTo(PosixFilePermissions.fromString("rwx------"));
        assertThatThrownBy(() -> FileTree.copy(tree, copy, file -> true))
                .isInstanceOf(FileAlreadyExistsException.class);
    }
}
