package dev.walshadow.daemon.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SourceFactsTest {
    private static final SourceFacts FACTS =
            new SourceFacts(
                    -7,
                    3,
                    1 << 20,
                    17,
                    "17.6 (Debian \"x\\y\")",
                    List.of("postgres", "o'\"dd"),
                    List.of(
                            new SourceFacts.Database(
                                    -2, "app", "UTF8", 1663, true, false, "C.UTF-8", "de_DE"),
                            new SourceFacts.Database(
                                    4, "template0", "LATIN1", 1663, false, true, "C", "C")));

    @TempDir Path directory;

    @Test
    void factsAreReadBackAsWritten() throws IOException {
        Path file = directory.resolve("archive.toml");
        assertThat(SourceFacts.read(file)).isEmpty();
        FACTS.write(file);
        assertThat(SourceFacts.read(file)).contains(FACTS);
    }

    @Test
    void tornFactsAreRefused() throws IOException {
        Path file = directory.resolve("archive.toml");
        FACTS.write(file);
        byte[] whole = Files.readAllBytes(file);
        for (int length = 0; length < whole.length - 1; length++) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertThatThrownBy(() -> SourceFacts.read(file)).hasMessageContaining("WS-1904");
        }
    }
}
