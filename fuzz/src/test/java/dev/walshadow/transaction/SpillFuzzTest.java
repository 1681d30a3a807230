package dev.walshadow.transaction;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.fuzz.TestFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Spill files that another process left, or that a bad disk gives back. */
final class SpillFuzzTest {
    private static final Path FOLDER = TestFile.folder("spill");

    /** A file of an earlier run: ours and deleted, or refused and left as it is. */
    @FuzzTest(maxDuration = "1m")
    void leftBehind(byte[] bytes) throws IOException {
        Path file = TestFile.write(FOLDER.resolve("1" + SpillDirectory.SUFFIX), bytes);
        try {
            new SpillDirectory(FOLDER, 42, SpillDirectory::openFile);
            Invariant.check(!Files.exists(file), "a stale file of this cluster goes");
        } catch (ConfigurationException e) {
            Invariant.check(
                    Arrays.equals(bytes, Files.readAllBytes(file)),
                    "what is not ours stays as it is");
        }
    }

    /** First two bytes: where the third one is put into the file; the rest: its frame's payload. */
    @FuzzTest(maxDuration = "1m")
    void damaged(byte[] bytes) throws IOException {
        if (bytes.length < 3) {
            return;
        }
        byte[] payload = Arrays.copyOfRange(bytes, 3, bytes.length);
        Path path = FOLDER.resolve("frame");
        Files.deleteIfExists(path);
        SpillFile file = new SpillFile(path, SpillDirectory::openFile);
        file.append(new SpillFile.Frame(4711, 1, 3, new ToastRange()), ByteBuffer.wrap(payload));
        byte[] content = Files.readAllBytes(path);
        int at = LittleEndian.getUnsignedShort(bytes, 0) % content.length;
        content[at] = bytes[2];
        TestFile.write(path, content);
        try {
            SpillReader reader = new SpillReader(file);
            reader.open(SpillReader.firstFrame());
            reader.load();
            Invariant.check(
                    Arrays.equals(payload, Arrays.copyOf(reader.payload(), reader.payloadLength())),
                    "a payload is read as it was written, or not at all");
        } catch (HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
        file.delete();
    }
}
