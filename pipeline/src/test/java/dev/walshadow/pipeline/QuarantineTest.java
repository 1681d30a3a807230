package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The quarantine file survives, and is refused when it is not what it should be. */
final class QuarantineTest {
    private static final Quarantine.Entry ENTRY =
            new Quarantine.Entry(
                    5, -2, "s.\tt\\", 0x1_0000_0010L, 1700, "line one\nline two \\n", 0);

    @TempDir Path directory;

    @Test
    void entriesSurviveARestart() {
        Quarantine first = Quarantine.open(directory, 42);
        assertThat(first.add(ENTRY)).isEqualTo(ENTRY);
        Quarantine.Entry later = new Quarantine.Entry(5, -2, "x", 0x2_0000_0000L, 1701, "later", 0);
        assertThat(first.add(later)).isEqualTo(ENTRY);
        Quarantine again = Quarantine.open(directory, 42);
        assertThat(again.entries()).containsExactly(ENTRY);
        again.discarded(Map.of(Quarantine.key(5, -2), 17L));
        Quarantine third = Quarantine.open(directory, 42);
        assertThat(third.entries()).allMatch(entry -> entry.discardedRows() == 17);
        Quarantine.Entry earlier = new Quarantine.Entry(5, -2, "x", 9, 1701, "earlier", 0);
        assertThat(third.add(earlier)).isEqualTo(earlier);
        assertThat(Quarantine.open(directory, 42).entries()).containsExactly(earlier);
        third.remove(5, -2);
        assertThat(Quarantine.open(directory, 42).entries()).isEmpty();
    }

    @Test
    void aForeignANewerAndADamagedFileAreRefused() throws Exception {
        Quarantine.open(directory, 42).add(ENTRY);
        Path file = directory.resolve("quarantine");
        byte[] whole = Files.readAllBytes(file);
        assertThatThrownBy(() -> Quarantine.open(directory, 43))
                .isInstanceOf(HaltException.class)
                .hasMessageContaining("another source cluster");
        String newer = Files.readString(file).replace("quarantine\t1\t", "quarantine\t2\t");
        Files.writeString(file, newer);
        assertThatThrownBy(() -> Quarantine.open(directory, 42))
                .isInstanceOf(HaltException.class)
                .hasMessageContaining("newer walshadow");
        for (int length = 0; length < whole.length; length++) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertThatThrownBy(() -> Quarantine.open(directory, 42))
                    .isInstanceOf(HaltException.class);
        }
        for (int at = 0; at < whole.length; at++) {
            byte[] flipped = whole.clone();
            flipped[at] ^= 1;
            Files.write(file, flipped);
            assertThatThrownBy(() -> Quarantine.open(directory, 42))
                    .isInstanceOf(HaltException.class);
        }
        Files.write(file, whole);
        assertThat(Quarantine.open(directory, 42).entries()).containsExactly(ENTRY);
    }
}
