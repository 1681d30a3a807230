package dev.walshadow.postgres.wal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NoopRecordTest {
    private final NoopRecord noop = new NoopRecord();

    private static byte[] record(int length) {
        Random random = new Random(length);
        byte[] main = new byte[length - XLogLayout.RECORD_HEADER_LENGTH - (length > 281 ? 5 : 2)];
        random.nextBytes(main);
        return new RecordBuilder()
                .kind(ResourceManager.HEAP, 0x80)
                .xid(random.nextInt())
                .main(main)
                .build();
    }

    @Test
    void keepsLengthXidAndLinkAndGetsAValidChecksum() {
        for (int length = 27; length < 9000; length += length < 400 ? 1 : 37) {
            check(length);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8191, 8192, 8193, 70_000, 3_000_001})
    void lengthsBeyondTheTable(int length) {
        check(length);
    }

    private void check(int length) {
        if (length > 281 && length < 286) {
            return; // no main data header makes these
        }
        byte[] original = record(length);
        assertThat(original).hasSize(length);
        WalRecord before = new WalRecord();
        before.wrap(original, 0, length, 0x2000, 0x9000);
        byte[] head = new byte[NoopRecord.HEAD_LENGTH];
        int headLength = noop.head(before, head);
        byte[] rewritten = original.clone();
        noop.rewrite(rewritten, 0, length);
        new WalChecksum().verify(rewritten, 0, length, 0x2000);
        WalRecord after = new WalRecord();
        after.wrap(rewritten, 0, length, 0x2000, 0x9000);
        assertThat(after.resourceManager()).isZero();
        assertThat(after.info()).isEqualTo(XLogLayout.XLOG_NOOP);
        assertThat(after.xid()).isEqualTo(before.xid());
        assertThat(after.previousLsn()).isEqualTo(before.previousLsn());
        byte[] fromHead = Arrays.copyOf(Arrays.copyOf(head, headLength), length);
        assertThat(fromHead).isEqualTo(rewritten);
    }

    @Test
    void aRecordWithoutBody() {
        byte[] bare = new RecordBuilder().kind(ResourceManager.LOGICAL_MESSAGE, 0).build();
        noop.rewrite(bare, 0, bare.length);
        new WalChecksum().verify(bare, 0, bare.length, 0);
    }
}
