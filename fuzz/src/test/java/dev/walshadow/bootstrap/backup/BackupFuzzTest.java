package dev.walshadow.bootstrap.backup;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.RetryException;
import dev.walshadow.fuzz.Sealed;
import dev.walshadow.fuzz.TestFile;
import dev.walshadow.postgres.cluster.BackupLabel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** The base backup's archives and label of any bytes. */
final class BackupFuzzTest {
    private static final int BLOCK = 512;
    private static final Path FOLDER = TestFile.folder("markers");

    /** First byte: the length of the pieces; headers get a right checksum. */
    @FuzzTest(maxDuration = "1m")
    void tar(byte[] bytes) throws InterruptedException {
        if (bytes.length == 0) {
            return;
        }
        byte[] archive = bytes.clone();
        int piece = 1 + (bytes[0] & 0xFF) * 7;
        for (int at = 1; at + BLOCK <= archive.length; at += BLOCK) {
            mendChecksum(archive, at);
        }
        String whole = read(archive, archive.length);
        Invariant.check(whole.equals(read(archive, piece)), "pieces do not matter");
    }

    private static String read(byte[] archive, int piece) throws InterruptedException {
        StringBuilder told = new StringBuilder();
        TarReader reader =
                new TarReader(
                        "base.tar",
                        new TarReader.Entries() {
                            private long left;

                            @Override
                            public void begin(String path, int type, long size) {
                                Invariant.check(
                                        !path.startsWith("/")
                                                && !List.of(path.split("/")).contains(".."),
                                        "a path stays inside");
                                left = size;
                                told.append(path).append(size);
                            }

                            @Override
                            public void data(byte[] bytes, int offset, int length) {
                                left -= length;
                                Invariant.check(left >= 0, "a body is not longer than it says");
                            }

                            @Override
                            public void end() {
                                Invariant.check(left == 0, "a body is whole");
                                told.append(';');
                            }
                        });
        try {
            for (int at = 1; at < archive.length; at += piece) {
                reader.push(archive, at, Math.min(piece, archive.length - at));
            }
            reader.finish();
        } catch (RetryException e) {
            told.append(e.getMessage());
        }
        return told.toString();
    }

    private static void mendChecksum(byte[] archive, int at) {
        long sum = 8 * ' ';
        for (int i = 0; i < BLOCK; i++) {
            boolean inField = i >= TarLayout.CHECKSUM && i < TarLayout.CHECKSUM + 8;
            sum += inField ? 0 : archive[at + i] & 0xFF;
        }
        byte[] text = String.format("%06o\0 ", sum).getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(text, 0, archive, at + TarLayout.CHECKSUM, 8);
    }

    @FuzzTest(maxDuration = "1m")
    void label(byte[] bytes) {
        try {
            BackupLabel.parse(new String(bytes, StandardCharsets.UTF_8));
        } catch (HaltException | RetryException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    @FuzzTest(maxDuration = "1m")
    void marker(byte[] bytes) {
        readMarker(bytes);
        readMarker(Sealed.text(bytes, "checksum = %x\n"));
    }

    private static void readMarker(byte[] content) {
        TestFile.write(FOLDER.resolve(ShadowMarkers.COMPLETE), content);
        try {
            ShadowMarkers.completion(FOLDER);
        } catch (HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
