package dev.walshadow.postgres.value;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Geometries that a real PostGIS stored and printed; no server of ours has that extension. */
final class GeometryTextTest {
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Sample(String type, byte[] payload, String text) {}

    private static List<Sample> samples() throws IOException {
        List<Sample> samples = new ArrayList<>();
        try (InputStream file =
                Objects.requireNonNull(GeometryTextTest.class.getResourceAsStream("postgis.txt"))) {
            String all = new String(file.readAllBytes(), StandardCharsets.US_ASCII);
            for (String line : all.split("\n", -1)) {
                if (line.isEmpty() || line.startsWith("#")) {
                    continue;
                }
                String[] parts = line.split(" ", -1);
                byte[] datum = HexFormat.of().parseHex(parts[1]);
                ByteBuilder payload = new ByteBuilder(64);
                Detoaster.appendInline(
                        datum, 0, Varlena.totalLength(datum, 0, datum.length), payload);
                samples.add(new Sample(parts[0], payload.toByteArray(), parts[2]));
            }
        }
        assertThat(samples).hasSize(36);
        return samples;
    }

    private static ValueCodec codec(String type) {
        return Objects.requireNonNull(Codecs.byName(type));
    }

    @Test
    void printsWhatPostgisPrinted() throws IOException {
        for (Sample sample : samples()) {
            ByteBuilder out = new ByteBuilder(64);
            codec(sample.type()).appendText(sample.payload(), 0, sample.payload().length, out);
            assertThat(out.toString()).isEqualTo(sample.text());
        }
    }

    @Test
    void answersDamagedGeometriesWithATextOrTheDeclaredFailure() throws IOException {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        for (Sample sample : samples()) {
            for (int i = 0; i < 500; i++) {
                byte[] bytes = sample.payload().clone();
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
                int at = random.nextInt(bytes.length);
                bytes[at] = (byte) random.nextInt(4);
                int length = random.nextInt(3) == 0 ? random.nextInt(bytes.length) : bytes.length;
                ByteBuilder out = new ByteBuilder(64);
                try {
                    codec(sample.type()).appendText(bytes, 0, length, out);
                } catch (QuarantineException e) {
                    assertThat(e.code()).as("seed %d", seed).isNotNull();
                }
                assertThat(out.length()).as("seed %d", seed).isLessThan(20_000);
            }
        }
    }
}
