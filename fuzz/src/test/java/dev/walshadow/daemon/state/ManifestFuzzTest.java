package dev.walshadow.daemon.state;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.fuzz.Sealed;
import dev.walshadow.fuzz.TestFile;
import dev.walshadow.pipeline.Quarantine;
import java.nio.file.Path;

/** The state directory's small text files of any bytes, with a right checksum too. */
final class ManifestFuzzTest {
    private static final Path FOLDER = TestFile.folder("state");

    @FuzzTest(maxDuration = "1m")
    void manifest(byte[] bytes) {
        readManifest(bytes);
        readManifest(Sealed.text(bytes, "checksum = \"%08x\"\n"));
    }

    private static void readManifest(byte[] content) {
        try {
            Manifest.read(TestFile.write(FOLDER.resolve("manifest.toml"), content));
        } catch (ConfigurationException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    @FuzzTest(maxDuration = "1m")
    void quarantine(byte[] bytes) {
        readQuarantine(bytes);
        readQuarantine(Sealed.text(bytes, "crc32c\t%08x\n"));
    }

    private static void readQuarantine(byte[] content) {
        TestFile.write(FOLDER.resolve("quarantine"), content);
        try {
            Quarantine.open(FOLDER, 42);
        } catch (HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
