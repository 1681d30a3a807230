package dev.walshadow.pipeline.encode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import dev.walshadow.postgres.heap.TupleView;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the encoder does beside plain values: policies, TOAST, old shapes, keys, failures. */
final class RowEncoderEngineTest {
    @RegisterExtension static final EncoderRig RIG = new EncoderRig();

    @Test
    void valuesThatClickHouseCannotHoldFollowTheirPolicyAndAreCounted() throws Exception {
        SourceTable table =
                RIG.table(
                        "policies",
                        "create table policies (id int primary key, d date, t timestamptz,"
                                + " n numeric(9,2), a int[])",
                        "insert into policies values (1, '1899-12-31', '1899-12-31"
                                + " 23:59:59.999999+00', 'NaN', null)",
                        "insert into policies values (2, '2300-01-01', '2300-01-01+00', 1, '{}')",
                        "insert into policies values (3, '-infinity', 'infinity', 1,"
                                + " '[0:1]={5,6}')",
                        "insert into policies values (4, 'infinity', '4713-01-01 BC', 1,"
                                + " '{7,null}')");
        PolicyCounts counts = RIG.load(table).counts();
        assertThat(RIG.select("SELECT id, d, t, n, a FROM public.policies ORDER BY id"))
                .containsExactly(
                        "1|1900-01-01|1900-01-01 00:00:00.000000|null|[]",
                        "2|2299-12-31|2299-12-31 23:59:59.999999|1|[]",
                        "3|1900-01-01|2299-12-31 23:59:59.999999|1|[5,6]",
                        "4|2299-12-31|1900-01-01 00:00:00.000000|1|[7,NULL]");
        assertThat(counts.count(Policy.CLAMPED)).isEqualTo(8);
        assertThat(counts.count(Policy.NOT_A_NUMBER)).isEqualTo(1);
        assertThat(counts.count(Policy.NULL_ARRAY)).isEqualTo(1);
        assertThat(counts.count(Policy.LOWER_BOUND)).isEqualTo(1);
        assertThat(counts.count(Policy.INVALID_TEXT)).isZero();
        assertThat(counts.byColumn())
                .isEqualTo(
                        Map.of(
                                1, Map.of(Policy.CLAMPED, 4L),
                                2, Map.of(Policy.CLAMPED, 4L),
                                3, Map.of(Policy.NOT_A_NUMBER, 1L),
                                4, Map.of(Policy.NULL_ARRAY, 1L, Policy.LOWER_BOUND, 1L)));
    }

    @Test
    void metaColumnsTellCommitAndRecord() throws Exception {
        SourceTable table =
                RIG.table(
                        "meta",
                        "create table meta (id int primary key, _lsn text, _version text)",
                        "insert into meta values (1, 'mine', 'mine too')");
        RowEncoder encoder = RIG.encoder(table.shape());
        RIG.create(encoder.mapping());
        TableBlock block = encoder.newBlock();
        TableBlock deleted = encoder.newBlock();
        long micros = 86_400_000_000L + 5;
        RowMeta meta = new RowMeta().transaction(0x16_B374_D848L, micros, -1);
        table.tuples(
                false,
                tuple -> {
                    encoder.appendRow(block, tuple, meta.record(0x1524B58, 0), table.chunks());
                    encoder.appendTombstone(
                            deleted, tuple, meta.record(0x1524B58, 0), table.chunks());
                });
        RIG.send(block, "meta");
        RIG.send(deleted, "deleted");
        assertThat(
                        RIG.select(
                                "SELECT id, _lsn, _version, toString(__version), _is_deleted,"
                                        + " _commit_ts, _xid, _commit_lsn, __lsn FROM public.meta"
                                        + " ORDER BY __version"))
                .containsExactly(
                        "1|null|null|"
                                + version(0x16_B374_D848L, 0x1524B58)
                                + "|1|2000-01-02 00:00:00.000005|4294967295|97500059720|22170456",
                        "1|mine|mine too|"
                                + version(0x16_B374_D848L, 0x1524B59)
                                + "|0|2000-01-02 00:00:00.000005|4294967295|97500059720|22170456");
        assertThat(RIG.select("SELECT id, _lsn FROM public.meta FINAL")).containsExactly("1|mine");
    }

    private static String version(long high, long low) {
        return java.math.BigInteger.valueOf(high)
                .shiftLeft(64)
                .add(java.math.BigInteger.valueOf(low))
                .toString();
    }

    @Test
    void aBadValueLeavesTheBlockUnchangedAndNamesItsPlace() throws Exception {
        SourceTable table =
                RIG.table(
                        "bad",
                        "create table bad (id int primary key, s text, a text[], z text)",
                        "insert into bad values (1, 'one', '{a}', 'z'), (2, 'two', '{{a},{b}}',"
                                + " 'z'), (3, 'three', '{c}', 'z')");
        RowEncoder encoder = RIG.encoder(table.shape());
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(0x2_0000_0010L, 0, 42);
        List<String> failures = new ArrayList<>();
        table.tuples(
                true,
                tuple -> {
                    long before = block.bytes();
                    int rows = block.rows();
                    try {
                        encoder.appendRow(
                                block, tuple, meta.record(0x1_0000_0020L, 0), table.chunks());
                    } catch (QuarantineException e) {
                        failures.add(String.valueOf(e.getMessage()));
                        assertThat(block.bytes()).isEqualTo(before);
                        assertThat(block.rows()).isEqualTo(rows);
                    }
                });
        assertThat(failures).hasSize(1);
        assertThat(failures.getFirst())
                .startsWith("WS-1751 public.bad, column a, row (")
                .contains(
                        ") at 1/20 of",
                        "xid 42",
                        "2/10",
                        "1 dimension as the column is declared, found 2",
                        "String");
        RIG.create(encoder.mapping());
        RIG.send(block, "bad");
        assertThat(RIG.select("SELECT id, s, a, z FROM public.bad ORDER BY id"))
                .containsExactly("1|one|['a']|z", "3|three|['c']|z");
    }

    @Test
    void toastedValuesComeFromChunksOrFromTheOldRow() throws Exception {
        SourceTable table =
                RIG.table(
                        "toasted",
                        "create table toasted (id int primary key, n int, big text, packed text,"
                                + " arr text[], num numeric)",
                        "alter table toasted alter big set storage external, alter arr set storage"
                                + " external",
                        "insert into toasted select i, i, repeat('x' || i, 3000), (select"
                            + " string_agg(md5(g::text || i), '') from generate_series(1, 400) g),"
                            + " array_fill('element'::text, array[500]), ('1' || repeat('7',"
                            + " 20000))::numeric from generate_series(1, 3) i");
        RowEncoder encoder = RIG.load(table);
        List<String> expected =
                List.of(
                        SourceTable.text(
                                RIG.connection(),
                                "select string_agg(concat_ws('|', id, md5(big), md5(packed),"
                                        + " array_length(arr, 1), md5(num::text)), ',' order by id)"
                                        + " from toasted"));
        String sums =
                "SELECT arrayStringConcat(groupArray(concat(toString(id), '|',"
                        + " lower(hex(MD5(big))), '|', lower(hex(MD5(packed))), '|',"
                        + " toString(length(arr)), '|', lower(hex(MD5(num))))), ',') FROM (SELECT *"
                        + " FROM public.toasted FINAL ORDER BY id)";
        assertThat(RIG.select(sums)).isEqualTo(expected);
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(2000, 0, 6);
        table.tuples(
                true,
                tuple -> {
                    int answer =
                            encoder.appendRow(
                                    block, tuple, meta.record(72, 0), SourceTable.noChunks());
                    assertThat(answer).isEqualTo(RowEncoder.NEEDS_OLD_VALUE);
                    assertThat(block.rows()).isEqualTo(block.nativeBlock().column(0).rows());
                    assertThat(encoder.missingCount()).isEqualTo(3);
                    assertThat(encoder.missingColumn(0)).isEqualTo(2);
                    answer =
                            encoder.appendRowWithOld(
                                    block,
                                    tuple,
                                    meta.record(72, 0),
                                    SourceTable.noChunks(),
                                    fromClickHouse(encoder, tuple, meta));
                    assertThat(answer).isEqualTo(RowEncoder.OK);
                });
        RIG.client().execute("TRUNCATE TABLE public.toasted");
        RIG.send(block, "old");
        assertThat(RIG.select(sums)).isEqualTo(expected);
    }

    private static OldValues fromClickHouse(RowEncoder encoder, TupleView tuple, RowMeta meta) {
        String key = RIG.literal(encoder, tuple, meta);
        return (column, out) -> {
            String name = encoder.mapping().columns().get(column).name();
            RIG.client()
                    .readRowBinary(
                            "SELECT "
                                    + Ddl.identifier(name)
                                    + " FROM public.toasted FINAL WHERE (id) IN ("
                                    + key
                                    + ")",
                            in -> out.putBytes(in.readAllBytes()));
            return out.length() > 0;
        };
    }

    @Test
    void rowsOlderThanAColumnGetItsDefault() throws Exception {
        List<String> columns =
                List.of(
                        "b bool default true",
                        "i int2 default -7",
                        "i8 int8 default 9223372036854775807",
                        "o oid default 4294967295",
                        "f float8 default 'NaN'",
                        "f4 float4 default -0.5",
                        "n numeric(20,3) default -1234567.891",
                        "nn numeric default 1.50",
                        "nan numeric(5,2) default 'NaN'",
                        "m money default -1234.5",
                        "s text default E'it''s \\\\ \"ü\"'",
                        "c char(5) default 'ab'",
                        "by bytea default '\\x00ff'",
                        "u uuid default '00112233-4455-6677-8899-aabbccddeeff'",
                        "d date default '2024-02-29'",
                        "dbc date default '0044-03-15 BC'",
                        "t time default '24:00'",
                        "ts timestamp(3) default '1969-12-31 23:59:59.999'",
                        "tz timestamptz default '2024-02-29 12:00:00.5+05:30'",
                        "inf timestamptz default 'infinity'",
                        "iv interval default '1 day'",
                        "j jsonb default '{\"a\": 1}'",
                        "ta text[] default '{a,\"b,c\",NULL,\"\\\"\"}'",
                        "ia int[] default '{1,NULL,3}'",
                        "ea int[] default '{}'",
                        "none text");
        List<String> statements = new ArrayList<>();
        statements.add("create table missing (id int primary key, gone text, x int)");
        statements.add("insert into missing values (1, 'gone', 1)");
        statements.add("alter table missing drop gone");
        for (String column : columns) {
            statements.add("alter table missing add " + column);
        }
        statements.add("insert into missing (id, x) values (2, 1)");
        SourceTable table = RIG.table("missing", statements.toArray(String[]::new));
        assertThat(
                        table.shape().attributes().stream()
                                .filter(a -> a.missingValue() != null)
                                .map(AttributeDescriptor::name))
                .hasSize(columns.size() - 1);
        RIG.load(table);
        List<String> names = columns.stream().map(c -> c.substring(0, c.indexOf(' '))).toList();
        for (String name : names) {
            List<String> values =
                    RIG.select(
                            "SELECT toString(tuple(" + name + ")) FROM public.missing ORDER BY id");
            assertThat(values.get(0)).as(name).isEqualTo(values.get(1));
        }
        assertThat(RIG.select("SELECT x, none, s, ta FROM public.missing WHERE id = 1"))
                .containsExactly("1|null|it's \\ \"ü\"|['a','b,c',NULL,'\"']");
    }

    @Test
    void virtualColumnsAreLeftOutAndStoredOnesArePlain() throws Exception {
        SourceTable table =
                RIG.table(
                        "generated",
                        "create table generated (id int primary key, v int generated always as (id"
                            + " * 2) virtual, s int generated always as (id * 3) stored, t text)",
                        "insert into generated values (1, default, default, 'x')");
        Derivation.Mapped mapped =
                (Derivation.Mapped) TableMapping.derive(table.shape(), MappingRules.defaults());
        assertThat(mapped.notes())
                .containsExactly(
                        "public.generated: column v is a virtual generated column: PostgreSQL does"
                                + " not store it, so it is not replicated");
        RIG.load(table);
        assertThat(RIG.select("SELECT * FROM public.generated")).hasSize(1);
        assertThat(RIG.select("SELECT id, s, t FROM public.generated")).containsExactly("1|3|x");
    }

    @Test
    void anyNameIsCarriedOver() throws Exception {
        List<String> names =
                List.of(
                        "id key",
                        "it's",
                        "back`tick",
                        "back\\slash",
                        "Größe",
                        "表",
                        "percent%s",
                        "_part",
                        "_row_exists",
                        "_block_number",
                        "_version",
                        "order",
                        "1st",
                        "a.b");
        String columns =
                String.join(" int not null, ", names.stream().map(n -> '"' + n + '"').toList());
        SourceTable table =
                RIG.table(
                        "\"T`a'b\\le\"",
                        "create table \"T`a'b\\le\" ("
                                + columns
                                + " int, primary key (\"id key\", \"Größe\", \"back`tick\","
                                + " \"order\"))",
                        "insert into \"T`a'b\\le\" values (1,2,3,4,5,6,7,8,9,10,11,12,13,14)");
        RowEncoder encoder = RIG.load(table);
        TableMapping mapping = encoder.mapping();
        assertThat(
                        mapping.differences(
                                Objects.requireNonNull(
                                        TableShape.read(
                                                RIG.client(),
                                                mapping.database(),
                                                mapping.table()))))
                .isEmpty();
        String quoted =
                String.join(
                        ", ",
                        mapping.columns().stream().map(c -> Ddl.identifier(c.name())).toList());
        assertThat(
                        RIG.select(
                                "SELECT "
                                        + quoted
                                        + " FROM "
                                        + Ddl.qualified(mapping.database(), mapping.table())))
                .containsExactly("1|2|3|4|5|6|7|8|9|10|11|12|13|14");
    }

    @Test
    void aMappingOfAnotherShapeIsRefused() throws Exception {
        SourceTable table =
                RIG.table(
                        "shape_before",
                        "create table shape_before (id int primary key, v int, w int)");
        TableMapping mapping = RIG.mapping(table.shape());
        SourceTable altered =
                RIG.table("shape_before", "alter table shape_before alter v type int8, drop w");
        assertThatThrownBy(() -> RowEncoder.compile(altered.shape(), mapping, SourceEncoding.UTF8))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("WS-1752 public.shape_before")
                .hasMessageContaining("column v");
    }

    @Test
    void otherEncodingsBecomeUtf8() throws Exception {
        for (String encoding : List.of("LATIN1", "EUC_JP", "WIN1252", "SQL_ASCII")) {
            String database = "db_" + encoding.toLowerCase(java.util.Locale.ROOT);
            SourceTable.execute(
                    RIG.connection(),
                    "create database %s encoding '%s' locale 'C' template template0"
                            .formatted(database, encoding));
            try (Connection other = RIG.connect(database)) {
                String text = encoding.equals("EUC_JP") ? "日本語" : "Größe";
                SourceTable.execute(
                        other,
                        "create extension pageinspect",
                        "create type mood as enum ('%s')".formatted(text),
                        "create type pair as (m mood, t text)",
                        "create table texts (id int primary key, s text, j json, c char(12), n"
                                + " name, a text[], m mood, p pair)",
                        "insert into texts values (1, '%1$s', '{\"k\":\"%1$s\"}', '%1$s', '%1$s', array['%1$s', null], '%1$s', ('%1$s', '%1$s')::pair)"
                                .formatted(text));
                SourceTable table = new SourceTable(other, "texts");
                TableMapping mapping = RIG.mapping(table.shape());
                RowEncoder encoder =
                        RowEncoder.compile(table.shape(), mapping, SourceEncoding.named(encoding));
                TableBlock block = encoder.newBlock();
                table.tuples(
                        true,
                        tuple ->
                                encoder.appendRow(
                                        block, tuple, new RowMeta(), SourceTable.noChunks()));
                RIG.client().execute("DROP TABLE IF EXISTS public.texts SYNC");
                RIG.create(mapping);
                RIG.send(block, encoding);
                String padded = text + " ".repeat(12 - text.length());
                if (encoding.equals("SQL_ASCII")) {
                    padded = text + " ".repeat(12 - text.getBytes(StandardCharsets.UTF_8).length);
                }
                assertThat(RIG.select("SELECT s, j, c, n, a, m, p FROM public.texts"))
                        .as(encoding)
                        .containsExactly(
                                "%1$s|{\"k\":\"%1$s\"}|%2$s|%1$s|['%1$s',NULL]|%1$s|(%1$s,%1$s)"
                                        .formatted(text, padded));
                assertThat(encoder.counts().count(Policy.INVALID_TEXT)).isZero();
            }
        }
    }

    @Test
    void invalidBytesAreCounted() throws Exception {
        SourceTable.execute(
                RIG.connection(),
                "create database bytes encoding 'SQL_ASCII' locale 'C' template template0");
        try (Connection other = RIG.connect("bytes")) {
            SourceTable.execute(
                    other,
                    "create extension pageinspect",
                    "create table raw (id int primary key, s text)",
                    "insert into raw values (1, E'a\\xffb')");
            SourceTable table = new SourceTable(other, "raw");
            RowEncoder encoder =
                    RowEncoder.compile(
                            table.shape(),
                            RIG.mapping(table.shape()),
                            SourceEncoding.named("SQL_ASCII"));
            TableBlock block = encoder.newBlock();
            table.tuples(
                    false,
                    tuple ->
                            encoder.appendRow(block, tuple, new RowMeta(), SourceTable.noChunks()));
            RIG.create(encoder.mapping());
            RIG.send(block, "raw");
            assertThat(RIG.select("SELECT hex(s) FROM public.raw")).containsExactly("61FF62");
            assertThat(encoder.counts().count(Policy.INVALID_TEXT)).isEqualTo(1);
        }
        assertThat(Objects.requireNonNull(SourceEncoding.UTF8.name())).isEqualTo("UTF8");
    }
}
