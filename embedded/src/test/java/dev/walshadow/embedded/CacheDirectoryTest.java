package dev.walshadow.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class CacheDirectoryTest {
    private Path folder;

    @BeforeEach
    void useAFolder() {
        folder = UnprivilegedUser.temporaryDirectory("walshadow-cache-");
        System.setProperty("walshadow.cache", folder.toString());
    }

    @AfterEach
    void leaveTheFolder() {
        System.clearProperty("walshadow.cache");
        CacheDirectory.deleteTree(folder);
    }

    @Test
    void fillsAnEntryOnceForManyThreads() throws Exception {
        AtomicInteger fillings = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(
                    Thread.ofVirtual()
                            .start(() ->
                                    CacheDirectory.entry(
                                            "thing",
                                            fresh -> {
                                                fillings.incrementAndGet();
                                                Files.writeString(fresh.resolve("f"), "x");
                                            })));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(fillings).hasValue(1);
        assertThat(folder.resolve("thing/f")).hasContent("x");
    }

    @Test
    void keepsNothingOfAFailedFillingAndStartsAfresh() {
        assertThatThrownBy(() ->
                        CacheDirectory.entry(
                                "thing",
                                fresh -> {
                                    Files.writeString(fresh.resolve("half"), "x");
                                    throw new IOException("disk full");
                                }))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("disk full")
                .hasMessageContaining("WALSHADOW_CACHE");
        assertThat(folder.resolve("thing")).doesNotExist();
        Path entry =
                CacheDirectory.entry(
                        "thing", fresh -> Files.writeString(fresh.resolve("whole"), "y"));
        assertThat(entry).isDirectoryNotContaining("glob:**half");
    }

    /** The cache is empty here, so the archive beside the classes is what serves. */
    @Test
    void unpacksABundledServerFromItsArchive() {
        Path bin = EmbeddedPostgresBinaries.unpack(16);
        SystemCommands.Result version =
                SystemCommands.run(List.of(bin.resolve("postgres").toString(), "--version"));
        assertThat(version.output()).startsWith("postgres (PostgreSQL) 16.");
    }

    @Test
    void saysWhatToDoWhenTheEngineIsMissing() {
        assertThatThrownBy(ChdbLibrary::find)
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("embedded/libchdb/install");
    }

    @Test
    void pinsTheSameEngineAsThePackageFile() throws Exception {
        assertThat(Files.readString(Path.of("libchdb", "package.json")))
                .contains("\"" + ChdbLibrary.VERSION + "\"");
    }
}
