package dev.walshadow.bootstrap.load;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.fuzz.Sealed;
import dev.walshadow.fuzz.TestFile;
import java.nio.file.Path;

/** The file of deferred rows of any bytes, and of any frames with right checksums. */
final class DeferredFuzzTest {
    private static final long SYSTEM_IDENTIFIER = 42;
    private static final Path FOLDER = TestFile.folder("deferred");

    @FuzzTest(maxDuration = "1m")
    void file(byte[] bytes) throws InterruptedException {
        read(bytes);
        read(framed(bytes));
    }

    private static void read(byte[] content) throws InterruptedException {
        TestFile.write(FOLDER.resolve("rows"), content);
        DeferredFile file = new DeferredFile(FOLDER, SYSTEM_IDENTIFIER);
        long[] length = new long[1];
        try {
            file.start();
            file.read((payload, count) -> length[0] += count);
        } catch (ConfigurationException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
        Invariant.check(length[0] <= content.length, "entries are not longer than their file");
    }

    /** The first frame with the right beginning; a byte says how long each next one is. */
    private static byte[] framed(byte[] bytes) {
        ByteBuilder out = new ByteBuilder(bytes.length + 64);
        int at = 0;
        while (at < bytes.length) {
            int length = Math.min(bytes[at] & 0xFF, bytes.length - at - 1);
            byte[] payload = new byte[length];
            System.arraycopy(bytes, at + 1, payload, 0, length);
            if (at == 0 && length >= 16) {
                LittleEndian.putInt(payload, 0, 'W' | 'S' << 8 | 'D' << 16 | 'F' << 24);
                LittleEndian.putInt(payload, 4, 1);
                LittleEndian.putLong(payload, 8, SYSTEM_IDENTIFIER);
            }
            out.putInt(length);
            out.putInt(Sealed.crc(payload, 0, length));
            out.putBytes(payload);
            at += 1 + length;
        }
        out.putInt(0);
        out.putInt(0);
        return out.toByteArray();
    }
}
