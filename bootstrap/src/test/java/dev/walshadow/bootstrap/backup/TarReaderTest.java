package dev.walshadow.bootstrap.backup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.RetryException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.junit.jupiter.api.Test;

final class TarReaderTest {
    /** Written by an implementation that is not ours. */
    private static byte[] archive() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes)) {
            tar.putArchiveEntry(new TarArchiveEntry("base/"));
            tar.closeArchiveEntry();
            Random random = new Random(7);
            for (int size : new int[] {0, 1, 511, 512, 513, 100_000}) {
                byte[] body = new byte[size];
                random.nextBytes(body);
                TarArchiveEntry entry = new TarArchiveEntry("base/file" + size);
                entry.setSize(size);
                tar.putArchiveEntry(entry);
                tar.write(body);
                tar.closeArchiveEntry();
            }
        }
        return bytes.toByteArray();
    }

    private static final class Collector implements TarReader.Entries {
        final List<String> seen = new ArrayList<>();
        private CRC32C sum = new CRC32C();
        private String name = "";
        private long left;

        @Override
        public void begin(String path, int type, long size) {
            sum = new CRC32C();
            left = size;
            name = (char) type + " " + path + " " + size;
        }

        @Override
        public void data(byte[] bytes, int offset, int length) {
            assertThat(length).isPositive();
            sum.update(bytes, offset, length);
            left -= length;
        }

        @Override
        public void end() {
            assertThat(left).isZero();
            seen.add(name + " " + sum.getValue());
        }
    }

    private static List<String> read(byte[] archive, int piece) throws InterruptedException {
        Collector collector = new Collector();
        TarReader reader = new TarReader("t.tar", collector);
        for (int at = 0; at < archive.length; at += piece) {
            reader.push(archive, at, Math.min(piece, archive.length - at));
        }
        reader.finish();
        return collector.seen;
    }

    @Test
    void anyCutOfTheStreamGivesTheSameFiles() throws Exception {
        byte[] archive = archive();
        List<String> whole = read(archive, archive.length);
        assertThat(whole).hasSize(7);
        assertThat(whole.getFirst()).startsWith("5 base 0");
        assertThat(whole.getLast()).startsWith("0 base/file100000 100000");
        for (int piece : new int[] {1, 2, 7, 511, 512, 513, 8192, 30_000}) {
            assertThat(read(archive, piece)).as("pieces of " + piece).isEqualTo(whole);
        }
    }

    @Test
    void sizesBeyondOctalAreBase256() throws Exception {
        byte[] header = new byte[512];
        byte[] name = "base/5/big".getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(name, 0, header, 0, name.length);
        header[TarLayout.TYPE] = '0';
        header[TarLayout.SIZE] = (byte) 0x80;
        header[TarLayout.SIZE + 7] = 3;
        sign(header);
        Collector collector = new Collector();
        new TarReader("t", collector).push(header, 0, 512);
        assertThat(collector.name).isEqualTo("0 base/5/big " + (3L << 32));
    }

    private static void sign(byte[] header) {
        for (int i = 0; i < 8; i++) {
            header[TarLayout.CHECKSUM + i] = ' ';
        }
        long sum = 0;
        for (byte b : header) {
            sum += b & 0xFF;
        }
        byte[] text = String.format("%06o", sum).getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(text, 0, header, TarLayout.CHECKSUM, text.length);
        header[TarLayout.CHECKSUM + 6] = 0;
    }

    @Test
    void pathsThatLeadOutAreRefused() {
        for (String path : new String[] {"../x", "/etc/passwd", "a/../../b", "a//b", "./../x"}) {
            byte[] header = new byte[512];
            byte[] name = path.getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(name, 0, header, 0, name.length);
            header[TarLayout.TYPE] = '0';
            sign(header);
            assertThatThrownBy(() -> new TarReader("t", new Collector()).push(header, 0, 512))
                    .as(path)
                    .isInstanceOf(RetryException.class)
                    .hasMessageContaining("leads out");
        }
    }

    @Test
    void damagedArchivesAreNamedWhateverTheDamage() throws Exception {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        byte[] good = archive();
        assertThatThrownBy(() -> read(java.util.Arrays.copyOf(good, 60_000), 512))
                .isInstanceOf(RetryException.class)
                .hasMessageContaining("ends in the middle");
        for (int round = 0; round < 20_000; round++) {
            byte[] bad = java.util.Arrays.copyOf(good, 1 + random.nextInt(6_000));
            for (int i = random.nextInt(4); i >= 0; i--) {
                bad[random.nextInt(bad.length)] = (byte) random.nextInt();
            }
            try {
                read(bad, 1 + random.nextInt(700));
            } catch (RetryException e) {
                assertThat(e.code()).isEqualTo(BackupCodes.BROKEN_STREAM);
            } catch (RuntimeException e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
    }
}
