package dev.walshadow.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ClickHouseTypeTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "Bool",
                "Int256",
                "UInt128",
                "Nullable(Decimal(76, 10))",
                "Array(Nullable(DateTime64(6, 'UTC')))",
                "Array(Array(Nullable(Int32)))",
                "DateTime",
                "DateTime('Europe/Berlin')",
                "DateTime64(3)",
                "Time64(6)",
                "FixedString(16)",
                "LowCardinality(Nullable(String))",
                "Enum8('a' = -128, 'it\\'s' = 0, 'b\\\\c' = 127)",
                "Enum16('ä' = 1, ')' = 2)",
                "Tuple(Int8, String)",
                "Tuple(a Int8, `b c` Nullable(String), d Tuple(e UInt8))",
                "Map(String, Array(UInt8))",
                "AggregateFunction(sum, UInt64)",
                "JSON",
                "JSON(max_dynamic_paths=3, a.b UInt32, SKIP `x)y`)",
                "Variant(Array(UInt8), String)",
                "SimpleAggregateFunction(anyLast, Nullable(String))",
            })
    void printsWhatItParsed(String text) {
        assertThat(ClickHouseType.parse(text).print()).isEqualTo(text);
    }

    @Test
    void acceptsSpacesAsTheServerDoes() {
        assertThat(ClickHouseType.parse(" Nullable( Decimal(10,2) ) "))
                .isEqualTo(new ClickHouseType.Nullable(new ClickHouseType.Decimal(10, 2)));
        assertThat(ClickHouseType.parse("Enum8('x'=1)"))
                .isEqualTo(
                        new ClickHouseType.Enumeration(
                                8, List.of(new ClickHouseType.EnumValue("x", 1))));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Nullable(",
                "Nullable()",
                "Array(Int8) x",
                "Decimal(77, 0)",
                "Decimal(5, 6)",
                "Enum8('a')",
                "Enum8('a = 1)",
                "FixedString(x)",
                "Map(String)",
                "Tuple(a Int8",
            })
    void namesTheTextThatIsNoType(String text) {
        assertThatThrownBy(() -> ClickHouseType.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ClickHouse type");
    }

    @Test
    void makesOnlyScalarsNullable() {
        assertThat(Scalar.INT8.nullable().print()).isEqualTo("Nullable(Int8)");
        assertThat(Scalar.INT8.nullable().nullable().print()).isEqualTo("Nullable(Int8)");
        assertThat(new ClickHouseType.Array(Scalar.INT8).nullable().print())
                .isEqualTo("Array(Int8)");
    }

    @Test
    void quotesIdentifiersAndLiterals() {
        assertThat(Ddl.qualified("a`b", "c\\d\n")).isEqualTo("`a\\`b`.`c\\\\d\\n`");
        assertThat(Ddl.literal("it's \\ \"ü\"")).isEqualTo("'it\\'s \\\\ \"ü\"'");
    }
}
