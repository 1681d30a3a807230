package dev.walshadow.daemon.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class StateDirectoryTest {
    private static final Manifest MANIFEST =
            new Manifest(-7, 1, 3, 16 << 20, 0x100, 0x1_0000_0200L, 0x300, 0x400, 0x380);

    @TempDir Path directory;

    @Test
    void secondDaemonIsRefused() throws IOException {
        try (StateDirectory first = StateDirectory.open(directory)) {
            assertThat(first.archive()).isDirectory();
            assertThatThrownBy(() -> StateDirectory.open(directory))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("WS-1902");
        }
        StateDirectory.open(directory).close();
    }

    @Test
    void refusedStartLeavesNothingBehind() throws IOException {
        Path made = directory.resolve("new").resolve("state");
        StateDirectory.open(made).undo();
        assertThat(made.getParent()).doesNotExist();
        Path kept = Files.createDirectory(directory.resolve("kept"));
        Path mine = Files.createFile(kept.resolve("mine"));
        StateDirectory.open(kept).undo();
        assertThat(kept).isDirectoryContaining(path -> path.equals(mine));
        assertThat(kept.toFile().list()).hasSize(1);
        StateDirectory.open(kept).close();
    }

    @Test
    void unwritableDirectoryIsNamed() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertThatThrownBy(() -> StateDirectory.open(file))
                .hasMessageContaining("WS-1905")
                .hasMessageContaining(file.toString());
    }

    @Test
    void longPathsGetAShortRuntimeDirectory() {
        Path deep = directory.resolve("d".repeat(90));
        assertThat(StateDirectory.controlSocket(deep).toString().length()).isLessThan(107);
        assertThat(StateDirectory.run(deep)).isEqualTo(StateDirectory.run(deep));
        assertThat(StateDirectory.run(Path.of("/s"))).isEqualTo(Path.of("/s/run"));
    }

    @Test
    void manifestIsReadBackAsWritten() throws IOException {
        Path file = directory.resolve("manifest.toml");
        assertThat(Manifest.read(file)).isEmpty();
        MANIFEST.write(file);
        assertThat(Manifest.read(file)).contains(MANIFEST);
        MANIFEST.requireSource(-7, file);
        assertThatThrownBy(() -> MANIFEST.requireSource(8, file)).hasMessageContaining("WS-1903");
    }

    @Test
    void tornOrEditedManifestIsRefusedAndKept() throws IOException {
        Path file = directory.resolve("manifest.toml");
        MANIFEST.write(file);
        byte[] whole = Files.readAllBytes(file);
        for (int length = 0; length < whole.length - 1; length++) {
            byte[] torn = Arrays.copyOf(whole, length);
            Files.write(file, torn);
            assertThatThrownBy(() -> Manifest.read(file))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("WS-1904");
            assertThat(Files.readAllBytes(file)).isEqualTo(torn);
        }
        Files.writeString(
                file,
                new String(whole, java.nio.charset.StandardCharsets.UTF_8)
                        .replace("0/300", "0/301"));
        assertThatThrownBy(() -> Manifest.read(file)).hasMessageContaining("checksum");
    }

    @Test
    void newerManifestIsRefused() throws IOException {
        Path file = directory.resolve("manifest.toml");
        SealedToml.write(file, "version = 99\n");
        assertThatThrownBy(() -> Manifest.read(file)).hasMessageContaining("version 99");
    }
}
