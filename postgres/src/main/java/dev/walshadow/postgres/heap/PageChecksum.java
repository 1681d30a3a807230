package dev.walshadow.postgres.heap;

import dev.walshadow.base.LittleEndian;

/**
 * pg_checksum_page: 32 interleaved FNV-1a sums over the page, folded together with the block
 * number. Source: {@code src/include/storage/checksum_impl.h}, PostgreSQL 15-18.
 */
public final class PageChecksum {
    private static final int SUMS = 32;
    private static final int FNV_PRIME = 16_777_619;
    private static final int ROWS = HeapPage.SIZE / (4 * SUMS);
    private static final int[] BASE_OFFSETS = {
        0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A,
        0x79FF467A, 0x9BB9F8A3, 0x217E7CD2, 0x83E13D2C,
        0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA,
        0x7B093B5D, 0x98DAFF3C, 0xF718902A, 0x0B1C9CDB,
        0xE58F764B, 0x187636BC, 0x5D7B3BB1, 0xE73DE7DE,
        0x92BEC979, 0xCCA6C0B2, 0x304A0979, 0x85AA43D4,
        0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E,
        0x9FBF8C76, 0x15CA20BE, 0xF2CA9FD3, 0x959BD756
    };

    private PageChecksum() {}

    /**
     * What pd_checksum has to be; never 0.
     *
     * @param blockNumber counted through the whole relation fork, all its segments
     */
    public static int compute(byte[] bytes, int offset, int blockNumber) {
        int[] sums = BASE_OFFSETS.clone();
        for (int row = 0; row < ROWS; row++) {
            int at = offset + row * 4 * SUMS;
            for (int i = 0; i < SUMS; i++) {
                int value = LittleEndian.getInt(bytes, at + 4 * i);
                if (row == 0 && i == HeapPage.PD_CHECKSUM / 4) {
                    value &= 0xFFFF_0000; // pd_checksum itself counts as zero
                }
                int mixed = sums[i] ^ value;
                sums[i] = mixed * FNV_PRIME ^ mixed >>> 17;
            }
        }
        int result = 0;
        for (int i = 0; i < SUMS; i++) {
            int sum = sums[i];
            sum = sum * FNV_PRIME ^ sum >>> 17;
            result ^= sum * FNV_PRIME ^ sum >>> 17;
        }
        return Integer.remainderUnsigned(result ^ blockNumber, 65_535) + 1;
    }
}
