package dev.walshadow.daemon.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PauseFileTest {
    private static final PauseFile PAUSE =
            new PauseFile(
                    Instant.parse("2026-01-02T03:04:05.123456Z"), "\"up\\grade\"\nof ClickHouse");

    @TempDir private Path directory;

    @Test
    void whatIsWrittenIsReadAgainUntilItIsDeleted() throws Exception {
        Path file = directory.resolve("paused.toml");
        assertThat(PauseFile.read(file, 7)).isEmpty();
        PAUSE.write(file, 7);
        assertThat(PauseFile.read(file, 7)).contains(PAUSE);
        PauseFile.delete(file);
        PauseFile.delete(file);
        assertThat(PauseFile.read(file, 7)).isEmpty();
    }

    @Test
    void aForeignOrCutFileIsRefused() throws Exception {
        Path file = directory.resolve("paused.toml");
        PAUSE.write(file, 7);
        assertThatThrownBy(() -> PauseFile.read(file, 8))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("WS-1903");
        String whole = Files.readString(file);
        for (int length = 0; length < whole.length() - 1; length++) {
            Files.writeString(file, whole.substring(0, length));
            assertThatThrownBy(() -> PauseFile.read(file, 7))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("WS-1904");
        }
    }
}
