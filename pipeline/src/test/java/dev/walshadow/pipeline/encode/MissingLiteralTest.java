package dev.walshadow.pipeline.encode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A column's DEFAULT in the real engine gives the bytes that a decoded old row brings. */
final class MissingLiteralTest {
    private record Case(String type, Conversion conversion, List<String> values) {}

    private static final List<Case> CASES =
            List.of(
                    new Case("Bool", Conversion.BOOL, List.of("t", "f")),
                    new Case("Int16", Conversion.INT16, List.of("-32768", "7")),
                    new Case("Int32", Conversion.INT32, List.of("-2147483648", "0")),
                    new Case("Int64", Conversion.INT64, List.of("-9223372036854775808")),
                    new Case("UInt32", Conversion.UINT32, List.of("4294967295")),
                    new Case("UInt64", Conversion.UINT64, List.of("18446744073709551615")),
                    new Case("Float32", Conversion.FLOAT32, List.of("NaN", "-0", "0.1", "1e-45")),
                    new Case(
                            "Float64",
                            Conversion.FLOAT64,
                            List.of("Infinity", "-Infinity", "-0", "0.1", "5e-324")),
                    new Case("Decimal(9, 2)", Conversion.DECIMAL, List.of("-9999999.99", "NaN")),
                    new Case("Decimal(76, 38)", Conversion.DECIMAL, List.of("-1e-38", "1", "1e37")),
                    new Case("Decimal(19, 2)", Conversion.MONEY, List.of("-$92.05", "$1,000.00")),
                    new Case(
                            "UUID",
                            Conversion.UUID,
                            List.of("00112233-4455-6677-8899-aabbccddeeff")),
                    new Case(
                            "Date32",
                            Conversion.DATE32,
                            List.of("1900-01-01", "2299-12-31", "infinity", "0001-01-01 BC")),
                    new Case(
                            "DateTime64(6, 'UTC')",
                            Conversion.DATETIME64,
                            List.of(
                                    "1900-01-01 00:00:00",
                                    "1969-12-31 23:59:59.999999",
                                    "2299-12-31 23:59:59.999999+00",
                                    "-infinity")),
                    new Case(
                            "DateTime64(0, 'UTC')",
                            Conversion.DATETIME64,
                            List.of("1969-12-31 23:59:59", "2024-02-29 12:00:00+05:30")),
                    new Case(
                            "Time64(6)",
                            Conversion.TIME64,
                            List.of("00:00:00", "23:59:59.999999", "24:00:00")),
                    new Case(
                            "String",
                            Conversion.CHARACTERS,
                            List.of(
                                    "",
                                    "a'b\\c`\n\t\0%",
                                    "é€😀",
                                    "NULL",
                                    "[]",
                                    "x".repeat(10_000))),
                    new Case("String", Conversion.BYTES, List.of("\\x", "\\x00ff5c27fe80")));

    @TempDir Path folder;

    @Test
    void everyDefaultIsTheValueOfADecodedOldRow() {
        try (EmbeddedClickHouse server = EmbeddedClickHouse.start(folder.resolve("clickhouse"));
                ClickHouseClient client =
                        new ClickHouseClient(ClickHouseOptions.at(server.url()))) {
            client.execute(
                    "CREATE TABLE t (id Int32) ENGINE = MergeTree ORDER BY id"
                            + " SETTINGS min_bytes_for_wide_part = 0");
            client.execute("INSERT INTO t VALUES (1)");
            int number = 0;
            for (Case one : CASES) {
                for (String value : one.values()) {
                    for (int dimensions = 0; dimensions < 2; dimensions++) {
                        check(client, one, value, dimensions, ++number);
                    }
                }
            }
        }
    }

    private static void check(
            ClickHouseClient client, Case one, String value, int dimensions, int number) {
        ClickHouseType scalar = ClickHouseType.parse(one.type()).nullable();
        ClickHouseType type = dimensions == 0 ? scalar : new ClickHouseType.Array(scalar);
        String text =
                dimensions == 0
                        ? value
                        : "{\"" + value.replace("\\", "\\\\").replace("\"", "\\\"") + "\",NULL}";
        String name = "c" + number;
        ColumnMapping column =
                new ColumnMapping(2, name, name, type, one.conversion(), dimensions, 25, -1);
        AttributeDescriptor attribute =
                new AttributeDescriptor(
                        2, name, 25, -1, -1, false, 'i', 'x', false, false, '\0', text);
        ColumnBuffer wanted = ColumnBuffer.of(type);
        MissingValue.append(column, text, wanted);
        ByteBuilder bytes = new ByteBuilder(64);
        wanted.rowBinary(0, bytes);
        String literal = MissingLiteral.of(column, attribute);
        client.execute(
                "ALTER TABLE t ADD COLUMN "
                        + name
                        + " "
                        + type.print()
                        + (literal == null ? "" : " DEFAULT " + literal));
        byte[][] found = new byte[1][];
        client.readRowBinary(
                "SELECT " + name + " FROM t", (InputStream in) -> found[0] = in.readAllBytes());
        assertThat(found[0]).as(one.type() + " " + text).isEqualTo(bytes.toByteArray());
    }
}
