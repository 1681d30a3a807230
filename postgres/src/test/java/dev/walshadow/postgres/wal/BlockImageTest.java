package dev.walshadow.postgres.wal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.luben.zstd.Zstd;
import dev.walshadow.base.HaltException;
import java.util.Arrays;
import java.util.Random;
import net.jpountz.lz4.LZ4Factory;
import org.junit.jupiter.api.Test;

/** pglz images come from real servers in the module source. */
class BlockImageTest {
    private static final int HOLE = 3000;
    private static final int HOLE_LENGTH = 2500;

    private final BlockImage images = new BlockImage();
    private final byte[] page = page();

    private static byte[] page() {
        byte[] page = new byte[8192];
        Random random = new Random(1);
        for (int i = 0; i < page.length; i++) {
            page[i] = (byte) random.nextInt(4);
        }
        Arrays.fill(page, HOLE, HOLE + HOLE_LENGTH, (byte) 0);
        return page;
    }

    private byte[] withoutHole() {
        byte[] bytes = new byte[8192 - HOLE_LENGTH];
        System.arraycopy(page, 0, bytes, 0, HOLE);
        System.arraycopy(page, HOLE + HOLE_LENGTH, bytes, HOLE, bytes.length - HOLE);
        return bytes;
    }

    private byte[] restore(byte[] stored, int flags, int hole, int holeLength) {
        WalRecord record =
                new RecordBuilder()
                        .image(
                                0,
                                20000,
                                stored,
                                flags | XLogLayout.BKPIMAGE_APPLY,
                                hole,
                                holeLength)
                        .main(new byte[3])
                        .wrapped();
        byte[] restored = new byte[8192];
        Arrays.fill(restored, (byte) 9);
        images.restore(record, 0, restored);
        return restored;
    }

    @Test
    void plainAndWithHole() {
        assertThat(restore(page, 0, 0, 0)).isEqualTo(page);
        assertThat(restore(withoutHole(), XLogLayout.BKPIMAGE_HAS_HOLE, HOLE, HOLE_LENGTH))
                .isEqualTo(page);
    }

    @Test
    void lz4() {
        byte[] stored = LZ4Factory.safeInstance().fastCompressor().compress(withoutHole());
        int flags = XLogLayout.BKPIMAGE_COMPRESS_LZ4 | XLogLayout.BKPIMAGE_HAS_HOLE;
        assertThat(restore(stored, flags, HOLE, HOLE_LENGTH)).isEqualTo(page);
    }

    @Test
    void zstd() {
        byte[] whole = Zstd.compress(page);
        assertThat(restore(whole, XLogLayout.BKPIMAGE_COMPRESS_ZSTD, 0, 0)).isEqualTo(page);
    }

    @Test
    void damagedImagesAreNamed() {
        byte[] lz4 = LZ4Factory.safeInstance().fastCompressor().compress(page);
        byte[] zstd = Zstd.compress(page);
        for (int flags :
                new int[] {
                    XLogLayout.BKPIMAGE_COMPRESS_PGLZ,
                    XLogLayout.BKPIMAGE_COMPRESS_LZ4,
                    XLogLayout.BKPIMAGE_COMPRESS_ZSTD,
                    XLogLayout.BKPIMAGE_COMPRESSED_MASK
                }) {
            byte[] stored =
                    Arrays.copyOf(flags == XLogLayout.BKPIMAGE_COMPRESS_ZSTD ? zstd : lz4, 500);
            assertThatThrownBy(() -> restore(stored, flags, 0, 0))
                    .isInstanceOf(HaltException.class)
                    .hasMessageStartingWith("WS-1105")
                    .hasMessageContaining("0/2000");
        }
    }
}
