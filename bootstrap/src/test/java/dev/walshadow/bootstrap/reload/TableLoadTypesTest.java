package dev.walshadow.bootstrap.reload;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.bootstrap.reload.TableLoad.Outcome;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What COPY brings against what the heap pages hold, and against PostgreSQL's own text. */
@Timeout(300)
final class TableLoadTypesTest {
    private static final int RANDOM_ROWS = Boolean.getBoolean("walshadow.soak") ? 5_000 : 120;

    @TempDir Path folder;

    private final double seed =
            Double.parseDouble(
                    System.getProperty(
                            "walshadow.seed",
                            "" + Math.floorMod(System.nanoTime(), 1000) / 1000.0));

    /** A type, a random value of it, and awkward values. */
    private record Case(String type, String random, List<String> values) {
        static Case of(String type, String random, String... values) {
            return new Case(type, random, List.of(values));
        }
    }

    private static List<Case> cases() {
        String text = "md5(random()::text) || repeat('ü€😀', (random() * 40)::int)";
        String moment = "timestamptz '1850-01-01' + random() * interval '500 years'";
        return List.of(
                Case.of("bool", "random() < 0.5", "t", "f"),
                Case.of("int2", "(random() * 60000 - 30000)::int", "-32768", "32767"),
                Case.of("int4", "(random() * 4e9 - 2e9)::int8", "-2147483648", "2147483647"),
                Case.of("int8", "(random() * 1e18)::int8", "-9223372036854775808"),
                Case.of("oid", "(random() * 4e9)::int8", "0", "4294967295"),
                Case.of("xid", "(random() * 4e9)::int8", "3", "4294967295"),
                Case.of("xid8", "(random() * 1e18)::int8", "18446744073709551615"),
                Case.of("float4", "random() * 1e30", "NaN", "Infinity", "-Infinity", "-0", "1e-45"),
                Case.of("float8", "random() * 1e300", "NaN", "Infinity", "-0", "5e-324"),
                Case.of(
                        "numeric",
                        "round((random()::numeric - 0.5) * power(10::numeric, 60), 30)",
                        "NaN",
                        "Infinity",
                        "-Infinity",
                        "0",
                        "0.000",
                        "-0.0001",
                        "1e1000",
                        "1e-300",
                        "1e252",
                        "1e256",
                        "1e-256",
                        "1e-260"),
                Case.of("numeric(38,10)", "random()::numeric * 1e20", "-0.0000000001", "NaN"),
                Case.of("numeric(5,-2)", "random() * 1e6", "1234567"),
                Case.of("money", "random() * 1e6", "-92233720368547758.08", "0.01"),
                Case.of("text", text, "", "a", "\t\n", "x".repeat(3_000), "ü".repeat(70_000)),
                Case.of("varchar(200)", "left(" + text + ", 200)", "", "é"),
                Case.of("char(9)", "left(md5(random()::text), 9)", "", "ab", "é"),
                Case.of("name", "left(md5(random()::text), 20)", "", "x".repeat(63)),
                Case.of("\"char\"", "chr((random() * 60 + 40)::int)", "", "a", "\\377"),
                Case.of("citext", text, "Ab"),
                Case.of(
                        "xml",
                        "'<a>' || md5(random()::text) || '</a>'",
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a b=\"ü\">d</a>",
                        "<?xml version=\"1.0\" standalone=\"yes\"?><a/>",
                        "\n<a/>"),
                Case.of("bytea", "decode(md5(random()::text), 'hex')", "\\x", "\\x00ff5c0a"),
                Case.of("uuid", "gen_random_uuid()", "00112233-4455-6677-8899-aabbccddeeff"),
                Case.of("date", "(" + moment + ")::date", "infinity", "-infinity", "4713-01-01 BC"),
                Case.of("time", "(" + moment + ")::time", "24:00:00", "0:0"),
                Case.of("timetz", "(" + moment + ")::timetz", "12:00+05:30:01"),
                Case.of("timestamp", moment, "infinity", "-infinity", "294276-12-31 23:59:59"),
                Case.of("timestamptz(3)", moment, "infinity", "1950-01-01 00:00:00.001+00"),
                Case.of("interval", "random() * interval '1000 days'", "1 mon -3 days 04:05:06.7"),
                Case.of("json", "json_build_object('a', random())", "{ \"b\" : 1 ,\"b\":2}"),
                Case.of("jsonb", "jsonb_build_object('a', random(), 'ü', '€')", "{\"b\":1.50}"),
                Case.of("inet", "'10.0.0.0'::inet + (random() * 1e6)::int", "::1", "10.1.2.3/24"),
                Case.of("cidr", "'10.0.0.0/8'::cidr", "2001:db8::/32"),
                Case.of("macaddr", "'08:00:2b:01:02:03'::macaddr", "08:00:2b:01:02:03"),
                Case.of("macaddr8", "'08:00:2b:01:02:03:04:05'::macaddr8", "08:00:2b:01:02:03"),
                Case.of("bit(5)", "b'10110'", "10101"),
                Case.of("varbit", "b'1011'", "", "1", "101010101"),
                Case.of("pg_lsn", "'16/B374D848'::pg_lsn", "0/0"),
                Case.of("amount", "random()::numeric(10,2)", "1.25"),
                Case.of("amounts", "array[random()::numeric(10,2)]", "{1.25,NULL}"),
                Case.of("labels", "array[md5(random()::text)]", "{a,NULL}", "{}", "[0:1]={x,y}"),
                Case.of("humour", "(array['sad','ok'])[1 + (random() * 1)::int]", "ok"),
                Case.of("humoured", "row('ok', random())", "(,)", "(sad,1.5)"),
                Case.of("int4range", "int4range((random() * 9)::int, 10)", "empty", "(,)"),
                Case.of("nummultirange", "nummultirange(numrange(1, 2.5))", "{}", "{(,)}"),
                Case.of("hstore", "hstore(md5(random()::text), 'ü')", "", "a=>NULL,\"\"=>b"),
                Case.of("point", "point(random(), 1)", "(0,NaN)"),
                Case.of("box", "box(point(random(), 1))", "(0,1),(2,3)"),
                Case.of("polygon", "polygon(5, circle '<(0,0),1>')", "((0,0))"),
                Case.of("tsvector", "to_tsvector('simple', md5(random()::text))", "a:1A b"),
                Case.of("tsquery", "plainto_tsquery('simple', 'a b')", "a & !b"),
                Case.of("jsonpath", "'$.a[*]'", "strict $.a ? (@ > 1)"),
                Case.of("ltree", "text2ltree('a.b' || (random() * 9)::int)", "", "a.b"),
                Case.of("regclass", "'pg_type'", "pg_class"),
                Case.of("tid", "'(1,2)'", "(0,1)"),
                Case.of("grid", "array[array[(random() * 9)::int, null]]", "{{1,2},{3,4}}", "{}"));
    }

    private EmbeddedPostgres start(int major) {
        return EmbeddedPostgres.at(folder.resolve("postgres"))
                .version(major)
                .setting("fsync", "off")
                .setting("autovacuum", "off")
                .setting("lc_monetary", "C")
                .start();
    }

    private static void settle(Connection session) throws Exception {
        LoadedTable.run(
                session,
                "CREATE EXTENSION pageinspect",
                "CREATE EXTENSION citext",
                "SET timezone = 'UTC'; SET xmloption = content; SET bytea_output = hex",
                "CREATE DOMAIN amount AS numeric(12,2)",
                "CREATE DOMAIN labels AS text[]",
                "CREATE DOMAIN amounts AS amount[]",
                "CREATE EXTENSION hstore",
                "CREATE EXTENSION ltree",
                "CREATE TYPE humour AS ENUM ('sad', 'ok')",
                "CREATE TYPE humoured AS (m humour, x float8)",
                "CREATE DOMAIN grid AS int[][]");
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void blocksAreThoseOfTheHeapPages(int major) throws Exception {
        try (EmbeddedPostgres server = start(major);
                Connection session = DriverManager.getConnection(server.jdbcUrl("postgres"))) {
            settle(session);
            LoadedTable.run(session, "SELECT setseed(" + seed + ")");
            int number = 0;
            for (Case one : cases()) {
                String name = "t" + number++;
                fill(session, name, one);
                LoadedTable table = LoadedTable.of(session, name);
                Outcome outcome =
                        table.load(() -> DriverManager.getConnection(server.jdbcUrl("postgres")));
                int rows = 1 + one.values().size() + RANDOM_ROWS;
                assertThat(((Outcome.Loaded) outcome).rows()).as(one.type()).isEqualTo(rows);
                assertThat(table.loadedBytes())
                        .as("%s, seed %s", one.type(), seed)
                        .isEqualTo(table.pageBytes(session));
            }
        }
    }

    private static void fill(Connection session, String name, Case one) throws Exception {
        boolean array = !List.of("labels", "amounts", "grid").contains(one.type());
        String type = one.type();
        LoadedTable.run(
                session,
                "CREATE TABLE %s (filler bool, id int8 PRIMARY KEY, gone int, v %s%s, last int2)"
                        .formatted(name, type, array ? ", a " + type + "[]" : ""),
                "ALTER TABLE " + name + " DROP COLUMN gone",
                "INSERT INTO " + name + " (id) VALUES (-1)");
        int id = 0;
        for (String value : one.values()) {
            String literal = "'" + value.replace("'", "''") + "'";
            LoadedTable.run(
                    session,
                    "INSERT INTO %s VALUES (true, %d, %s::text::%s%s, 7)"
                            .formatted(
                                    name,
                                    id++,
                                    literal,
                                    type,
                                    array
                                            ? ", array[NULL, %s]::text[]::%s[]"
                                                    .formatted(literal, type)
                                            : ""));
        }
        LoadedTable.run(
                session,
                ("INSERT INTO %s SELECT random() < 0.5, i, CASE WHEN random() < 0.9 THEN"
                                + " (%s)::text::%s END%s, i FROM generate_series(%d, %d) i")
                        .formatted(
                                name,
                                one.random(),
                                type,
                                array
                                        ? ", CASE WHEN i %% 5 > 0 THEN (array[(%s)::text::%s, NULL])[:i %% 3] END"
                                                .formatted(one.random(), type)
                                        : "",
                                id,
                                id + RANDOM_ROWS - 1));
    }

    /** Types of which there is no codec yet: their targets are what mappings will make of them. */
    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void otherTypesArriveAsPostgresPrintsThem(int major) throws Exception {
        try (EmbeddedPostgres server = start(major);
                Connection session = DriverManager.getConnection(server.jdbcUrl("postgres"))) {
            settle(session);
            LoadedTable.run(
                    session,
                    "CREATE TYPE mood AS ENUM ('sad', 'o''k', 'ü \"x\"', '')",
                    "ALTER TYPE mood ADD VALUE 'between' BEFORE 'o''k'",
                    "CREATE TYPE pair AS (a int, b text)",
                    "CREATE DOMAIN feeling AS mood",
                    "CREATE TABLE o (id int PRIMARY KEY, m mood, ms mood[], c pair, cs pair[],"
                            + " r int4range, ts tsvector, p point, bs box[], reg regclass,"
                            + " d feeling, raw mood, raws mood[])",
                    "INSERT INTO o VALUES (1, 'sad', '{sad,NULL}', (1, 'x,'), array[(1,'a')::pair],"
                        + " '[1,5)', 'a:1 b', '(1.5,2)', '{(1,1),(0,0);(3,3),(2,2)}', 'o', 'ü"
                        + " \"x\"', 'sad', '{between,NULL,\"\"}'), (2, NULL, NULL, (NULL, NULL),"
                        + " NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, '', '{}',"
                        + " (NULL, ''), '{}', 'empty', '', '(0.1,-0)', '{}', 'pg_class', '', '',"
                        + " '{}'), (4, 'between', '[0:1]={sad,\"\"}', NULL, '{NULL}', '(,)', NULL,"
                        + " NULL, NULL, NULL, NULL, 'ü \"x\"', '{\"o''k\"}')");
            RelationDescriptor shape = LoadedTable.shape(session, "o");
            LoadedTable table = new LoadedTable(shape, otherMapping(shape), SourceEncoding.UTF8);
            table.load(() -> DriverManager.getConnection(server.jdbcUrl("postgres")));
            LoadedTable.run(session, "SET search_path = pg_catalog");
            for (String column : List.of("m", "ms", "c", "cs", "r", "ts", "p", "bs", "d")) {
                List<String> expected = new ArrayList<>();
                for (int id = 1; id <= 4; id++) {
                    expected.add(
                            LoadedTable.ask(
                                    session,
                                    ("SELECT CASE WHEN num_nulls(%s) = 0 THEN"
                                                    + " format('%%s', %s) END FROM public.o"
                                                    + " WHERE id = %d")
                                            .formatted(column, column, id)));
                }
                assertThat(table.strings(column)).as(column).isEqualTo(expected);
            }
            enumsAreTheirOids(server, session, shape);
        }
    }

    private static ColumnMapping other(
            RelationDescriptor shape, int number, ClickHouseType type, Conversion conversion) {
        String name = shape.attributes().get(number - 1).name();
        return new ColumnMapping(number, name, name, type, conversion, 0, 0, -1);
    }

    private static TableMapping keyOnly(RelationDescriptor shape) {
        List<ColumnMapping> key =
                List.of(
                        new ColumnMapping(
                                1, "id", "id", Scalar.INT32, Conversion.INT32, 0, 23, -1));
        RelationDescriptor bare =
                new RelationDescriptor(
                        shape.oid(),
                        shape.databaseOid(),
                        shape.name(),
                        shape.kind(),
                        shape.persistence(),
                        shape.locator(),
                        shape.toastRelationOid(),
                        0,
                        'd',
                        "heap",
                        0,
                        shape.attributes().subList(0, 1),
                        List.of(1),
                        List.of(),
                        shape.types());
        return LoadedTable.mapping(bare).withColumns(key);
    }

    private static TableMapping otherMapping(RelationDescriptor shape) {
        TableMapping mapping = keyOnly(shape);
        List<ColumnMapping> columns = new ArrayList<>(mapping.columns());
        for (int number = 2; number <= 11; number++) {
            if (shape.attributes().get(number - 1).name().equals("reg")) {
                continue;
            }
            boolean array = shape.attributes().get(number - 1).name().endsWith("s");
            columns.add(
                    other(
                            shape,
                            number,
                            Scalar.STRING.nullable(),
                            array && number != 7 ? Conversion.ARRAY_TEXT : Conversion.TEXT));
        }
        return mapping.withColumns(columns);
    }

    /** As the tuple has them, so that the encoder may make numbers of them. */
    private static void enumsAreTheirOids(
            EmbeddedPostgres server, Connection session, RelationDescriptor shape)
            throws Exception {
        int mood = Integer.parseInt(LoadedTable.ask(session, "SELECT 'public.mood'::regtype::oid"));
        ClickHouseType number = Scalar.UINT32.nullable();
        ColumnMapping key = keyOnly(shape).columns().getFirst();
        TableMapping mapping =
                keyOnly(shape)
                        .withColumns(
                                List.of(
                                        key,
                                        new ColumnMapping(
                                                12,
                                                "raw",
                                                "raw",
                                                number,
                                                Conversion.UINT32,
                                                0,
                                                mood,
                                                -1),
                                        new ColumnMapping(
                                                13,
                                                "raws",
                                                "raws",
                                                new ClickHouseType.Array(number),
                                                Conversion.UINT32,
                                                1,
                                                mood,
                                                -1)));
        LoadedTable.run(session, "SET search_path = public");
        LoadedTable table = new LoadedTable(shape, mapping, SourceEncoding.UTF8);
        Outcome outcome = table.load(() -> DriverManager.getConnection(server.jdbcUrl("postgres")));
        assertThat(outcome).isInstanceOf(Outcome.Loaded.class);
        assertThat(table.loadedBytes()).isEqualTo(table.pageBytes(session));
    }
}
