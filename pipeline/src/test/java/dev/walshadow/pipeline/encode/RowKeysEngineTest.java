package dev.walshadow.pipeline.encode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.ToastValues;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Keys of rows, from a real server's tuples to ClickHouse: which rows are one. */
final class RowKeysEngineTest {
    @RegisterExtension static final EncoderRig RIG = new EncoderRig();

    @Test
    void aToastedKeyComesFromTheOldKey() throws Exception {
        SourceTable table =
                RIG.table(
                        "toasted_key",
                        "create table toasted_key (k text primary key, v text)",
                        "alter table toasted_key alter k set storage external,"
                                + " alter v set storage plain",
                        "insert into toasted_key values (repeat('key', 700), repeat('v', 1500))");
        RowEncoder encoder = RIG.encoder(table.shape());
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(1, 0, 1);
        SourceTable keys =
                RIG.table(
                        "flat_key",
                        "create table flat_key (k text primary key, v text)",
                        "alter table flat_key alter k set storage plain",
                        "insert into flat_key values (repeat('key', 700), null)");
        List<byte[]> oldKey = new ArrayList<>();
        keys.tuples(
                false,
                tuple ->
                        oldKey.add(
                                java.util.Arrays.copyOfRange(
                                        tuple.buffer(), tuple.headerOffset(), tuple.end())));
        TupleView old = new TupleView();
        old.wrapPage(oldKey.getFirst(), 0, oldKey.getFirst().length);
        table.tuples(
                false,
                tuple -> {
                    assertThat(tuple.hasExternal()).isTrue();
                    assertThatThrownBy(() ->
                                    encoder.appendRow(
                                            block,
                                            tuple,
                                            meta.record(8, 0),
                                            SourceTable.noChunks()))
                            .isInstanceOf(QuarantineException.class)
                            .hasMessageContaining("key column k");
                    assertThat(
                                    encoder.appendRow(
                                            block,
                                            tuple,
                                            meta.record(8, 0).oldKey(old),
                                            SourceTable.noChunks()))
                            .isEqualTo(RowEncoder.OK);
                    assertThat(encoder.sameKey(tuple, old, SourceTable.noChunks())).isTrue();
                    assertThat(encoder.sameKey(tuple, old, table.chunks())).isTrue();
                });
        RIG.create(encoder.mapping());
        RIG.send(block, "key");
        assertThat(RIG.select("SELECT k = repeat('key', 700) FROM public.toasted_key"))
                .containsExactly("1");
    }

    @Test
    void withoutAKeyThePlaceTellsRowsApart() throws Exception {
        SourceTable table =
                RIG.table(
                        "places",
                        "create table places (v text, n int, a int[])",
                        "insert into places values ('same', 1, '{1}'), ('same', 1, '{1}'), (null,"
                                + " null, null)");
        RowEncoder encoder = RIG.encoder(table.shape());
        RIG.create(encoder.mapping());
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(2000, 0, 6);
        long[] tid = {0};
        table.tuples(
                true,
                tuple -> {
                    meta.record(64, ++tid[0]);
                    assertThat(encoder.keyChanged(tuple, tuple, meta, table.chunks())).isFalse();
                    encoder.appendRow(block, tuple, meta, table.chunks());
                });
        RIG.send(block, "places");
        String all = "SELECT v, n, a, _tid FROM public.places FINAL ORDER BY _tid";
        assertThat(RIG.select(all))
                .containsExactly("same|1|[1]|1", "same|1|[1]|2", "null|null|[]|3");
        block.clear();
        long far = 0xFFFF_FFF0L << 16 | 7;
        table.tuples(
                true,
                tuple -> {
                    meta.record(80, far).oldTid(2);
                    if (block.rows() == 0) {
                        assertThat(encoder.keyChanged(tuple, null, meta, table.chunks())).isTrue();
                        encoder.appendRow(block, tuple, meta, table.chunks());
                        encoder.appendOldTombstone(block, null, meta, table.chunks());
                        encoder.appendTombstone(block, null, meta.record(88, 3), table.chunks());
                    }
                });
        RIG.send(block, "moved");
        assertThat(RIG.select(all)).containsExactly("same|1|[1]|1", "same|1|[1]|281474975662087");
        ByteBuilder key = new ByteBuilder(8);
        meta.record(96, far).oldTid(2);
        encoder.appendOldKey(null, meta, table.chunks(), key);
        encoder.appendKey(null, meta, table.chunks(), key);
        ByteBuilder literals = new ByteBuilder(64);
        encoder.appendKeyLiteral(key.array(), 0, literals);
        encoder.appendKeyLiteral(key.array(), Long.BYTES, literals);
        assertThat(literals.toString()).isEqualTo("(2)(281474975662087)");
        assertThat(encoder.mapping().differences(shape(encoder.mapping()))).isEmpty();
    }

    private static TableShape shape(TableMapping mapping) {
        return java.util.Objects.requireNonNull(
                TableShape.read(RIG.client(), mapping.database(), mapping.table()));
    }

    @Test
    void aFullReplicaIdentityHasTheUnchangedToastedValues() throws Exception {
        SourceTable table =
                RIG.table(
                        "full_toast",
                        "create table full_toast (n int, big text, other text)",
                        "alter table full_toast replica identity full",
                        "alter table full_toast alter big set storage external, alter other set"
                                + " storage external",
                        "insert into full_toast values (1, repeat('big', 700), repeat('x', 3000))");
        SourceTable flat =
                RIG.table(
                        "flat_toast",
                        "create table flat_toast (n int, big text, other text)",
                        "alter table flat_toast alter big set storage plain",
                        "insert into flat_toast values (1, repeat('big', 700), null)");
        List<byte[]> logged = new ArrayList<>();
        flat.tuples(
                false,
                tuple ->
                        logged.add(
                                java.util.Arrays.copyOfRange(
                                        tuple.buffer(), tuple.headerOffset(), tuple.end())));
        TupleView old = new TupleView();
        old.wrapPage(logged.getFirst(), 0, logged.getFirst().length);
        RowEncoder encoder = RIG.encoder(table.shape());
        RIG.create(encoder.mapping());
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(1, 0, 1);
        table.tuples(
                false,
                tuple -> {
                    meta.record(8, 2).oldTid(1).oldKey(old);
                    assertThat(encoder.appendRow(block, tuple, meta, SourceTable.noChunks()))
                            .isEqualTo(RowEncoder.NEEDS_OLD_VALUE);
                    assertThat(encoder.missingCount()).isEqualTo(1);
                    assertThat(encoder.missingColumn(0)).isEqualTo(2);
                });
    }

    @Test
    void aKeyColumnMayBeYoungerThanItsRows() throws Exception {
        SourceTable table =
                RIG.table(
                        "young_key",
                        "create table young_key (id int not null)",
                        "insert into young_key values (1)",
                        "alter table young_key add k text not null default 'k', add primary key"
                                + " (id, k)",
                        "insert into young_key values (2, 'k'), (1, 'x')");
        RowEncoder encoder = RIG.load(table);
        List<byte[]> tuples = new ArrayList<>();
        List<String> keys = new ArrayList<>();
        table.tuples(
                false,
                tuple -> {
                    keys.add(RIG.literal(encoder, tuple, new RowMeta()));
                    tuples.add(
                            java.util.Arrays.copyOfRange(
                                    tuple.buffer(), tuple.headerOffset(), tuple.end()));
                });
        assertThat(keys).containsExactly("(1,'k')", "(2,'k')", "(1,'x')");
        assertThat(same(encoder, tuples.get(0), tuples.get(0))).isTrue();
        assertThat(same(encoder, tuples.get(0), tuples.get(1))).isFalse();
        assertThat(same(encoder, tuples.get(2), tuples.get(0))).isFalse();
        assertThat(RIG.select("SELECT id, k FROM public.young_key ORDER BY id, k"))
                .containsExactly("1|k", "1|x", "2|k");
    }

    @Test
    void keysAreEqualAsClickHouseSeesThem() throws Exception {
        SourceTable table =
                RIG.table(
                        "keys",
                        "create table keys (f float8, n numeric, d numeric(9,2), s text, u uuid,"
                                + " ts timestamptz, b bool, m money, t time, a int[],"
                                + " primary key (s, f, n, d, u, ts, b, m, t, a))");
        String rest =
                ", 1, 'a', '00112233-4455-6677-8899-aabbccddeeff', '2024-01-01', true, 1.5, '1:00',"
                        + " '{1}')";
        // equal ones side by side, which only a table without its key can hold
        SourceTable.execute(
                RIG.connection(),
                "alter table keys drop constraint keys_pkey",
                "insert into keys values (0, 1.0" + rest,
                "insert into keys values ('-0', 1.0" + rest,
                "insert into keys values (0, 1.00" + rest,
                "insert into keys values (0, 1.0, 1, E'a''\\\\\\n',"
                        + " '00112233-4455-6677-8899-aabbccddeeff', 'infinity', false, -1, '24:00',"
                        + " '{}')");
        RowEncoder encoder = RIG.encoder(table.shape());
        assertThat(encoder.mapping().keyNames())
                .containsExactly("s", "f", "n", "d", "u", "ts", "b", "m", "t", "a");
        RIG.create(encoder.mapping());
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(1, 0, 1);
        List<byte[]> tuples = new ArrayList<>();
        List<byte[]> keys = new ArrayList<>();
        List<String> literals = new ArrayList<>();
        table.tuples(
                false,
                tuple -> {
                    tuples.add(
                            java.util.Arrays.copyOfRange(
                                    tuple.buffer(), tuple.headerOffset(), tuple.end()));
                    ByteBuilder key = new ByteBuilder(64);
                    encoder.appendKey(tuple, meta.record(8, 0), SourceTable.noChunks(), key);
                    keys.add(key.toByteArray());
                    literals.add(RIG.literal(encoder, tuple, meta));
                    if (tuples.size() != 2) {
                        // a -0 would be kept as it is, and IN does not find it by 0
                        encoder.appendRow(block, tuple, meta, SourceTable.noChunks());
                    }
                });
        RIG.send(block, "keys");
        assertThat(same(encoder, tuples.get(0), tuples.get(1))).isTrue();
        assertThat(same(encoder, tuples.get(0), tuples.get(2))).isFalse();
        assertThat(same(encoder, tuples.get(0), tuples.get(3))).isFalse();
        assertThat(keys.get(0)).isEqualTo(keys.get(1)).isNotEqualTo(keys.get(2));
        String names = String.join(", ", encoder.mapping().keyNames());
        for (int i = 0; i < tuples.size(); i++) {
            byte[][] found = new byte[1][];
            RIG.client()
                    .readRowBinary(
                            "SELECT "
                                    + names
                                    + " FROM public.keys FINAL WHERE ("
                                    + names
                                    + ") IN ("
                                    + literals.get(i)
                                    + ")",
                            in -> found[0] = in.readAllBytes());
            assertThat(found[0]).as(literals.get(i)).isEqualTo(keys.get(i));
        }
    }

    private static boolean same(RowEncoder encoder, byte[] one, byte[] other) {
        TupleView a = new TupleView();
        TupleView b = new TupleView();
        a.wrapPage(one, 0, one.length);
        b.wrapPage(other, 0, other.length);
        return encoder.sameKey(a, b, SourceTable.noChunks());
    }

    @Test
    void aNaNKeyIsRefused() throws Exception {
        SourceTable table =
                RIG.table(
                        "nan_key",
                        "create table nan_key (n numeric(9,2) primary key)",
                        "insert into nan_key values ('NaN')");
        RowEncoder encoder = RIG.encoder(table.shape());
        TableBlock block = encoder.newBlock();
        ToastValues none = SourceTable.noChunks();
        table.tuples(
                false,
                tuple ->
                        assertThatThrownBy(
                                        () -> encoder.appendRow(block, tuple, new RowMeta(), none))
                                .isInstanceOf(QuarantineException.class)
                                .hasMessageContaining("public.nan_key")
                                .hasMessageContaining("key column n"));
        assertThat(block.rows()).isZero();
    }
}
