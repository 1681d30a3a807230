package dev.walshadow.catalog;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.fuzz.TestFile;
import java.nio.file.Path;

/** The descriptor log of any bytes, and of any bodies in good frames. */
final class DescriptorLogFuzzTest {
    private static final Path FOLDER = TestFile.folder("desclog");

    @FuzzTest(maxDuration = "1m")
    void file(byte[] bytes) {
        read(bytes);
        ByteBuilder framed = new ByteBuilder(bytes.length + 256);
        framed.putBytes(DescriptorLogLayout.header(42));
        int number = 0;
        int at = 0;
        while (at < bytes.length) {
            int length = Math.min(bytes[at] & 0xFF, bytes.length - at - 1);
            ByteBuilder body = new ByteBuilder(256);
            body.putBytes(bytes, at + 1, length);
            DescriptorLogFile.putFrame(body, framed, number++);
            at += 1 + length;
        }
        read(framed.toByteArray());
    }

    private static void read(byte[] content) {
        TestFile.write(FOLDER.resolve(DescriptorLog.FILE_NAME), content);
        try {
            DescriptorHistory.read(FOLDER);
        } catch (HaltException | ConfigurationException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
        try (DescriptorLog log = DescriptorLog.open(FOLDER, 42)) {
            Invariant.check(log.lastLsn() >= 0, "a log has an end");
        } catch (HaltException | ConfigurationException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
