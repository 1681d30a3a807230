package dev.walshadow.postgres.wal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records with all parts; those of real servers are read in the module source. */
class TransactionRecordTest {
    private static byte[] commitPrepared(int major) {
        ByteBuilder main = new ByteBuilder(256);
        main.putLong(777);
        main.putInt(0x1FF);
        main.putInt(5);
        main.putInt(1663);
        main.putInt(2);
        main.putInt(801);
        main.putInt(802);
        main.putInt(1);
        main.putInt(1663);
        main.putInt(5);
        main.putInt(20001);
        main.putInt(1);
        main.putZeros(major >= 18 ? 16 : 12);
        main.putInt(2);
        message(main, 55, 5, 0xCAFE);
        message(main, TransactionRecordLayout.SHAREDINVALRELCACHE_ID, 5, 20001);
        main.putInt(800);
        main.putAscii("gid e");
        main.putByte(0);
        main.putLong(0x1234);
        main.putLong(778);
        return main.toByteArray();
    }

    private static void message(ByteBuilder out, int id, int database, int object) {
        out.putByte(id);
        out.putZeros(3);
        out.putInt(database);
        out.putInt(object);
        out.putInt(0);
    }

    /** What keeps xids by their number has no place for it. */
    @Test
    void refusesXidZero() {
        byte[] commit = new byte[Long.BYTES];
        byte[] subtransaction = commitPrepared(17);
        LittleEndian.putInt(subtransaction, 24, 0);
        byte[] second = commitPrepared(17);
        LittleEndian.putInt(second, second.length - 26, 0);
        ByteBuilder assignment = new ByteBuilder(16);
        for (int each : new int[] {900, 1, 0}) {
            assignment.putInt(each);
        }
        ByteBuilder top = new ByteBuilder(16);
        for (int each : new int[] {0, 1, 900}) {
            top.putInt(each);
        }
        refused(new RecordBuilder().xid(0), 0, commit);
        refused(new RecordBuilder(), 0xB0, subtransaction);
        refused(new RecordBuilder(), 0xB0, second);
        refused(
                new RecordBuilder(),
                TransactionRecordLayout.XLOG_XACT_ASSIGNMENT,
                assignment.toByteArray());
        refused(
                new RecordBuilder(),
                TransactionRecordLayout.XLOG_XACT_ASSIGNMENT,
                top.toByteArray());
        assertThatThrownBy(() -> new RecordBuilder().xid(0).topLevel(900).wrapped())
                .isInstanceOf(HaltException.class)
                .hasMessageContaining("without an xid of its own");
    }

    private static void refused(RecordBuilder builder, int info, byte[] main) {
        WalRecord record = builder.kind(ResourceManager.TRANSACTION, info).main(main).wrapped();
        assertThatThrownBy(() -> new TransactionRecord(17).wrap(record))
                .isInstanceOf(HaltException.class)
                .hasMessageContaining("xid 0");
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void readsEveryPartOfACommit(int major) {
        WalRecord record =
                new RecordBuilder()
                        .kind(ResourceManager.TRANSACTION, 0xB0)
                        .xid(900)
                        .main(commitPrepared(major))
                        .wrapped();
        TransactionRecord view = new TransactionRecord(major);
        view.wrap(record);
        assertThat(view.isCommit()).isTrue();
        assertThat(view.xid()).isEqualTo(800);
        assertThat(view.timestampMicros()).isEqualTo(777);
        assertThat(view.databaseOid()).isEqualTo(5);
        assertThat(view.subxactCount()).isEqualTo(2);
        assertThat(view.subxact(1)).isEqualTo(802);
        assertThat(view.relationCount()).isEqualTo(1);
        assertThat(view.relation(0)).isEqualTo(new RelationLocator(1663, 5, 20001));
        assertThat(view.invalidationCount()).isEqualTo(2);
        assertThat(view.invalidationKind(0)).isEqualTo(55);
        assertThat(view.invalidationKind(1))
                .isEqualTo(TransactionRecordLayout.SHAREDINVALRELCACHE_ID);
        assertThat(view.invalidationDatabase(1)).isEqualTo(5);
        assertThat(view.invalidationObject(1)).isEqualTo(20001);
        assertThat(view.gid()).isEqualTo("gid e");
        assertThat(view.originLsn()).isEqualTo(0x1234);
        assertThat(view.originTimestampMicros()).isEqualTo(778);
    }

    private static byte[] prepare() {
        ByteBuilder main = new ByteBuilder(256);
        byte[] gid = "two phases\0".getBytes(StandardCharsets.UTF_8);
        main.putInt(0x57F94534);
        main.putInt(500);
        main.putInt(810);
        main.putInt(5);
        main.putLong(99);
        main.putInt(10);
        main.putInt(3); // subxacts
        main.putInt(1); // commit relations
        main.putInt(2); // abort relations
        main.putInt(0);
        main.putInt(0);
        main.putInt(1); // messages
        main.putByte(0);
        main.putByte(0);
        main.putShort(gid.length);
        main.putLong(0);
        main.putLong(0);
        main.putBytes(gid);
        pad(main);
        main.putInt(811);
        main.putInt(812);
        main.putInt(813);
        pad(main);
        for (int relation : new int[] {30001, 30002, 30003}) {
            main.putInt(1663);
            main.putInt(5);
            main.putInt(relation);
            if (relation != 30002) {
                pad(main);
            }
        }
        pad(main);
        message(main, TransactionRecordLayout.SHAREDINVALRELCACHE_ID, 5, 30001);
        return main.toByteArray();
    }

    private static void pad(ByteBuilder out) {
        out.putZeros(XLogLayout.align(out.length()) - out.length());
    }

    @Test
    void readsAPreparedTransaction() {
        WalRecord record =
                new RecordBuilder()
                        .kind(ResourceManager.TRANSACTION, 0x10)
                        .main(prepare())
                        .wrapped();
        TransactionRecord view = new TransactionRecord(16);
        view.wrap(record);
        assertThat(view.isPrepare()).isTrue();
        assertThat(view.xid()).isEqualTo(810);
        assertThat(view.gid()).isEqualTo("two phases");
        assertThat(view.subxactCount()).isEqualTo(3);
        assertThat(view.subxact(2)).isEqualTo(813);
        assertThat(view.relation(0).relationNumber()).isEqualTo(30001);
        assertThat(view.abortRelationCount()).isEqualTo(2);
        assertThat(view.abortRelation(1).relationNumber()).isEqualTo(30003);
        assertThat(view.invalidationObject(0)).isEqualTo(30001);
        view.wrap(new RecordBuilder().kind(1, 0).main(new byte[8]).wrapped());
        assertThat(view.gid()).isEmpty();
        assertThat(view.subxactCount()).isZero();
    }

    @Test
    void anyBytesGiveAViewInsideThemOrATypedError() {
        long seed = Long.getLong("walshadow.seed", 7);
        Random random = new Random(seed);
        TransactionRecord view = new TransactionRecord(15);
        byte[][] mains = {commitPrepared(15), prepare()};
        for (int round = 0; round < 100_000; round++) {
            byte[] main = mains[round & 1].clone();
            for (int flips = random.nextInt(5); flips >= 0; flips--) {
                main[random.nextInt(main.length)] = (byte) random.nextInt();
            }
            byte[] cut = Arrays.copyOf(main, random.nextInt(main.length) + 1);
            int info =
                    random.nextInt(3) == 0 ? random.nextInt(256) : (round & 1) == 0 ? 0xB0 : 0x10;
            WalRecord record =
                    new RecordBuilder()
                            .kind(ResourceManager.TRANSACTION, info)
                            .main(random.nextBoolean() ? cut : main)
                            .wrapped();
            try {
                view.wrap(record);
                readAll(view);
            } catch (HaltException e) {
                assertThat(e.code()).isEqualTo(WalCodes.CORRUPT_RECORD);
            }
        }
    }

    private static void readAll(TransactionRecord view) {
        for (int i = 0; i < view.subxactCount(); i++) {
            view.subxact(i);
        }
        for (int i = 0; i < view.relationCount(); i++) {
            assertThat(view.relation(i)).isNotNull();
        }
        for (int i = 0; i < view.abortRelationCount(); i++) {
            assertThat(view.abortRelation(i)).isNotNull();
        }
        for (int i = 0; i < view.invalidationCount(); i++) {
            view.invalidationKind(i);
            view.invalidationObject(i);
        }
        assertThat(view.gid()).isNotNull();
    }
}
