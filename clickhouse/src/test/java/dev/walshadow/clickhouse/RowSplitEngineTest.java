package dev.walshadow.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.embedded.EmbeddedClickHouse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rows go where ClickHouse's own hash says, and none is lost or changed on the way. */
final class RowSplitEngineTest {
    private static final int ROWS = 1_000;
    private static final int PLACES = 3;

    /** Those that a key can have, and others of their widths. */
    private static final List<ClickHouseType> HASHED =
            List.of(
                    Scalar.BOOL,
                    Scalar.INT8,
                    Scalar.INT16,
                    Scalar.INT32,
                    Scalar.INT64,
                    Scalar.INT128,
                    Scalar.INT256,
                    Scalar.UINT8,
                    Scalar.UINT16,
                    Scalar.UINT32,
                    Scalar.UINT64,
                    Scalar.UINT128,
                    Scalar.UINT256,
                    Scalar.UUID,
                    Scalar.IPV4,
                    Scalar.IPV6,
                    Scalar.DATE,
                    Scalar.STRING,
                    new ClickHouseType.FixedString(3),
                    new ClickHouseType.Decimal(9, 2),
                    new ClickHouseType.Decimal(18, 2),
                    new ClickHouseType.Decimal(38, 2),
                    new ClickHouseType.Decimal(76, 2),
                    new ClickHouseType.DateTime("UTC"),
                    new ClickHouseType.DateTime64(6, "UTC"),
                    ClickHouseType.parse("Enum8('a' = 1, 'b' = 2)"),
                    ClickHouseType.parse("Enum16('a' = 1, 'b' = 2)"));

    @TempDir static Path directory;

    private static EmbeddedClickHouse server;
    private static ClickHouseClient client;

    @BeforeAll
    static void start() {
        server = EmbeddedClickHouse.start(directory.resolve("clickhouse"));
        client = new ClickHouseClient(ClickHouseOptions.at(server.url()));
        client.execute("CREATE DATABASE split");
    }

    @AfterAll
    static void stop() {
        client.close();
        server.close();
    }

    private static NativeBlock random(List<ClickHouseType> types) {
        List<String> names = new ArrayList<>();
        types.forEach(_ -> names.add("c" + names.size()));
        NativeBlock block = new NativeBlock(names, types);
        Random random = new Random(7);
        for (int i = 0; i < types.size(); i++) {
            for (int row = 0; row < ROWS; row++) {
                append(block.column(i), types.get(i), random);
            }
        }
        return block;
    }

    private static void append(ColumnBuffer column, ClickHouseType type, Random random) {
        switch (column) {
            case FixedColumn fixed -> {
                byte[] bytes = new byte[fixed.width()];
                random.nextBytes(bytes);
                if (type == Scalar.BOOL || type instanceof ClickHouseType.Enumeration) {
                    Arrays.fill(bytes, (byte) 0);
                    bytes[0] =
                            (byte)
                                    (type == Scalar.BOOL
                                            ? random.nextInt(2)
                                            : 1 + random.nextInt(2));
                }
                fixed.appendBytes(bytes, 0);
            }
            case StringColumn text -> {
                byte[] bytes = "é".repeat(random.nextInt(120)).getBytes(StandardCharsets.UTF_8);
                text.append(bytes, 0, bytes.length);
            }
            case NullableColumn nullable -> {
                if (random.nextBoolean()) {
                    nullable.appendNull();
                } else {
                    nullable.present();
                    append(nullable.inner(), ((ClickHouseType.Nullable) type).inner(), random);
                }
            }
            case ArrayColumn array -> {
                for (int i = random.nextInt(4); i > 0; i--) {
                    append(array.elements(), Scalar.STRING, random);
                }
                array.endRow();
            }
            case TupleColumn tuple -> {
                append(tuple.element(0), Scalar.INT32, random);
                append(tuple.element(1), Scalar.STRING, random);
            }
        }
    }

    private static void create(String table, NativeBlock block) {
        List<String> columns = new ArrayList<>();
        for (int i = 0; i < block.columnCount(); i++) {
            columns.add(block.names().get(i) + " " + block.types().get(i).print());
        }
        client.execute(
                "CREATE TABLE split."
                        + table
                        + " ("
                        + String.join(", ", columns)
                        + ") ENGINE = MergeTree ORDER BY tuple()");
    }

    private static RowSplit split(NativeBlock block, int columns) {
        long[] hashes = new long[block.rows()];
        for (int i = 0; i < columns; i++) {
            block.column(i).hash(hashes, i > 0);
        }
        return RowSplit.byHash(hashes, PLACES);
    }

    @Test
    void hashesEveryTypeOfKeyAsClickHouseDoes() {
        for (ClickHouseType type : HASHED) {
            NativeBlock block = random(List.of(type));
            String table = "h" + HASHED.indexOf(type);
            create(table, block);
            RowSplit split = split(block, 1);
            for (int place = 0; place < PLACES; place++) {
                String expected = String.valueOf(place);
                client.execute("TRUNCATE TABLE split." + table);
                if (split.count(place) > 0) {
                    client.insert("split", table, block, split, place, type + " " + place);
                }
                assertThat(
                                client.query(
                                        "SELECT sipHash64(c0) % 3 AS place, count() FROM split."
                                                + table
                                                + " GROUP BY place"))
                        .as("%s, %s", type.print(), place)
                        .allMatch(row -> expected.equals(row[0]))
                        .hasSize(split.count(place) > 0 ? 1 : 0);
            }
        }
    }

    @Test
    void hashesSeveralColumnsAsClickHouseDoes() {
        NativeBlock block = random(List.of(Scalar.INT32, Scalar.STRING, Scalar.UUID, Scalar.INT64));
        create("several", block);
        RowSplit split = split(block, 4);
        client.insert("split", "several", block, split, 2, "several");
        assertThat(
                        client.query(
                                "SELECT sipHash64(c0, c1, c2, c3) % 3 AS place, count() FROM"
                                        + " split.several GROUP BY place"))
                .singleElement()
                .satisfies(row ->
                        assertThat(row).containsExactly("2", String.valueOf(split.count(2))));
    }

    @Test
    void sendsEveryRowOnceAndWhole() {
        List<ClickHouseType> types =
                List.of(
                        Scalar.INT64,
                        Scalar.STRING,
                        new ClickHouseType.Nullable(Scalar.STRING),
                        new ClickHouseType.Nullable(Scalar.INT32),
                        new ClickHouseType.Array(Scalar.STRING),
                        ClickHouseType.parse("Tuple(a Int32, b String)"));
        NativeBlock block = random(types);
        create("whole", block);
        create("parts", block);
        client.insert("split", "whole", block, "whole");
        RowSplit split = split(block, 1);
        int rows = 0;
        for (int place = 0; place < PLACES; place++) {
            client.insert("split", "parts", block, split, place, "part " + place);
            rows += split.count(place);
        }
        assertThat(rows).isEqualTo(ROWS);
        String all = "SELECT toString(tuple(*)) AS row FROM split.%s ORDER BY row";
        assertThat(texts(all.formatted("parts"))).isEqualTo(texts(all.formatted("whole")));
    }

    private static List<String> texts(String sql) {
        List<String> texts = new ArrayList<>();
        client.query(sql).forEach(row -> texts.add(row[0]));
        return texts;
    }

    @Test
    void takesZeroAndNoNumberForOneValueEach() {
        FixedColumn doubles = new FixedColumn(8);
        for (long bits :
                new long[] {
                    Double.doubleToRawLongBits(0.0),
                    Double.doubleToRawLongBits(-0.0),
                    0x7FF8000000000000L,
                    0xFFF8000000000001L
                }) {
            doubles.appendLong(bits);
        }
        long[] hashes = new long[4];
        doubles.hashNumbers(hashes, false);
        assertThat(hashes[0]).isEqualTo(hashes[1]).isNotEqualTo(hashes[2]);
        assertThat(hashes[2]).isEqualTo(hashes[3]);
    }
}
