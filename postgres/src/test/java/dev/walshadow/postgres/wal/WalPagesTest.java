package dev.walshadow.postgres.wal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WalPagesTest {
    private static final long SYSTEM = 0x1234_5678_9ABCL;

    private static byte[] header(WalPages pages, long lsn, int magic) {
        byte[] page = new byte[XLogLayout.PAGE_SIZE];
        boolean first = pages.segmentStart(lsn) == lsn;
        LittleEndian.putShort(page, XLogLayout.PAGE_MAGIC, magic);
        LittleEndian.putShort(page, XLogLayout.PAGE_INFO, first ? XLogLayout.XLP_LONG_HEADER : 0);
        LittleEndian.putInt(page, XLogLayout.PAGE_TIMELINE, 3);
        LittleEndian.putLong(page, XLogLayout.PAGE_ADDRESS, lsn);
        if (first) {
            LittleEndian.putLong(page, XLogLayout.PAGE_SYSTEM_IDENTIFIER, SYSTEM);
            LittleEndian.putInt(page, XLogLayout.PAGE_SEGMENT_SIZE, pages.segmentSize());
            LittleEndian.putInt(page, XLogLayout.PAGE_BLOCK_SIZE, XLogLayout.PAGE_SIZE);
        }
        return page;
    }

    @ParameterizedTest
    @ValueSource(ints = {1 << 20, 16 << 20, 1 << 30})
    void acceptsItsOwnPages(int segmentSize) {
        WalPages pages = new WalPages(17, SYSTEM, 4, segmentSize);
        long start = 7L * segmentSize;
        pages.check(header(pages, start, XLogLayout.MAGIC_17), 0, start);
        pages.check(header(pages, start + 8192, XLogLayout.MAGIC_17), 0, start + 8192);
        assertThat(pages.headerLength(start)).isEqualTo(40);
        assertThat(pages.headerLength(start + 8192)).isEqualTo(24);
        assertThat(pages.segmentStart(start + segmentSize - 1)).isEqualTo(start);
    }

    @Test
    void tellsCorruptForeignAndUpgradedApart() {
        WalPages pages = new WalPages(17, SYSTEM, 4, 1 << 20);
        long lsn = 1 << 20;
        byte[] good = header(pages, lsn, XLogLayout.MAGIC_17);
        refuses(pages, header(pages, lsn, XLogLayout.MAGIC_18), lsn, "WS-1103", "PostgreSQL 18");
        refuses(pages, header(pages, lsn, 0xD10D), lsn, "WS-1101", "d10d");
        refuses(pages, good, lsn + 8192, "WS-1101", "xlp_info");
        byte[] elsewhere = header(pages, lsn + (1 << 20), XLogLayout.MAGIC_17);
        refuses(pages, elsewhere, lsn, "WS-1101", "xlp_pageaddr 0/200000");
        refuses(new WalPages(17, 99, 4, 1 << 20), good, lsn, "WS-1104", "system identifier 99");
        new WalPages(17, SYSTEM, 2, 1 << 20).check(good, 0, lsn);
        byte[] size = good.clone();
        LittleEndian.putInt(size, XLogLayout.PAGE_SEGMENT_SIZE, 2 << 20);
        refuses(pages, size, lsn, "WS-1104", "wal_segment_size");
        byte[] block = good.clone();
        LittleEndian.putInt(block, XLogLayout.PAGE_BLOCK_SIZE, 4096);
        refuses(pages, block, lsn, "WS-1104", "wal_block_size");
    }

    private static void refuses(WalPages pages, byte[] page, long lsn, String code, String found) {
        assertThatThrownBy(() -> pages.check(page, 0, lsn))
                .isInstanceOf(HaltException.class)
                .hasMessageStartingWith(code)
                .hasMessageContaining(found);
    }
}
