package dev.walshadow.postgres.value;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import net.jpountz.lz4.LZ4Factory;
import org.junit.jupiter.api.Test;

/**
 * What the oracle tests on real TOAST values do not reach: hand-made and broken compressed bytes.
 */
final class CompressionTest {
    private static byte[] bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return bytes;
    }

    private static String pglz(int rawSize, int... source) {
        ByteBuilder out = new ByteBuilder(16);
        out.putByte('>');
        Pglz.decompress(bytes(source), 0, source.length, rawSize, out);
        return out.toString();
    }

    @Test
    void expandsLiteralsAndOverlappingMatches() {
        assertThat(pglz(3, 0, 'a', 'b', 'c')).isEqualTo(">abc");
        assertThat(pglz(7, 0b10, 'a', 0x03, 0x01)).isEqualTo(">aaaaaaa");
        assertThat(pglz(8, 0b100, 'a', 'b', 0x03, 0x02)).isEqualTo(">abababab");
        assertThat(pglz(1 + 18 + 2, 0b10, 'a', 0x0F, 0x01, 2)).hasSize(22);
        // PostgreSQL cuts a match that would go beyond the raw size
        assertThat(pglz(5, 0b10, 'a', 0x0F, 0x01, 255)).isEqualTo(">aaaaa");
    }

    @Test
    void refusesWhatDoesNotFillTheRawSizeExactly() {
        assertRefused(4, 0, 'a', 'b', 'c');
        assertRefused(2, 0, 'a', 'b', 'c');
        assertRefused(7, 0b10, 'a', 0x03, 0x02);
        assertRefused(7, 0b10, 'a', 0x03, 0x00);
        assertRefused(7, 0b10, 'a', 0x03);
        assertRefused(22, 0b10, 'a', 0x0F, 0x01);
        assertRefused(-1, 0, 'a');
        assertRefused(1 << 29, 0, 'a');
    }

    private static void assertRefused(int rawSize, int... source) {
        assertThatThrownBy(() -> pglz(rawSize, source)).isInstanceOf(QuarantineException.class);
    }

    @Test
    void refusesBrokenBytesWithoutTouchingWhatWasAppendedBefore() {
        Random random = new Random(11);
        ByteBuilder out = new ByteBuilder(16);
        for (int round = 0; round < 30_000; round++) {
            byte[] source = new byte[random.nextInt(40)];
            random.nextBytes(source);
            int rawSize = random.nextInt(300);
            out.clear();
            out.putInt(0x1234_5678);
            try {
                Detoaster.append(source, 0, source.length, rawSize, random.nextInt(3), out);
                assertThat(out.length()).isEqualTo(4 + rawSize);
            } catch (QuarantineException e) {
                assertThat(out.length()).isEqualTo(4);
            }
            assertThat(out.array()).startsWith(0x78, 0x56, 0x34, 0x12);
        }
    }

    @Test
    void expandsLz4Blocks() {
        byte[] raw = new byte[100_000];
        Arrays.fill(raw, (byte) 'x');
        byte[] compressed = LZ4Factory.fastestInstance().fastCompressor().compress(raw);
        ByteBuilder out = new ByteBuilder(16);
        Lz4.decompress(compressed, 0, compressed.length, raw.length, out);
        assertThat(out.toByteArray()).isEqualTo(raw);
        assertThatThrownBy(
                        () -> Lz4.decompress(compressed, 0, compressed.length, raw.length - 1, out))
                .isInstanceOf(QuarantineException.class);
        assertThatThrownBy(
                        () -> Lz4.decompress(compressed, 0, compressed.length, raw.length + 1, out))
                .isInstanceOf(QuarantineException.class);
    }

    /** With no more of the source than is needed whatever is in it. */
    @Test
    void expandsTheBeginningOfLz4Blocks() {
        Random random = new Random(12);
        byte[] raw = new byte[60_000];
        for (int at = 0; at < raw.length; ) {
            int run = Math.min(raw.length - at, random.nextInt(1, 700));
            if (random.nextBoolean()) {
                Arrays.fill(raw, at, at + run, (byte) random.nextInt(3));
            } else {
                for (int i = 0; i < run; i++) {
                    raw[at + i] = (byte) random.nextInt();
                }
            }
            at += run;
        }
        byte[] compressed = LZ4Factory.fastestInstance().fastCompressor().compress(raw);
        for (int count = 0; count <= raw.length; count += random.nextInt(1, 97)) {
            int needed = Math.min(compressed.length, count + count / 8 + count / 255 + 64);
            ByteBuilder out = new ByteBuilder(16);
            out.putByte('>');
            Lz4.decompressPrefix(Arrays.copyOf(compressed, needed), 0, needed, count, out);
            assertThat(Arrays.mismatch(out.array(), 1, 1 + count, raw, 0, count)).isEqualTo(-1);
            assertThat(out.length()).isEqualTo(1 + count);
        }
        assertThatThrownBy(() ->
                        Lz4.decompressPrefix(compressed, 0, 1000, raw.length, new ByteBuilder(16)))
                .isInstanceOf(QuarantineException.class);
    }

    @Test
    void expandsTheBeginningOfPglz() {
        byte[] source = bytes(0b100, 'a', 'b', 0x0F, 0x02, 40, 'c', 'd', 'e', 'f', 0, 'g');
        String whole = "abababababababababababababababababababababababababababababababababcdefg";
        for (int count = 0; count <= 60; count++) {
            ByteBuilder out = new ByteBuilder(16);
            Pglz.decompressPrefix(source, 0, source.length, count, out);
            assertThat(out.toString()).isEqualTo(whole.substring(0, count));
        }
        assertThatThrownBy(() -> Pglz.decompressPrefix(source, 0, 4, 10, new ByteBuilder(16)))
                .isInstanceOf(QuarantineException.class);
    }

    /**
     * From a page of PostgreSQL 15.14 built with lz4: {@code create table g (v text); alter table g
     * alter v set compression lz4; insert into g values (repeat('walshadow ', 300))}.
     */
    @Test
    void expandsAnInlineLz4DatumOfARealPage() {
        byte[] datum =
                HexFormat.of()
                        .parseHex(
                                "9e000000b80b0040af77616c736861646f77200a00"
                                        + "ffffffffffffffffffffffa15061646f7720");
        ByteBuilder out = new ByteBuilder(16);
        assertThat(Varlena.totalLength(datum, 0, datum.length)).isEqualTo(datum.length);
        Detoaster.appendInline(datum, 0, datum.length, out);
        assertThat(out.toString()).isEqualTo("walshadow ".repeat(300));
    }
}
