package dev.walshadow.bootstrap.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.RunningXactsRecord;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class BackupTransactionsTest {
    private static final long B = 0x1000;
    private static final int COMMIT = 0x00;
    private static final int ABORT = 0x20;
    private static final int HAS_INFO = 0x80;
    private static final int HAS_SUBXACTS = 2;

    private final BackupTransactions transactions = new BackupTransactions(17, B);
    private long lsn = B;

    /** Feeds a record; returns its LSN. */
    private long feed(BackupTransactions to, int manager, int info, int xid, ByteBuilder main) {
        ByteBuilder out = new ByteBuilder(64);
        out.putZeros(XLogLayout.RECORD_HEADER_LENGTH);
        out.putByte(XLogLayout.XLR_BLOCK_ID_DATA_SHORT);
        out.putByte(main.length());
        out.putBytes(main.toByteArray());
        byte[] bytes = out.toByteArray();
        LittleEndian.putInt(bytes, XLogLayout.TOTAL_LENGTH, bytes.length);
        LittleEndian.putInt(bytes, XLogLayout.XID, xid);
        bytes[XLogLayout.INFO] = (byte) info;
        bytes[XLogLayout.RMID] = (byte) manager;
        WalRecord record = new WalRecord();
        long start = lsn;
        lsn += 0x100;
        record.wrap(bytes, 0, bytes.length, start, lsn);
        to.onRecord(record);
        return start;
    }

    private long end(BackupTransactions to, int operation, int xid, int... subtransactions) {
        ByteBuilder main = new ByteBuilder(64);
        main.putLong(12345);
        main.putInt(HAS_SUBXACTS);
        main.putInt(subtransactions.length);
        for (int each : subtransactions) {
            main.putInt(each);
        }
        return feed(to, ResourceManager.TRANSACTION, operation | HAS_INFO, xid, main);
    }

    private void running(int next, int oldest, boolean overflowed, int... xids) {
        ByteBuilder main = new ByteBuilder(64);
        main.putInt(xids.length);
        main.putInt(0);
        main.putInt(overflowed ? 1 : 0);
        main.putInt(next);
        main.putInt(oldest);
        main.putInt(next - 1);
        for (int each : xids) {
            main.putInt(each);
        }
        feed(transactions, ResourceManager.STANDBY, RunningXactsRecord.XLOG_RUNNING_XACTS, 0, main);
    }

    @Test
    void listedOnesAndThoseThatEndBeforeTheListAreOpen() throws Exception {
        long first = end(transactions, COMMIT, 90, 91);
        running(100, 80, false, 80, 85);
        BackupSnapshot snapshot = transactions.awaitSnapshot();
        for (int xid : new int[] {80, 85, 90, 91}) {
            assertThat(snapshot.isOpen(xid)).isTrue();
            assertThat(snapshot.isLater(xid)).isFalse();
        }
        assertThat(snapshot.isOpen(82)).isFalse();
        assertThat(snapshot.isLater(100)).isTrue();
        assertThat(snapshot.isLater(99)).isFalse();

        end(transactions, ABORT, 80);
        end(transactions, COMMIT, 120);
        running(200, 150, false, 150);
        assertThat(transactions.awaitSnapshot()).isSameAs(snapshot);
        assertThat(transactions.drainEnds())
                .extracting(TransactionEnd::xid, TransactionEnd::committed)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple(90, true),
                        org.assertj.core.groups.Tuple.tuple(91, true),
                        org.assertj.core.groups.Tuple.tuple(80, false));
        assertThat(transactions.floor()).isEqualTo(first);
        assertThat(transactions.position()).isEqualTo(lsn);
    }

    @Test
    void anOverflowedListMakesARangeOpenAcrossTheWrapOfXids() throws Exception {
        running(10, -20, true);
        BackupSnapshot snapshot = transactions.awaitSnapshot();
        assertThat(snapshot.isOpen(-21)).isFalse();
        assertThat(snapshot.isOpen(-20)).isTrue();
        assertThat(snapshot.isOpen(9)).isTrue();
        assertThat(snapshot.isOpen(10)).isFalse();
        assertThat(snapshot.isLater(10)).isTrue();
        assertThat(snapshot.isLater(-21)).isFalse();
    }

    @Test
    void theFloorIsHeldUntilEndsAreSettled() {
        running(100, 80, false, 80, 85);
        assertThat(transactions.floor()).isEqualTo(Long.MAX_VALUE);
        long first = end(transactions, COMMIT, 80);
        assertThat(transactions.floor()).isEqualTo(first);
        transactions.drainEnds();
        long second = end(transactions, COMMIT, 85);
        assertThat(transactions.floor()).isEqualTo(first);
        transactions.settle();
        assertThat(transactions.floor()).isEqualTo(second);
        transactions.ignore();
        assertThat(transactions.floor()).isEqualTo(Long.MAX_VALUE);
        end(transactions, COMMIT, 85);
        assertThat(transactions.floor()).isEqualTo(Long.MAX_VALUE);
        assertThat(transactions.drainEnds()).isEmpty();
    }

    @Test
    void allHaveEndedWhenTheLastOfThemHas() {
        assertThat(transactions.allEnded()).isZero();
        end(transactions, COMMIT, 85);
        running(100, 80, true, 80, 85, 90, 95);
        assertThat(transactions.allEnded()).isEqualTo(Long.MAX_VALUE);
        end(transactions, COMMIT, 101);
        end(transactions, ABORT, 90);
        transactions.drainEnds();
        running(110, 80, false, 80, 95, 105);
        assertThat(transactions.allEnded()).isEqualTo(Long.MAX_VALUE);
        // it waited for a standby and had ended before B
        running(120, 95, false, 95, 105);
        long last = end(transactions, COMMIT, 95);
        assertThat(transactions.allEnded()).isEqualTo(last + 0x100);
        end(transactions, COMMIT, 105);
        running(130, 120, false);
        assertThat(transactions.allEnded()).isEqualTo(last + 0x100);
    }

    @Test
    void aRestartGoesOnWithTheSnapshotThatWasKept() throws Exception {
        running(100, 80, true, 80, 85);
        ByteBuilder stored = new ByteBuilder(64);
        transactions.awaitSnapshot().encode(stored);
        BackupSnapshot read =
                BackupSnapshot.decode(stored.array(), 0, stored.length()).orElseThrow();
        assertThat(read).usingRecursiveComparison().isEqualTo(transactions.awaitSnapshot());
        for (int length = 0; length < stored.length(); length++) {
            assertThat(BackupSnapshot.decode(stored.array(), 0, length)).isEmpty();
        }
        BackupTransactions resumed = new BackupTransactions(17, read);
        end(resumed, COMMIT, 70);
        end(resumed, COMMIT, 85);
        assertThat(resumed.drainEnds()).extracting(TransactionEnd::xid).containsExactly(85);
    }

    @Test
    void whatIsStillOpenWhenTheLoadIsDoneIsKnownAfterARestart(@TempDir Path folder)
            throws Exception {
        Path file = folder.resolve("open");
        assertThat(BackupTransactions.takeUp(17, file, 7)).isEmpty();
        end(transactions, COMMIT, 83);
        running(100, 80, false, 80, 85, 90);
        end(transactions, ABORT, 85);
        transactions.keep(file, 7);

        BackupTransactions resumed = BackupTransactions.takeUp(17, file, 7).orElseThrow();
        assertThat(resumed.known().orElseThrow())
                .usingRecursiveComparison()
                .isEqualTo(transactions.awaitSnapshot());
        assertThat(resumed.allEnded()).isEqualTo(Long.MAX_VALUE);
        end(resumed, COMMIT, 90);
        assertThat(resumed.allEnded()).isEqualTo(Long.MAX_VALUE);
        long last = end(resumed, COMMIT, 80);
        assertThat(resumed.allEnded()).isEqualTo(last + 0x100);
    }

    @Test
    void aFileOfOpenTransactionsThatIsDamagedOrForeignIsRefused(@TempDir Path folder)
            throws Exception {
        Path file = folder.resolve("open");
        running(100, 80, false, 80, 85);
        transactions.keep(file, 7);
        byte[] whole = Files.readAllBytes(file);
        for (int length = 0; length < whole.length; length++) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertRefused(file, 7, "damaged");
        }
        for (int at = 0; at < whole.length; at++) {
            byte[] changed = whole.clone();
            changed[at] ^= 0x40;
            Files.write(file, changed);
            assertRefused(file, 7, "");
        }
        Files.write(file, whole);
        assertRefused(file, 8, "another source");
    }

    private static void assertRefused(Path file, long identifier, String why) {
        assertThatThrownBy(() -> BackupTransactions.takeUp(17, file, identifier))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(why);
    }
}
