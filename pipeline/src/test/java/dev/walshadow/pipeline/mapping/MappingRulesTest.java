package dev.walshadow.pipeline.mapping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.pipeline.mapping.MappingRules.ColumnRule;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import dev.walshadow.postgres.value.TypeOid;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the operator's rules for columns do, and which are refused. */
final class MappingRulesTest {
    private static final RelationName NAME = new RelationName("shop", "orders");
    private static final Map<String, TypeDescriptor> TYPES =
            Map.of(
                    "int2", type(TypeOid.INT2, "int2", 2, 's'),
                    "int4", type(TypeOid.INT4, "int4", 4, 'i'),
                    "int8", type(TypeOid.INT8, "int8", 8, 'd'),
                    "oid", type(TypeOid.OID, "oid", 4, 'i'),
                    "text", type(TypeOid.TEXT, "text", -1, 'i'),
                    "numeric", type(TypeOid.NUMERIC, "numeric", -1, 'i'),
                    "timestamptz", type(TypeOid.TIMESTAMPTZ, "timestamptz", 8, 'd'),
                    "bytea", type(TypeOid.BYTEA, "bytea", -1, 'i'));

    private static TypeDescriptor type(int oid, String name, int length, char alignment) {
        return new TypeDescriptor(
                oid, "pg_catalog", name, 'b', 'X', 0, 0, -1, length, false, alignment);
    }

    /** The first column is the key. */
    private static RelationDescriptor table(String... namesAndTypes) {
        List<AttributeDescriptor> attributes = new ArrayList<>();
        for (int i = 0; i < namesAndTypes.length; i += 2) {
            TypeDescriptor type = Objects.requireNonNull(TYPES.get(namesAndTypes[i + 1]));
            attributes.add(
                    new AttributeDescriptor(
                            attributes.size() + 1,
                            namesAndTypes[i],
                            type.oid(),
                            -1,
                            type.length(),
                            false,
                            type.alignment(),
                            'p',
                            false,
                            false,
                            '\0',
                            null));
        }
        return new RelationDescriptor(
                16_384,
                5,
                NAME,
                'r',
                'p',
                null,
                0,
                0,
                'd',
                "heap",
                0,
                attributes,
                List.of(1),
                List.of(1),
                List.copyOf(TYPES.values()));
    }

    private static MappingRules rules(String column, ColumnRule rule) {
        return MappingRules.defaults()
                .withTables(Map.of(NAME, new TableRule(null, null, Map.of(column, rule))));
    }

    private static ColumnRule transform(String text) {
        return new ColumnRule(
                null, null, false, false, Transform.parse(text, HashKey.of("a salt")));
    }

    private static ColumnRule type(String type, boolean lossy) {
        return new ColumnRule(null, ClickHouseType.parse(type), lossy, false, null);
    }

    private static TableMapping mapped(RelationDescriptor shape, MappingRules rules) {
        return ((Derivation.Mapped) TableMapping.derive(shape, rules)).mapping();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    int2        | Int32                  | false | Nullable(Int32)
                    int2        | Int64                  | false | Nullable(Int64)
                    int4        | Int64                  | false | Nullable(Int64)
                    oid         | UInt64                 | false | Nullable(UInt64)
                    int4        | Nullable(Int64)        | false | Nullable(Int64)
                    int8        | String                 | false | Nullable(String)
                    bytea       | String                 | false | Nullable(String)
                    text        | LowCardinality(String) | false | LowCardinality(Nullable(String))
                    numeric     | Decimal(18, 4)         | true  | Nullable(Decimal(18, 4))
                    timestamptz | DateTime64(6)          | false | Nullable(DateTime64(6, 'UTC'))
                    timestamptz | DateTime64(3)          | true  | Nullable(DateTime64(3, 'UTC'))
                    """)
    void takesTypesThatHoldEveryValueOrMayLoseSome(
            String source, String wanted, boolean lossy, String expected) {
        RelationDescriptor shape = table("id", "int4", "c", source);
        TableMapping mapping = mapped(shape, rules("c", type(wanted, lossy)));
        assertThat(mapping.columns().get(1).type().print()).isEqualTo(expected);
        assertThat(TableMapping.fromJson(mapping.toJson())).isEqualTo(mapping);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    int8        | Int32                 | false | Int64
                    int8        | Int32                 | true  | Int64
                    int4        | UInt32                | false | Int32
                    numeric     | Decimal(18, 4)        | false | lossy = true
                    timestamptz | DateTime64(3)         | false | lossy = true
                    timestamptz | DateTime64(9)         | true  | DateTime64(6)
                    timestamptz | DateTime              | true  | DateTime64(6, 'UTC')
                    text        | UUID                  | false | String
                    int4        | LowCardinality(Int32) | false | LowCardinality(String)
                    """)
    void refusesTypesThatCannotHoldEveryValue(
            String source, String wanted, boolean lossy, String named) {
        RelationDescriptor shape = table("id", "int4", "c", source);
        MappingRules rules = rules("c", type(wanted, lossy));
        assertThat(TableMapping.ruleProblems(shape, rules))
                .singleElement()
                .asString()
                .contains("column c", wanted, named, "String always holds");
        assertThat(TableMapping.derive(shape, rules)).isInstanceOf(Derivation.HeldBack.class);
    }

    @Test
    void aFilterNeedsRowsThatAreLoggedWhole() {
        RelationDescriptor shape = table("id", "int4", "n", "int4", "body", "text");
        MappingRules rules =
                MappingRules.defaults()
                        .withTables(
                                Map.of(
                                        NAME,
                                        new TableRule(
                                                null, null, Map.of(), RowFilter.parse("n > 3"))));
        assertThat(TableMapping.ruleProblems(shape, rules)).isEmpty();
        assertThat(TableMapping.ruleProblems(toasted(shape, 'f'), rules)).isEmpty();
        assertThat(TableMapping.ruleProblems(toasted(shape, 'd'), rules))
                .singleElement()
                .asString()
                .contains("where is refused", "of body", "shop.orders REPLICA IDENTITY FULL");
        assertThat(TableMapping.ruleProblems(toasted(shape, 'd'), rules.withKeptToast(true)))
                .isEmpty();
        ColumnRule excluded = new ColumnRule(null, null, false, true, null);
        TableRule without =
                new TableRule(null, null, Map.of("body", excluded), RowFilter.parse("n > 3"));
        assertThat(
                        TableMapping.ruleProblems(
                                toasted(shape, 'd'), rules.withTables(Map.of(NAME, without))))
                .isEmpty();
    }

    /** As a filter is pinned, whatever a column is called. */
    @Test
    void aNumberInAFilterIsNoName() {
        RelationDescriptor shape = table("id", "int4", "n", "int4", "$2", "int4");
        TableRule rule = new TableRule(null, null, Map.of(), RowFilter.parse("$2 > 3 and n < 9"));
        MappingRules rules = MappingRules.defaults().withTables(Map.of(NAME, rule));
        assertThat(((Derivation.Mapped) TableMapping.derive(shape, rules)).mapping().filter())
                .isEqualTo(RowFilter.parse("$2 > 3 and $2 < 9"));
    }

    private static RelationDescriptor toasted(RelationDescriptor shape, char identity) {
        return new RelationDescriptor(
                shape.oid(),
                shape.databaseOid(),
                shape.name(),
                shape.kind(),
                shape.persistence(),
                shape.locator(),
                16_387,
                0,
                identity,
                shape.accessMethod(),
                0,
                shape.attributes(),
                shape.primaryKey(),
                shape.identityKey(),
                shape.types());
    }

    @Test
    void keysMayOnlyBeHashed() {
        RelationDescriptor shape = table("id", "int4", "c", "text");
        for (String text : List.of("mask", "truncate(3)", "constant(x)", "null")) {
            assertThat(TableMapping.ruleProblems(shape, rules("id", transform(text))))
                    .singleElement()
                    .asString()
                    .contains("column id", "part of the key", "hash");
        }
        ColumnRule excluded = new ColumnRule(null, null, false, true, null);
        assertThat(TableMapping.ruleProblems(shape, rules("id", excluded)))
                .singleElement()
                .asString()
                .contains("cannot be excluded");
        TableMapping hashed = mapped(shape, rules("id", transform("hash")));
        assertThat(hashed.columns().getFirst().type().print()).isEqualTo("String");
    }

    @Test
    void saltsAreNotPinned() {
        RelationDescriptor shape = table("id", "int4", "c", "text");
        MappingRules rules = rules("c", transform("hash")).withHashKey(HashKey.of("a salt"));
        TableMapping mapping = mapped(shape, rules);
        String json = mapping.toJson();
        assertThat(json).doesNotContain("a salt");
        Transform pinned =
                Objects.requireNonNull(TableMapping.fromJson(json).columns().get(1).transform());
        assertThatThrownBy(() -> new TransformedText(pinned))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("WS-1754");
        Transform salted = Objects.requireNonNull(rules.pinned(json).columns().get(1).transform());
        assertThat(new TransformedText(salted).of("x")).hasSize(64);
        assertThat(MappingRules.defaults().withHashKey(HashKey.of("other")).pinned(json))
                .isNotEqualTo(mapped(shape, rules.withHashKey(HashKey.of("other"))));
    }

    @Test
    void transformsWorkOnCharacters() {
        assertThat(transformed("mask", "aé\uD83D\uDE00")).isEqualTo("***");
        assertThat(transformed("truncate(2)", "aé\uD83D\uDE00")).isEqualTo("aé");
        assertThat(transformed("truncate(3)", "aé\uD83D\uDE00b")).isEqualTo("aé\uD83D\uDE00");
        assertThat(transformed("truncate(0)", "a")).isEmpty();
        assertThat(transformed("constant(a)b)", null)).isEqualTo("a)b");
        assertThat(transformed("null", "a")).isNull();
        assertThat(transformed("hash", null)).isNull();
    }

    private static @Nullable String transformed(String transform, @Nullable String text) {
        return new TransformedText(Objects.requireNonNull(transform(transform).transform()))
                .of(text);
    }

    @Test
    void columnsWithADotAreNamedWithoutOne() {
        TableMapping mapping =
                mapped(
                        table(
                                "id", "int4", "a.b", "text", "a_b", "text", "a.b.c", "text",
                                "a.b_c", "text", "_part", "text"),
                        MappingRules.defaults());
        assertThat(mapping.columns().stream().map(ColumnMapping::name))
                .containsExactly("id", "_a_b", "a_b", "a_b_c", "_a_b_c", "__part");
    }

    @Test
    void whatWasLeftOutOrTransformedStaysSoUnderAnotherName() {
        RelationDescriptor before = table("id", "int4", "email", "text", "secret", "text");
        MappingRules rules =
                MappingRules.defaults()
                        .withTables(
                                Map.of(
                                        NAME,
                                        new TableRule(
                                                null,
                                                null,
                                                Map.of(
                                                        "email",
                                                        transform("hash"),
                                                        "secret",
                                                        new ColumnRule(
                                                                null, null, false, true, null)))));
        TableMapping pinned = mapped(before, rules);
        RelationDescriptor now = table("id", "int4", "mail", "text", "hidden", "text");
        TableMapping after = mapped(now, rules.carried(pinned, before, now));
        assertThat(after.columns()).hasSize(2);
        assertThat(after.columns().get(1).transform()).isInstanceOf(Transform.Hash.class);
        assertThat(rules.unknownColumns(now)).containsExactly("email", "secret");
    }

    @Test
    void aTableWithTooLongANameIsHeldBackWithTheWayOut() {
        MappingRules rules =
                MappingRules.defaults()
                        .withTables(
                                Map.of(
                                        NAME,
                                        new TableRule("中".repeat(21), "中".repeat(21), Map.of())));
        assertThat(TableMapping.derive(table("id", "int4"), rules))
                .isInstanceOfSatisfying(
                        Derivation.HeldBack.class,
                        held ->
                                assertThat(held.reasons())
                                        .singleElement()
                                        .asString()
                                        .contains("too long", "[tables.\"shop.orders\"] table"));
    }
}
