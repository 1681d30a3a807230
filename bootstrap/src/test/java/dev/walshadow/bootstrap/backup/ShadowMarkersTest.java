package dev.walshadow.bootstrap.backup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ShadowMarkersTest {
    @TempDir Path folder;

    private final ShadowMarkers.Completion identity =
            new ShadowMarkers.Completion(-5L, 3, 0x1_0000_0028L, 0x1_0000_0100L);

    @Test
    void aDirectoryGoesFromEmptyToIncompleteToComplete() {
        Path data = folder.resolve("shadow");
        assertThat(ShadowMarkers.inspect(data)).isEqualTo(ShadowMarkers.State.EMPTY);
        ShadowMarkers.begin(data, -5L);
        assertThat(ShadowMarkers.inspect(data)).isEqualTo(ShadowMarkers.State.INCOMPLETE);
        assertThat(ShadowMarkers.completion(data)).isNull();
        ShadowMarkers.complete(data, identity);
        ShadowMarkers.complete(data, identity);
        assertThat(ShadowMarkers.inspect(data)).isEqualTo(ShadowMarkers.State.COMPLETE);
        assertThat(ShadowMarkers.completion(data)).isEqualTo(identity);
        assertThat(data.resolve(ShadowMarkers.INCOMPLETE)).doesNotExist();
    }

    @Test
    void aCompleteShadowIsNeitherDiscardedNorReplaced() {
        Path data = folder.resolve("shadow");
        ShadowMarkers.begin(data, 1);
        ShadowMarkers.complete(data, identity);
        assertThatThrownBy(() -> ShadowMarkers.discard(data))
                .isInstanceOf(Invariant.BrokenInvariantError.class);
        assertThatThrownBy(() -> ShadowMarkers.begin(data, 1))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("not replaced");
        assertThat(ShadowMarkers.completion(data)).isEqualTo(identity);
    }

    @Test
    void foreignFilesAreLeftAlone() throws Exception {
        Files.writeString(folder.resolve("PG_VERSION"), "17\n");
        assertThat(ShadowMarkers.inspect(folder)).isEqualTo(ShadowMarkers.State.FOREIGN);
        assertThatThrownBy(() -> ShadowMarkers.begin(folder, 1))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(folder.toString());
        assertThatThrownBy(() -> ShadowMarkers.discard(folder))
                .isInstanceOf(Invariant.BrokenInvariantError.class);
        assertThat(folder.resolve("PG_VERSION")).exists();
    }

    @Test
    void aHalfLaidShadowIsEmptiedMarkerLast() throws Exception {
        Path data = folder.resolve("shadow");
        ShadowMarkers.begin(data, 1);
        Files.createDirectories(data.resolve("base/5"));
        Files.writeString(data.resolve("base/5/1259"), "x");
        Files.writeString(folder.resolve("outside"), "x");
        Files.createSymbolicLink(data.resolve("link"), folder.resolve("outside"));
        ShadowMarkers.discard(data);
        assertThat(ShadowMarkers.inspect(data)).isEqualTo(ShadowMarkers.State.EMPTY);
        assertThat(folder.resolve("outside")).exists();
    }

    @Test
    void tornAndNewerMarkersAreRefused() throws Exception {
        Path data = folder.resolve("shadow");
        ShadowMarkers.begin(data, 1);
        ShadowMarkers.complete(data, identity);
        Path marker = data.resolve(ShadowMarkers.COMPLETE);
        byte[] good = Files.readAllBytes(marker);
        for (int cut = 0; cut < good.length - 1; cut++) {
            Files.write(marker, java.util.Arrays.copyOf(good, cut));
            assertThat(ShadowMarkers.inspect(data)).isEqualTo(ShadowMarkers.State.COMPLETE);
            assertThatThrownBy(() -> ShadowMarkers.completion(data))
                    .as("cut at " + cut)
                    .isInstanceOf(HaltException.class);
        }
        for (int at = 0; at < good.length - 1; at++) {
            byte[] bad = good.clone();
            bad[at] ^= 1;
            Files.write(marker, bad);
            assertThatThrownBy(() -> ShadowMarkers.completion(data))
                    .as("changed at " + at)
                    .isInstanceOf(HaltException.class);
        }
        Files.writeString(marker, "version = 2\nchecksum = 0\n");
        assertThatThrownBy(() -> ShadowMarkers.completion(data)).hasMessageContaining("version 2");
    }
}
