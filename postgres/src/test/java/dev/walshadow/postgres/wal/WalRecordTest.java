package dev.walshadow.postgres.wal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class WalRecordTest {
    private static RecordBuilder everything() {
        byte[] page = new byte[8192];
        Arrays.fill(page, (byte) 7);
        return new RecordBuilder()
                .kind(ResourceManager.HEAP, 0x28)
                .block(0, 20001, 4, new byte[] {1, 2, 3})
                .sameRelation(1, 5)
                .image(
                        7,
                        20002,
                        Arrays.copyOf(page, 8000),
                        XLogLayout.BKPIMAGE_HAS_HOLE | XLogLayout.BKPIMAGE_APPLY,
                        100,
                        192)
                .image(32, 20003, page, 0, 0, 0)
                .origin(3)
                .topLevel(690)
                .main(new byte[300]);
    }

    @Test
    void readsEveryKindOfHeader() {
        WalRecord record = everything().wrapped();
        assertThat(record.xid()).isEqualTo(700);
        assertThat(record.info()).isEqualTo(0x28);
        assertThat(record.previousLsn()).isEqualTo(0x1000);
        assertThat(record.origin()).isEqualTo(3);
        assertThat(record.topLevelXid()).isEqualTo(690);
        assertThat(record.mainDataLength()).isEqualTo(300);
        assertThat(record.mainDataOffset() + 300).isEqualTo(record.length());
        assertThat(record.blockCount()).isEqualTo(4);
        assertThat(record.hasData(0)).isTrue();
        assertThat(record.buffer()[record.dataOffset(0) + 2]).isEqualTo((byte) 3);
        assertThat(record.relationNumber(1)).isEqualTo(20001);
        assertThat(record.blockNumber(1)).isEqualTo(5);
        assertThat(record.willInit(1)).isTrue();
        assertThat(record.hasImage(1)).isFalse();
        assertThat(record.blockId(2)).isEqualTo(7);
        assertThat(record.imageApplies(2)).isTrue();
        assertThat(record.imageHoleOffset(2)).isEqualTo(100);
        assertThat(record.imageHoleLength(2)).isEqualTo(192);
        assertThat(record.imageLength(3)).isEqualTo(8192);
        assertThat(record.imageApplies(3)).isFalse();
    }

    @Test
    void forgetsTheRecordBefore() {
        WalRecord record = everything().wrapped();
        byte[] bare = new RecordBuilder().kind(ResourceManager.XLOG, 0x40).build();
        record.wrap(bare, 0, bare.length, 0, 24);
        assertThat(record.blockCount()).isZero();
        assertThat(record.origin()).isZero();
        assertThat(record.topLevelXid()).isZero();
        assertThat(record.mainDataLength()).isZero();
    }

    @Test
    void refusesOutOfOrderBlocks() {
        assertThatThrownBy(() ->
                        new RecordBuilder()
                                .block(1, 1, 1, new byte[0])
                                .block(1, 1, 1, new byte[0])
                                .main(new byte[4])
                                .wrapped())
                .isInstanceOf(HaltException.class)
                .hasMessageContaining("out-of-order block_id 1")
                .hasMessageContaining("0/2000");
    }

    @Test
    void anyBytesGiveARecordInsideThemOrATypedError() {
        byte[] good = everything().build();
        long seed = Long.getLong("walshadow.seed", 42);
        Random random = new Random(seed);
        WalRecord record = new WalRecord();
        int refused = 0;
        for (int round = 0; round < 200_000; round++) {
            byte[] bytes = good.clone();
            int length = random.nextInt(4) == 0 ? random.nextInt(good.length + 1) : good.length;
            for (int flips = random.nextInt(4); flips >= 0; flips--) {
                bytes[random.nextInt(140)] = (byte) random.nextInt();
            }
            if (length >= 4 && random.nextInt(4) != 0) {
                LittleEndian.putInt(bytes, 0, length);
            }
            try {
                record.wrap(bytes, 0, length, 0x5000, 0x6000);
                assertInside(record);
            } catch (HaltException e) {
                refused++;
            }
        }
        assertThat(refused).as("seed " + seed).isGreaterThan(10_000);
    }

    private static void assertInside(WalRecord record) {
        int end = record.offset() + record.length();
        for (int i = 0; i < record.blockCount(); i++) {
            assertThat(record.imageOffset(i) + record.imageLength(i)).isLessThanOrEqualTo(end);
            assertThat(record.dataOffset(i) + record.dataLength(i)).isLessThanOrEqualTo(end);
            assertThat(record.imageHoleOffset(i) + record.imageHoleLength(i))
                    .isLessThanOrEqualTo(8192);
            record.relationNumber(i);
        }
        assertThat(record.mainDataOffset() + record.mainDataLength()).isEqualTo(end);
    }
}
