package dev.walshadow.daemon.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.postgres.RelationLocator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SequenceFileTest {
    @TempDir Path directory;

    private static Map<RelationLocator, SequenceFile.Value> values() {
        Map<RelationLocator, SequenceFile.Value> values = new LinkedHashMap<>();
        values.put(
                new RelationLocator(1663, 5, -1),
                new SequenceFile.Value(Long.MIN_VALUE, true, 0x1_0000_0200L));
        values.put(new RelationLocator(1663, 5, 17), new SequenceFile.Value(33, false, 0x28));
        return values;
    }

    @Test
    void valuesAreReadBackAsWrittenInTheirOrder() throws IOException {
        Path file = directory.resolve("sequences.toml");
        assertThat(SequenceFile.read(file, -7)).isEmpty();
        SequenceFile.write(file, -7, values());
        assertThat(SequenceFile.read(file, -7)).containsExactlyEntriesOf(values());
        assertThatThrownBy(() -> SequenceFile.read(file, 8)).hasMessageContaining("WS-1903");
    }

    @Test
    void tornFilesAreRefused() throws IOException {
        Path file = directory.resolve("sequences.toml");
        SequenceFile.write(file, -7, values());
        byte[] whole = Files.readAllBytes(file);
        for (int length = 0; length < whole.length - 1; length++) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertThatThrownBy(() -> SequenceFile.read(file, -7)).hasMessageContaining("WS-1904");
        }
    }
}
