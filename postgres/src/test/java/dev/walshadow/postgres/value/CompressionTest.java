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
