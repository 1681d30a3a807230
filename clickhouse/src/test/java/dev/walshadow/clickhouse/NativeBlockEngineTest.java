package dev.walshadow.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.embedded.EmbeddedClickHouse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Blocks that we write, read by the real engine. */
final class NativeBlockEngineTest {
    @TempDir static Path directory;

    private static EmbeddedClickHouse server;
    private static ClickHouseClient client;

    @BeforeAll
    static void start() {
        server = EmbeddedClickHouse.start(directory.resolve("clickhouse"));
        client = new ClickHouseClient(ClickHouseOptions.at(server.url()));
        client.execute("CREATE DATABASE native");
    }

    @AfterAll
    static void stop() {
        client.close();
        server.close();
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void create(String table, List<String> names, List<ClickHouseType> types) {
        List<String> columns = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            columns.add(Ddl.identifier(names.get(i)) + " " + types.get(i).print());
        }
        client.execute(
                "CREATE TABLE native."
                        + table
                        + " ("
                        + String.join(", ", columns)
                        + ") ENGINE = MergeTree ORDER BY tuple()",
                Map.of("enable_time_time64_type", "1"));
    }

    /** Every value as its table's engine prints it. */
    private static List<String> column(String table, String name) {
        List<String> values = new ArrayList<>();
        client.stream(
                "SELECT " + name + " FROM native." + table,
                row -> values.add(String.valueOf(row.text(0))));
        return values;
    }

    @Test
    void theEngineReadsFixedWidthValues() {
        List<String> names =
                List.of("b", "i1", "u4", "i8", "u16", "i32", "f4", "f8", "fs", "d9", "d38");
        List<ClickHouseType> types =
                List.of(
                        Scalar.BOOL,
                        Scalar.INT8,
                        Scalar.UINT32,
                        Scalar.INT64,
                        Scalar.UINT128,
                        Scalar.INT256,
                        Scalar.FLOAT32,
                        Scalar.FLOAT64,
                        new ClickHouseType.FixedString(3),
                        new ClickHouseType.Decimal(9, 2),
                        new ClickHouseType.Decimal(38, 10));
        create("fixed", names, types);
        NativeBlock block = new NativeBlock(names, types);
        fixed(block, 0).appendByte(1);
        fixed(block, 1).appendByte(-128);
        fixed(block, 2).appendInt(-1);
        fixed(block, 3).appendLong(Long.MIN_VALUE);
        fixed(block, 4).appendInt128(-1, -1);
        fixed(block, 5).appendInt256(-2, -1, -1, -1);
        fixed(block, 6).appendInt(Float.floatToIntBits(-0.0f));
        fixed(block, 7).appendLong(Double.doubleToLongBits(Double.NEGATIVE_INFINITY));
        fixed(block, 8).appendPadded(utf8("ab"), 0, 2);
        fixed(block, 9).appendInt(-12345);
        fixed(block, 10).appendInt128(15_000_000_000L, 0);
        assertThat(client.insert("native", "fixed", block, "t")).isEqualTo(1);
        assertThat(client.query("SELECT * FROM native.fixed"))
                .containsExactly(
                        new String[] {
                            "true",
                            "-128",
                            "4294967295",
                            "-9223372036854775808",
                            "340282366920938463463374607431768211455",
                            "-2",
                            "-0",
                            "-inf",
                            "ab\0",
                            "-123.45",
                            "1.5"
                        });
    }

    private static FixedColumn fixed(NativeBlock block, int column) {
        return (FixedColumn) block.column(column);
    }

    @Test
    void theEngineReadsTimesAndUuids() {
        List<String> names = List.of("d", "t6", "t0", "time", "u");
        List<ClickHouseType> types =
                List.of(
                        Scalar.DATE32,
                        new ClickHouseType.DateTime64(6, "UTC"),
                        new ClickHouseType.DateTime64(0, "UTC"),
                        new ClickHouseType.Time64(6),
                        Scalar.UUID);
        create("times", names, types);
        NativeBlock block = new NativeBlock(names, types);
        int[] days = {0, -25_567, 120_529};
        long[] times = {0, 86_400_000_000L, 86_399_999_999L};
        for (int i = 0; i < days.length; i++) {
            fixed(block, 0).appendInt(days[i]);
            fixed(block, 1).appendLong(days[i] * 86_400_000_000L + i);
            fixed(block, 2).appendLong(days[i] * 86_400L);
            fixed(block, 3).appendLong(times[i]);
            fixed(block, 4).appendInt128(0x0011223344556677L, 0x8899aabbccddeeffL);
        }
        client.insert("native", "times", block, "t");
        assertThat(column("times", "d")).containsExactly("1970-01-01", "1900-01-01", "2299-12-31");
        assertThat(column("times", "t6"))
                .containsExactly(
                        "1970-01-01 00:00:00.000000",
                        "1900-01-01 00:00:00.000001",
                        "2299-12-31 00:00:00.000002");
        assertThat(column("times", "t0"))
                .containsExactly(
                        "1970-01-01 00:00:00", "1900-01-01 00:00:00", "2299-12-31 00:00:00");
        assertThat(column("times", "time"))
                .containsExactly("00:00:00.000000", "24:00:00.000000", "23:59:59.999999");
        assertThat(column("times", "u").getFirst())
                .isEqualTo("00112233-4455-6677-8899-aabbccddeeff");
    }

    @Test
    void theEngineReadsNullsArraysTuplesAndMaps() {
        List<String> names = List.of("s", "a", "aa", "t", "m", "lc", "j");
        List<ClickHouseType> types =
                names.stream().map(NativeBlockEngineTest::composedType).toList();
        create("composed", names, types);
        NativeBlock block = new NativeBlock(names, types);
        for (int i = 0; i < 3; i++) {
            appendComposed(block, i);
        }
        client.insert("native", "composed", block, "t");
        assertThat(column("composed", "s")).containsExactly("null", "v1\t\\\n'", "v2\t\\\n'");
        assertThat(column("composed", "a")).containsExactly("[]", "[NULL]", "[NULL,'x1']");
        assertThat(column("composed", "aa")).containsExactly("[]", "[[0]]", "[[0],[0,1]]");
        assertThat(column("composed", "t")).containsExactly("(0,NULL)", "(1,NULL)", "(2,NULL)");
        assertThat(column("composed", "m"))
                .containsExactly("{'k0':NULL}", "{'k1':NULL}", "{'k2':NULL}");
        assertThat(column("composed", "lc")).containsExactly("low0", "low1", "low2");
        assertThat(column("composed", "j.a")).containsExactly("0", "1", "2");
    }

    private static ClickHouseType composedType(String name) {
        return ClickHouseType.parse(
                switch (name) {
                    case "s" -> "Nullable(String)";
                    case "a" -> "Array(Nullable(String))";
                    case "aa" -> "Array(Array(UInt8))";
                    case "t" -> "Tuple(x Int32, y Nullable(String))";
                    case "m" -> "Map(String, Nullable(String))";
                    case "lc" -> "LowCardinality(Nullable(String))";
                    default -> "JSON";
                });
    }

    private static void appendComposed(NativeBlock block, int row) {
        NullableColumn s = (NullableColumn) block.column(0);
        if (row == 0) {
            s.appendNull();
        } else {
            s.present();
            string(s.inner(), "v" + row + "\t\\\n'");
        }
        ArrayColumn a = (ArrayColumn) block.column(1);
        for (int i = 0; i < row; i++) {
            NullableColumn element = (NullableColumn) a.elements();
            if (i == 0) {
                element.appendNull();
            } else {
                element.present();
                string(element.inner(), "x" + i);
            }
        }
        a.endRow();
        ArrayColumn outer = (ArrayColumn) block.column(2);
        for (int i = 0; i < row; i++) {
            ArrayColumn inner = (ArrayColumn) outer.elements();
            for (int k = 0; k <= i; k++) {
                ((FixedColumn) inner.elements()).appendByte(k);
            }
            inner.endRow();
        }
        outer.endRow();
        TupleColumn t = (TupleColumn) block.column(3);
        ((FixedColumn) t.element(0)).appendInt(row);
        t.element(1).appendDefault();
        ArrayColumn m = (ArrayColumn) block.column(4);
        TupleColumn entry = (TupleColumn) m.elements();
        string(entry.element(0), "k" + row);
        entry.element(1).appendDefault();
        m.endRow();
        NullableColumn lc = (NullableColumn) block.column(5);
        lc.present();
        string(lc.inner(), "low" + row);
        string(block.column(6), "{\"a\":" + row + "}");
    }

    private static void string(ColumnBuffer column, String text) {
        byte[] bytes = utf8(text);
        ((StringColumn) column).append(bytes, 0, bytes.length);
    }

    /** Values drawn at random, sent in two appended blocks, cut and compared as RowBinary. */
    @Test
    void rowBinaryFromTheEngineEqualsOurs() throws Exception {
        List<String> names = List.of("s", "a", "t");
        List<ClickHouseType> types =
                List.of(
                        ClickHouseType.parse("Nullable(String)"),
                        ClickHouseType.parse("Array(Nullable(Int64))"),
                        ClickHouseType.parse("Tuple(UInt8, Array(String))"));
        create("seeded", names, types);
        long seed = System.nanoTime();
        Random random = new Random(seed);
        NativeBlock first = new NativeBlock(names, types);
        NativeBlock second = new NativeBlock(names, types);
        fill(first, 500, random);
        fill(second, 700, random);
        first.truncate(400);
        second.truncate(0);
        fill(second, 300, random);
        first.appendAll(second);
        assertThat(first.rows()).isEqualTo(700);
        client.insert("native", "seeded", first, "t");
        ByteBuilder ours = new ByteBuilder(1 << 16);
        for (int row = 0; row < first.rows(); row++) {
            for (int i = 0; i < first.columnCount(); i++) {
                first.column(i).rowBinary(row, ours);
            }
        }
        byte[][] theirs = new byte[1][];
        client.readRowBinary("SELECT * FROM native.seeded", in -> theirs[0] = in.readAllBytes());
        assertThat(theirs[0]).as("seed " + seed).isEqualTo(ours.toByteArray());
        NativeBlock again = new NativeBlock(names, types);
        int at = 0;
        for (int row = 0; row < 700; row++) {
            for (int i = 0; i < again.columnCount(); i++) {
                at = again.column(i).appendRowBinary(theirs[0], at);
            }
        }
        assertThat(at).isEqualTo(theirs[0].length);
        assertThat(bytesOf(again)).as("seed " + seed).isEqualTo(bytesOf(first));
    }

    private static byte[] bytesOf(NativeBlock block) throws Exception {
        java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
        block.writeTo(out);
        return out.toByteArray();
    }

    private static void fill(NativeBlock block, int rows, Random random) {
        for (int i = 0; i < rows; i++) {
            NullableColumn s = (NullableColumn) block.column(0);
            if (random.nextInt(5) == 0) {
                s.appendNull();
            } else {
                s.present();
                byte[] bytes = new byte[random.nextInt(20) == 0 ? 20_000 : random.nextInt(200)];
                random.nextBytes(bytes);
                ((StringColumn) s.inner()).append(bytes, 0, bytes.length);
            }
            ArrayColumn a = (ArrayColumn) block.column(1);
            for (int k = random.nextInt(4); k > 0; k--) {
                NullableColumn element = (NullableColumn) a.elements();
                if (random.nextBoolean()) {
                    element.appendNull();
                } else {
                    element.present();
                    ((FixedColumn) element.inner()).appendLong(random.nextLong());
                }
            }
            a.endRow();
            TupleColumn t = (TupleColumn) block.column(2);
            ((FixedColumn) t.element(0)).appendByte(random.nextInt());
            ArrayColumn texts = (ArrayColumn) t.element(1);
            for (int k = random.nextInt(3); k > 0; k--) {
                string(texts.elements(), "e" + random.nextInt());
            }
            texts.endRow();
        }
    }

    @Test
    void largeBlocksArriveWithAndWithoutCompression() {
        create("large", List.of("n", "s"), List.of(Scalar.INT64, Scalar.STRING));
        for (boolean compression : List.of(true, false)) {
            NativeBlock block =
                    new NativeBlock(List.of("n", "s"), List.of(Scalar.INT64, Scalar.STRING));
            for (int i = 0; i < 200_000; i++) {
                fixed(block, 0).appendLong(i);
                string(block.column(1), "row number " + i);
            }
            try (ClickHouseClient other =
                    new ClickHouseClient(
                            ClickHouseOptions.at(server.url()).withCompression(compression))) {
                long written = other.insert("native", "large", block, "large" + compression);
                assertThat(written).isEqualTo(200_000);
            }
        }
        assertThat(
                        client.queryValue(
                                "SELECT concat(count(), ' ', sum(n), ' ', uniq(s) > 190000) FROM"
                                        + " native.large"))
                .isEqualTo("400000 39999800000 1");
    }
}
