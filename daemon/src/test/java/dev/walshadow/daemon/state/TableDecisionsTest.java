package dev.walshadow.daemon.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.RelationName;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TableDecisionsTest {
    private static final RelationName PLAIN = new RelationName("public", "orders");
    private static final RelationName ODD =
            new RelationName("d b", "s.\"q\"\\", "tab\tle\nü]\u007f");

    @TempDir private Path directory;

    private static final TableDecisions BOTH = new TableDecisions(Set.of(ODD), Map.of(PLAIN, true));

    @Test
    void whatIsWrittenIsReadAgain() throws Exception {
        Path file = directory.resolve("tables.toml");
        assertThat(TableDecisions.read(file, -5)).isEqualTo(TableDecisions.NONE);
        BOTH.write(file, -5);
        assertThat(TableDecisions.read(file, -5)).isEqualTo(BOTH);
    }

    @Test
    void aForeignOrCutFileIsRefused() throws Exception {
        Path file = directory.resolve("tables.toml");
        BOTH.write(file, 7);
        assertThatThrownBy(() -> TableDecisions.read(file, 8))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("WS-1903");
        String whole = Files.readString(file);
        for (int length = 0; length < whole.length() - 1; length++) {
            Files.writeString(file, whole.substring(0, length));
            assertThatThrownBy(() -> TableDecisions.read(file, 7))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("WS-1904");
        }
    }

    @Test
    void theLastRequestWins() {
        TableDecisions removed = BOTH.remove(Set.of(ODD), false);
        assertThat(removed.isAdded(ODD)).isFalse();
        assertThat(removed.isRemoved(ODD)).isTrue();
        assertThat(removed.dropsRows(ODD)).isFalse();
        TableDecisions added = removed.add(Set.of(ODD, PLAIN), Set.of(ODD));
        assertThat(added).isEqualTo(new TableDecisions(Set.of(ODD), Map.of()));
    }
}
