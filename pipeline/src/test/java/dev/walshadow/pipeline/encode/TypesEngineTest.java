package dev.walshadow.pipeline.encode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.ServerFeatures;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import dev.walshadow.postgres.value.IsoText;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Real tuples of every type, encoded, inserted into the real engine, read back and compared with
 * what PostgreSQL itself prints.
 */
final class TypesEngineTest {
    private static final int RANDOM_ROWS = Boolean.getBoolean("walshadow.soak") ? 5_000 : 200;

    @TempDir Path folder;

    private final double seed = Math.floorMod(System.nanoTime(), 1000) / 1000.0;

    private record Case(String type, String random, List<String> values) {
        static Case of(String type, String random, String... values) {
            return new Case(type, random, List.of(values));
        }
    }

    /** Numbers, dates within ClickHouse's range, texts. */
    private static List<Case> cases() {
        String text = "md5(random()::text) || repeat('ü€😀', (random() * 40)::int)";
        return List.of(
                Case.of("bool", "random() < 0.5", "t", "f"),
                Case.of("int2", "(random() * 60000 - 30000)::int", "-32768", "32767", "0"),
                Case.of("int4", "(random() * 4e9 - 2e9)::int8", "-2147483648", "2147483647"),
                Case.of(
                        "int8",
                        "(random() * 1e18)::int8",
                        "-9223372036854775808",
                        "9223372036854775807"),
                Case.of("oid", "(random() * 4e9)::int8", "0", "4294967295"),
                Case.of("xid", "(random() * 4e9)::int8", "3", "4294967295"),
                Case.of("xid8", "(random() * 1e18)::int8", "18446744073709551615"),
                Case.of(
                        "float4",
                        "random() * power(10, random() * 60 - 30)",
                        "NaN",
                        "Infinity",
                        "-Infinity",
                        "-0",
                        "3.4028235e38",
                        "1e-45",
                        "0.1"),
                Case.of(
                        "float8",
                        "random() * power(10, random() * 600 - 300)",
                        "NaN",
                        "Infinity",
                        "-Infinity",
                        "-0",
                        "1.7976931348623157e308",
                        "5e-324",
                        "0.1"),
                Case.of("numeric", decimal(60, 30), "0", "1.50", "-0.0001", "NaN", "Infinity"),
                Case.of("numeric(9,2)", decimal(7, 2), "0", "-9999999.99", "0.05", "1e6"),
                Case.of("numeric(18,0)", decimal(17, 0), "-999999999999999999", "7"),
                Case.of("numeric(38,10)", decimal(28, 10), "-0.0000000001", "1e27"),
                Case.of("numeric(76,38)", decimal(38, 38), "-1e-38", "1", "1e37"),
                Case.of("numeric(5,-2)", decimal(6, 0), "1234567"),
                Case.of("numeric(3,5)", "0.001 * random()", "0.00999"),
                Case.of("numeric(90,2)", decimal(80, 2), "1e80"),
                Case.of("money", "random() * 1e6", "-92233720368547758.08", "0.01", "-1.5"),
                Case.of("text", text, "", "a", "\\N", "\t\n\r\\\"'", "NULL"),
                Case.of("varchar(200)", "left(" + text + ", 200)", "", "é"),
                Case.of("char(9)", "left(md5(random()::text), 9)", "", "ab", "é"),
                Case.of("name", "left(md5(random()::text), 20)", "", "x".repeat(63)),
                Case.of("\"char\"", "chr((random() * 60 + 40)::int)", "", "a", "\\377"),
                Case.of("citext", text, "Ab", "aB"),
                Case.of("xml", "'<a>' || md5(random()::text) || '</a>'", "<a b=\"c\">d</a>"),
                Case.of("bytea", "decode(md5(random()::text), 'hex')", "\\x", "\\x00ff5c0a"),
                Case.of("uuid", "gen_random_uuid()", "00112233-4455-6677-8899-aabbccddeeff"),
                Case.of("date", "date '1900-01-01' + (random() * 146000)::int", "1970-01-01"),
                Case.of("date", "date '1900-01-01' + (random() * 146000)::int", "2299-12-31"),
                Case.of("time", "time '00:00' + random() * interval '1 day'", "24:00:00", "0:0"),
                Case.of(
                        "timestamp",
                        time("timestamp"),
                        "1900-01-01 00:00",
                        "1969-12-31 23:59:59.999999"),
                Case.of("timestamptz", time("timestamptz"), "2299-12-31 23:59:59.999999+00"),
                Case.of("timestamp(0)", time("timestamp"), "1969-12-31 23:59:59"),
                Case.of("timestamptz(3)", time("timestamptz"), "1950-01-01 00:00:00.001+00"),
                Case.of("timetz", "time '00:00' + random() * interval '1 day'", "12:00+05:30"),
                Case.of("interval", "random() * interval '1000 days'", "1 mon -3 days 04:05:06.7"),
                Case.of("json", "json_build_object('a', random())", "{ \"b\" : 1 ,\"b\":2}", "[]"),
                Case.of(
                        "jsonb",
                        "jsonb_build_object('a', random(), 'ü', '€')",
                        "{\"b\":1.50}",
                        "null"),
                Case.of("inet", "'10.0.0.0'::inet + (random() * 1e6)::int", "::1", "10.1.2.3/24"),
                Case.of("cidr", "'10.0.0.0/8'::cidr", "2001:db8::/32"),
                Case.of("macaddr", "'08:00:2b:01:02:03'::macaddr", "08:00:2b:01:02:03"),
                Case.of("bit(5)", "b'10110'", "10101"),
                Case.of("varbit", "b'1011'", "", "1"),
                Case.of("pg_lsn", "'16/B374D848'::pg_lsn", "0/0"),
                Case.of("amount", "random()::numeric(10,2)", "1.25"),
                Case.of("labels", "array[md5(random()::text)]", "{a,NULL}"),
                Case.of("mood", "(array['sad','ok','it''s ü'])[1 + (random() * 2)::int]", "ok"),
                Case.of("moods", "(array['sad','ok'])[1 + (random() * 1)::int]", "ok"),
                Case.of(
                        "pair",
                        "row(random(), md5(random()::text), array[random()])::pair",
                        "(,,)",
                        "(1.5,\"a \"\"b\"\" \\\\c\",\"{1,NULL}\")"),
                Case.of("int4range", "int4range((random() * 9)::int, 10)", "empty", "(,)", "[1,)"),
                Case.of(
                        "tstzmultirange",
                        "tstzmultirange(tstzrange('2001-01-01', '2001-01-02'),"
                                + " tstzrange('2002-01-01', null))",
                        "{}",
                        "{(,)}"));
    }

    private static String decimal(int whole, int fraction) {
        return "round((random()::numeric - 0.5) * power(10::numeric, random()::numeric * "
                + whole
                + "), "
                + fraction
                + ")";
    }

    private static String time(String type) {
        return type + " '1900-01-01' + random() * interval '390 years'";
    }

    @Test
    void everyValueArrivesAsPostgresShowsIt() throws Exception {
        int major = Integer.getInteger("walshadow.postgres", 18);
        try (EmbeddedPostgres postgres =
                        EmbeddedPostgres.at(folder.resolve("postgres"))
                                .version(major)
                                .setting("fsync", "off")
                                .setting("autovacuum", "off")
                                .setting("lc_monetary", "C")
                                .start();
                Connection connection = SourceTable.connect(postgres, "postgres");
                EmbeddedClickHouse server = EmbeddedClickHouse.start(folder.resolve("clickhouse"));
                ClickHouseClient client =
                        new ClickHouseClient(ClickHouseOptions.at(server.url()))) {
            SourceTable.execute(
                    connection,
                    "create extension pageinspect",
                    "create extension citext",
                    "set datestyle to iso, ymd; set timezone to utc; set xmloption to content",
                    "create domain amount as numeric(12,2)",
                    "create domain labels as text[]",
                    "create type mood as enum ('sad', 'ok', 'it''s ü')",
                    "create domain moods as mood",
                    "create type pair as (x float8, t text, a numeric[])",
                    "select setseed(" + seed + ")");
            client.execute(Ddl.createDatabase("public"));
            List<String> differences = new ArrayList<>();
            int number = 0;
            for (Case one : cases()) {
                compare(connection, client, "t" + number++, one, differences);
            }
            assertThat(differences).as("seed %s", seed).isEmpty();
        }
    }

    @Test
    void arraysAndEnumKeysArriveAsDeclared() throws Exception {
        try (EmbeddedPostgres postgres =
                        EmbeddedPostgres.at(folder.resolve("postgres"))
                                .setting("fsync", "off")
                                .setting("autovacuum", "off")
                                .start();
                Connection connection = SourceTable.connect(postgres, "postgres");
                EmbeddedClickHouse server = EmbeddedClickHouse.start(folder.resolve("clickhouse"));
                ClickHouseClient client =
                        new ClickHouseClient(ClickHouseOptions.at(server.url()))) {
            SourceTable.execute(
                    connection,
                    "create extension pageinspect",
                    "create type mood as enum ('sad', 'ok')",
                    "create domain grid as mood[][]",
                    "create domain list as int[]",
                    "create table t (mood mood, id int8, m int[][], g grid, l list[],"
                            + " c int[][][], primary key (mood, id))",
                    "insert into t values ('ok', 1, '{{1,2},{3,NULL}}', '{{ok,NULL}}',"
                            + " '{\"{1,2}\",\"{}\",NULL}', '{{{1},{2}},{{3},{4}}}')",
                    "insert into t values ('ok', 2, '{}', '{{sad},{ok}}', null, null)",
                    "insert into t values ('sad', 3, null, '[0:0][5:5]={{sad}}', '{}', '{}')",
                    "alter table t add column d int[][] default '{{1,2},{NULL,4}}', add column e"
                            + " mood default 'ok', add column f mood[] default '{ok}'");
            client.execute(Ddl.createDatabase("public"));
            SourceTable table = new SourceTable(connection, "t");
            TableMapping mapping = mapping(table, client);
            assertThat(mapping.columns().stream().map(column -> column.type().print()))
                    .containsExactly(
                            "Enum16('sad' = 1, 'ok' = 2)",
                            "Int64",
                            "Array(Array(Nullable(Int32)))",
                            "Array(Array(Nullable(Enum16('sad' = 1, 'ok' = 2))))",
                            "Array(Nullable(String))",
                            "Array(Array(Array(Nullable(Int32))))",
                            "Array(Array(Nullable(Int32)))",
                            "Nullable(Enum16('sad' = 1, 'ok' = 2))",
                            "Array(Nullable(Enum16('sad' = 1, 'ok' = 2)))");
            encode(client, table, mapping);
            String missing = "[[1,2],[NULL,4]]|ok|['ok']";
            assertThat(
                            client.query(
                                    "SELECT concat(toString(mood), '|', toString(id), '|',"
                                            + " toString(m), '|', toString(g), '|', toString(l),"
                                            + " '|', toString(c), '|', toString(d), '|',"
                                            + " toString(assumeNotNull(e)), '|', toString(f))"
                                            + " FROM public.t FINAL ORDER BY id"))
                    .extracting(row -> row[0])
                    .containsExactly(
                            "ok|1|[[1,2],[3,NULL]]|[['ok',NULL]]|['{1,2}','{}',NULL]"
                                    + "|[[[1],[2]],[[3],[4]]]|"
                                    + missing,
                            "ok|2|[]|[['sad'],['ok']]|[]|[]|" + missing,
                            "sad|3|[]|[['sad']]|[]|[]|" + missing);
            assertFoundByKey(client, table, mapping);
        }
    }

    /** The literal of every row's key finds exactly that row. */
    private static void assertFoundByKey(
            ClickHouseClient client, SourceTable table, TableMapping mapping) throws Exception {
        RowEncoder encoder = RowEncoder.compile(table.shape(), mapping, SourceEncoding.UTF8);
        List<String> literals = new ArrayList<>();
        table.tuples(
                false,
                tuple -> {
                    ByteBuilder key = new ByteBuilder(64);
                    ByteBuilder out = new ByteBuilder(64);
                    encoder.appendKey(
                            tuple, new RowMeta().transaction(1, 0, 1), table.chunks(), key);
                    encoder.appendKeyLiteral(key.array(), 0, out);
                    literals.add(out.toString());
                });
        for (String literal : literals) {
            assertThat(
                            client.query(
                                            "SELECT count() FROM public.t FINAL WHERE ("
                                                    + String.join(", ", mapping.keyNames())
                                                    + ") IN ("
                                                    + literal
                                                    + ")")
                                    .getFirst()[0])
                    .as(literal)
                    .isEqualTo("1");
        }
    }

    private static void compare(
            Connection connection,
            ClickHouseClient client,
            String name,
            Case one,
            List<String> differences)
            throws Exception {
        boolean array = !one.type().equals("labels");
        SourceTable.execute(
                connection,
                "create table "
                        + name
                        + " (filler bool, id int8 primary key, v "
                        + one.type()
                        + (array ? ", a " + one.type() + "[]" : "")
                        + ", last int2)");
        int id = 0;
        for (String value : one.values()) {
            String literal = "'" + value.replace("'", "''") + "'";
            SourceTable.execute(
                    connection,
                    "insert into %s values (true, %d, E%s::text::%s%s, 7)"
                            .formatted(
                                    name,
                                    id++,
                                    literal.replace("\\", "\\\\"),
                                    one.type(),
                                    array
                                            ? ", array[null, E%s]::text[]::%s[]"
                                                    .formatted(
                                                            literal.replace("\\", "\\\\"),
                                                            one.type())
                                            : ""));
        }
        SourceTable.execute(
                connection,
                ("insert into %s select random() < 0.5, i, case when random() < 0.9 then"
                                + " (%s)::text::%s end%s, i from generate_series(%d, %d) i")
                        .formatted(
                                name,
                                one.random(),
                                one.type(),
                                array
                                        ? ", case when i %% 5 > 0 then (array[(%s)::text::%s, null])[:i %% 3] end"
                                                .formatted(one.random(), one.type())
                                        : "",
                                id,
                                id + RANDOM_ROWS));
        SourceTable table = new SourceTable(connection, name);
        TableMapping mapping = mapping(table, client);
        encode(client, table, mapping);
        for (ColumnMapping column : mapping.columns()) {
            differences.addAll(differences(client, table, mapping, column, one.type()));
        }
    }

    private static TableMapping mapping(SourceTable table, ClickHouseClient client) {
        Derivation derivation = TableMapping.derive(table.shape(), MappingRules.defaults());
        assertThat(derivation).isInstanceOf(Derivation.Mapped.class);
        TableMapping mapping = ((Derivation.Mapped) derivation).mapping();
        assertThat(TableMapping.fromJson(mapping.toJson())).isEqualTo(mapping);
        client.execute(mapping.toDdl(), ServerFeatures.detect(client).ddlSettings());
        TableShape existing =
                Objects.requireNonNull(
                        TableShape.read(client, mapping.database(), mapping.table()));
        assertThat(mapping.differences(existing)).isEmpty();
        return mapping;
    }

    /** Half of the rows in page shape, half in the shape of WAL. */
    private static void encode(ClickHouseClient client, SourceTable table, TableMapping mapping)
            throws Exception {
        RowEncoder encoder = RowEncoder.compile(table.shape(), mapping, SourceEncoding.UTF8);
        TableBlock page = encoder.newBlock();
        TableBlock wal = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(100, 0, 7);
        table.tuples(
                false,
                tuple ->
                        assertThat(
                                        encoder.appendRow(
                                                page, tuple, meta.record(8, 0), table.chunks()))
                                .isEqualTo(RowEncoder.OK));
        table.tuples(
                true, tuple -> encoder.appendRow(wal, tuple, meta.record(8, 0), table.chunks()));
        assertThat(page.nativeBlock().bytes()).isEqualTo(wal.nativeBlock().bytes());
        client.insert(mapping.database(), mapping.table(), page.nativeBlock(), "page");
        client.insert(mapping.database(), mapping.table(), wal.nativeBlock(), "wal");
    }

    private static List<String> differences(
            ClickHouseClient client,
            SourceTable table,
            TableMapping mapping,
            ColumnMapping column,
            String type)
            throws Exception {
        String name = column.sourceName();
        boolean array = column.dimensions() > 0;
        String element = array ? "x" : "v";
        String text =
                switch (column.conversion()) {
                    case BYTES -> "concat('\\\\x', lower(hex(%s)))";
                    case BOOL -> "substring(toString(%s), 1, 1)";
                    default -> "toString(%s)";
                };
        String value =
                array
                        ? "arrayStringConcat(arrayMap(x -> if(isNull(x), 'N', concat('V', hex("
                                + text.formatted("assumeNotNull(x)")
                                + "))), v), ',')"
                        : text.formatted(element);
        List<@Nullable String[]> found =
                client.query(
                        "SELECT "
                                + value
                                + " FROM (SELECT "
                                + Ddl.identifier(column.name())
                                + " AS v, id FROM "
                                + Ddl.qualified(mapping.database(), mapping.table())
                                + " FINAL) ORDER BY id");
        List<@Nullable String[]> expected =
                table.rows("select " + name + " from " + mapping.table() + " order by id");
        List<String> differences = new ArrayList<>();
        assertThat(found).hasSameSizeAs(expected);
        for (int i = 0; i < found.size(); i++) {
            String theirs = expected.get(i)[0];
            String ours = found.get(i)[0];
            boolean same =
                    array
                            ? sameArray(theirs, Objects.requireNonNull(ours), column)
                            : same(theirs, ours, column);
            if (!same) {
                differences.add(
                        "%s.%s (%s): expected %s, found %s"
                                .formatted(type, name, column.type().print(), theirs, ours));
            }
        }
        return differences;
    }

    private static boolean sameArray(@Nullable String theirs, String ours, ColumnMapping column) {
        List<@Nullable String> elements = theirs == null ? List.of() : ArrayLiteral.parse(theirs);
        String[] parts = ours.isEmpty() ? new String[0] : ours.split(",", -1);
        if (parts.length != elements.size()) {
            return false;
        }
        for (int i = 0; i < parts.length; i++) {
            String mine =
                    parts[i].equals("N")
                            ? null
                            : new String(
                                    HexFormat.of().parseHex(parts[i].substring(1)),
                                    StandardCharsets.UTF_8);
            if (!same(elements.get(i), mine, column)) {
                return false;
            }
        }
        return true;
    }

    private static boolean same(
            @Nullable String theirs, @Nullable String ours, ColumnMapping column) {
        if (theirs == null || ours == null) {
            return Objects.equals(theirs, ours);
        }
        return switch (column.conversion()) {
            case BOOL -> ours.equals(theirs.substring(0, 1));
            case DECIMAL -> new BigDecimal(ours).compareTo(new BigDecimal(theirs)) == 0;
            case MONEY ->
                    new BigDecimal(ours).compareTo(new BigDecimal(theirs.replaceAll("[$,]", "")))
                            == 0;
            case FLOAT32 -> Float.compare(number(ours), Float.parseFloat(theirs)) == 0;
            case FLOAT64 -> Double.compare(doubleNumber(ours), Double.parseDouble(theirs)) == 0;
            case DATETIME64 -> ClampedText.timestamp(ours) == ClampedText.timestamp(theirs);
            case TIME64 ->
                    IsoText.time(ours.replaceAll("\\.?0+$", "")) == IsoText.time(theirs)
                            || IsoText.time(ours) == IsoText.time(theirs);
            default -> ours.equals(theirs);
        };
    }

    private static float number(String text) {
        return Float.parseFloat(text.replace("inf", "Infinity").replace("nan", "NaN"));
    }

    private static double doubleNumber(String text) {
        return Double.parseDouble(text.replace("inf", "Infinity").replace("nan", "NaN"));
    }
}
