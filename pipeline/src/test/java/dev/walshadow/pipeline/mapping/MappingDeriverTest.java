package dev.walshadow.pipeline.mapping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.catalog.TypeStructure.EnumLabel;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.pipeline.mapping.MappingRules.ColumnRule;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import dev.walshadow.postgres.value.TypeOid;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Decisions that need no server. */
final class MappingDeriverTest {
    private static final int COMPOSITE = 20_000;
    private static final int DOMAIN = 20_001;
    private static final int ENUM = 20_002;
    private static final int INT4_ARRAY = 1007;

    private static final List<TypeDescriptor> TYPES =
            List.of(
                    type(TypeOid.INT4, "int4", 'b', 0, 0, -1, 4, 'i'),
                    type(TypeOid.TEXT, "text", 'b', 0, 0, -1, -1, 'i'),
                    type(TypeOid.NUMERIC, "numeric", 'b', 0, 0, -1, -1, 'i'),
                    type(TypeOid.DATE, "date", 'b', 0, 0, -1, 4, 'i'),
                    type(TypeOid.TIME, "time", 'b', 0, 0, -1, 8, 'd'),
                    type(TypeOid.TIMESTAMPTZ, "timestamptz", 'b', 0, 0, -1, 8, 'd'),
                    type(INT4_ARRAY, "_int4", 'b', TypeOid.INT4, 0, -1, -1, 'i'),
                    type(COMPOSITE, "pair", 'c', 0, 0, -1, -1, 'd'),
                    type(ENUM, "mood", 'e', 0, 0, -1, 4, 'i'),
                    type(DOMAIN, "amount", 'd', 0, TypeOid.NUMERIC, numeric(12, 2), -1, 'i'));

    private static TypeDescriptor type(
            int oid,
            String name,
            char kind,
            int element,
            int base,
            int baseModifier,
            int length,
            char alignment) {
        return new TypeDescriptor(
                oid, "s", name, kind, 'X', element, base, baseModifier, length, false, alignment);
    }

    private static int numeric(int precision, int scale) {
        return ((precision << 16) | (scale & 0x7FF)) + 4;
    }

    private record Column(String name, int type, int modifier) {}

    private static Column column(String name, int type) {
        return new Column(name, type, -1);
    }

    private static RelationDescriptor table(
            char kind, char persistence, char identity, List<Integer> key, Column... columns) {
        List<AttributeDescriptor> attributes = new ArrayList<>();
        for (Column column : columns) {
            attributes.add(
                    new AttributeDescriptor(
                            attributes.size() + 1,
                            column.name(),
                            column.type(),
                            column.modifier(),
                            4,
                            true,
                            'i',
                            'p',
                            false,
                            false,
                            '\0',
                            null));
        }
        return new RelationDescriptor(
                16_384,
                5,
                new RelationName("shop", "orders"),
                kind,
                persistence,
                null,
                0,
                0,
                identity,
                "heap",
                0,
                attributes,
                key,
                key,
                TYPES);
    }

    private static RelationDescriptor ordinary(Column... columns) {
        return table('r', 'p', 'd', List.of(1), columns);
    }

    private static TableMapping mapped(RelationDescriptor shape, MappingRules rules) {
        Derivation derivation = TableMapping.derive(shape, rules);
        assertThat(derivation).isInstanceOf(Derivation.Mapped.class);
        return ((Derivation.Mapped) derivation).mapping();
    }

    private static List<String> reasons(RelationDescriptor shape, MappingRules rules) {
        Derivation derivation = TableMapping.derive(shape, rules);
        assertThat(derivation).isInstanceOf(Derivation.HeldBack.class);
        return ((Derivation.HeldBack) derivation).reasons();
    }

    private static String typeOf(TableMapping mapping, String column) {
        return mapping.columns().stream()
                .filter(c -> c.sourceName().equals(column))
                .map(c -> c.type().print())
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aTableBecomesReplacingMergeTreeOrderedByItsKey() {
        RelationDescriptor shape =
                table(
                        'r',
                        'p',
                        'd',
                        List.of(2, 1),
                        column("id", TypeOid.INT4),
                        column("region", TypeOid.TEXT),
                        column("note", TypeOid.TEXT));
        assertThat(mapped(shape, MappingRules.defaults()).toDdl())
                .isEqualTo(
                        """
                        CREATE TABLE IF NOT EXISTS `shop`.`orders`
                        (
                            `id` Int32,
                            `region` String,
                            `note` Nullable(String),
                            `_version` UInt128,
                            `_is_deleted` UInt8,
                            `_commit_ts` DateTime64(6, 'UTC'),
                            `_xid` UInt32,
                            `_commit_lsn` UInt64 ALIAS toUInt64(bitShiftRight(`_version`, 64)),
                            `_lsn` UInt64 ALIAS bitAnd(toUInt64(`_version`), 18446744073709551614)
                        )
                        ENGINE = ReplacingMergeTree(`_version`, `_is_deleted`)
                        ORDER BY (`region`, `id`)
                        SETTINGS index_granularity_bytes = 1048576\
                        """);
    }

    @Test
    void numericBecomesDecimalOnlyWhereItFits() {
        TableMapping mapping =
                mapped(
                        ordinary(
                                column("id", TypeOid.INT4),
                                new Column("fits", TypeOid.NUMERIC, numeric(76, 76)),
                                new Column("wide", TypeOid.NUMERIC, numeric(77, 0)),
                                new Column("negative", TypeOid.NUMERIC, numeric(5, -2)),
                                new Column("fraction", TypeOid.NUMERIC, numeric(3, 5)),
                                column("plain", TypeOid.NUMERIC),
                                column("domain", DOMAIN),
                                new Column("tightened", DOMAIN, -1)),
                        MappingRules.defaults());
        assertThat(mapping.columns().stream().map(c -> c.type().print()))
                .containsExactly(
                        "Int32",
                        "Nullable(Decimal(76, 76))",
                        "Nullable(String)",
                        "Nullable(String)",
                        "Nullable(String)",
                        "Nullable(String)",
                        "Nullable(Decimal(12, 2))",
                        "Nullable(Decimal(12, 2))");
    }

    private static final int LABELLED = 20_003;

    private static RelationDescriptor labelled(EnumLabel... labels) {
        RelationDescriptor shape =
                ordinary(column("id", LABELLED), column("m", LABELLED), column("n", TypeOid.INT4));
        List<TypeDescriptor> types = new ArrayList<>(TYPES);
        types.add(
                type(LABELLED, "mood", 'e', 0, 0, -1, 4, 'i')
                        .with(new TypeStructure.Enumeration(List.of(labels))));
        return new RelationDescriptor(
                shape.oid(),
                shape.databaseOid(),
                shape.name(),
                shape.kind(),
                shape.persistence(),
                shape.locator(),
                0,
                0,
                'd',
                "heap",
                0,
                shape.attributes(),
                shape.primaryKey(),
                List.of(),
                types);
    }

    @Test
    void enumLabelsKeepTheirNumbers() {
        MappingRules rules = MappingRules.defaults();
        TableMapping first =
                mapped(labelled(new EnumLabel(7, "sad"), new EnumLabel(9, "it's ok")), rules);
        assertThat(typeOf(first, "id")).isEqualTo("Enum16('sad' = 1, 'it\\'s ok' = 2)");
        assertThat(typeOf(first, "m")).isEqualTo("Nullable(Enum16('sad' = 1, 'it\\'s ok' = 2))");
        TableMapping pinned = TableMapping.fromJson(first.toJson());
        assertThat(pinned).isEqualTo(first);
        RelationDescriptor later =
                labelled(
                        new EnumLabel(11, "between"),
                        new EnumLabel(7, "gloomy"),
                        new EnumLabel(10, "before"),
                        new EnumLabel(9, "it's ok"));
        TableMapping second =
                ((Derivation.Mapped) TableMapping.derive(later, rules, pinned)).mapping();
        assertThat(typeOf(second, "id"))
                .isEqualTo("Enum16('gloomy' = 1, 'it\\'s ok' = 2, 'between' = 3, 'before' = 4)");
        assertThat(second.column(2).enumNumbers())
                .containsExactly(
                        new EnumNumber(7, "gloomy", 1),
                        new EnumNumber(9, "it's ok", 2),
                        new EnumNumber(11, "between", 3),
                        new EnumNumber(10, "before", 4));
        // unpinned, another order: so it is the pin that keeps them
        assertThat(typeOf(mapped(later, rules), "id")).startsWith("Enum16('between' = 1");
    }

    @Test
    void enumLabelsThatVanishedKeepTheirNumbersToo() {
        List<EnumNumber> pinned = List.of(new EnumNumber(7, "sad", 1), new EnumNumber(9, "ok", 5));
        assertThat(
                        EnumNumbers.of(
                                List.of(new EnumLabel(9, "ok"), new EnumLabel(12, "new")), pinned))
                .containsExactly(
                        new EnumNumber(7, "sad", 1),
                        new EnumNumber(9, "ok", 5),
                        new EnumNumber(12, "new", 6));
        // dropped and made anew under the same name
        assertThat(EnumNumbers.of(List.of(new EnumLabel(20, "sad")), pinned))
                .containsExactly(new EnumNumber(20, "sad", 1), new EnumNumber(9, "ok", 5));
        assertThat(EnumNumbers.of(List.of(), List.of())).isEmpty();
    }

    @Test
    void anEnumThatClickHouseCannotHaveIsText() {
        MappingRules rules = MappingRules.defaults();
        assertThat(typeOf(mapped(labelled(), rules), "m")).isEqualTo("Nullable(String)");
        EnumLabel[] many = new EnumLabel[32_768];
        for (int i = 0; i < many.length; i++) {
            many[i] = new EnumLabel(i + 1, "label" + i);
        }
        assertThat(typeOf(mapped(labelled(many), rules), "m")).isEqualTo("Nullable(String)");
    }

    @Test
    void keysUseOnlyTypesThatHoldEveryValue() {
        TableMapping mapping =
                mapped(
                        table(
                                'r',
                                'p',
                                'd',
                                List.of(1, 2, 3, 4),
                                column("day", TypeOid.DATE),
                                column("at", TypeOid.TIMESTAMPTZ),
                                column("n", TypeOid.NUMERIC),
                                column("a", INT4_ARRAY),
                                column("other", TypeOid.DATE)),
                        MappingRules.defaults());
        assertThat(mapping.columns().stream().map(c -> c.type().print()))
                .containsExactly("String", "String", "String", "String", "Nullable(Date32)");
    }

    @Test
    void theKeyFollowsTheReplicaIdentity() {
        Column[] columns = {column("a", TypeOid.INT4), column("b", TypeOid.INT4)};
        MappingRules rules = MappingRules.defaults();
        assertThat(mapped(table('r', 'p', 'i', List.of(2), columns), rules).key())
                .containsExactly(2);
        assertThat(mapped(table('r', 'p', 'f', List.of(1), columns), rules).key())
                .containsExactly(1);
        assertThat(mapped(table('r', 'p', 'n', List.of(1), columns), rules).isKeyless()).isTrue();
        assertThat(mapped(table('r', 'p', 'f', List.of(), columns), rules).isKeyless()).isTrue();
        assertThat(mapped(table('r', 'p', 'd', List.of(), columns), rules).isKeyless()).isTrue();
        assertThat(mapped(table('r', 'p', 'i', List.of(), columns), rules).isKeyless()).isTrue();
    }

    @Test
    void withoutAKeyRowsAreOrderedByTheirPlace() {
        RelationDescriptor shape =
                table(
                        'r',
                        'p',
                        'n',
                        List.of(1),
                        column("id", TypeOid.INT4),
                        column("_tid", TypeOid.TEXT));
        TableMapping mapping = mapped(shape, MappingRules.defaults());
        assertThat(mapping.toDdl())
                .isEqualTo(
                        """
                        CREATE TABLE IF NOT EXISTS `shop`.`orders`
                        (
                            `id` Nullable(Int32),
                            `_tid` Nullable(String),
                            `_version` UInt128,
                            `_is_deleted` UInt8,
                            `_commit_ts` DateTime64(6, 'UTC'),
                            `_xid` UInt32,
                            `__tid` UInt64,
                            `_commit_lsn` UInt64 ALIAS toUInt64(bitShiftRight(`_version`, 64)),
                            `_lsn` UInt64 ALIAS bitAnd(toUInt64(`_version`), 18446744073709551614)
                        )
                        ENGINE = ReplacingMergeTree(`_version`, `_is_deleted`)
                        ORDER BY (`__tid`)
                        SETTINGS index_granularity_bytes = 1048576\
                        """);
        assertThat(TableMapping.fromJson(mapping.toJson())).isEqualTo(mapping);
        assertThat(mapping.toJson()).startsWith("{\"format\":2,");
        Derivation.Mapped derived =
                (Derivation.Mapped) TableMapping.derive(shape, MappingRules.defaults());
        assertThat(derived.notes())
                .anySatisfy(note -> assertThat(note).contains("no usable key", "'n'"))
                .anySatisfy(note -> assertThat(note).contains("__tid"));
        TableMapping keyed = mapped(ordinary(column("id", TypeOid.INT4)), MappingRules.defaults());
        assertThat(keyed.toJson()).startsWith("{\"format\":1,");
        assertThatThrownBy(() -> TableMapping.fromJson(keyed.toJson().replace("[1]", "[]")))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("either a key or a tid");
    }

    @Test
    void whatCannotBeMappedIsNamedAllAtOnce() {
        List<String> reasons =
                reasons(
                        table(
                                'r',
                                'u',
                                'd',
                                List.of(),
                                column("id", TypeOid.INT4),
                                column("p", COMPOSITE),
                                column("m", ENUM),
                                column("x", 4711)),
                        MappingRules.defaults());
        assertThat(reasons).hasSize(4);
        assertThat(String.join("\n", reasons))
                .contains("unlogged")
                .contains("column p has the type s.pair")
                .contains("column m has the type s.mood")
                .contains("column x (OID 4711)");
        assertThat(
                        reasons(
                                table('f', 'p', 'd', List.of(1), column("id", TypeOid.INT4)),
                                MappingRules.defaults()))
                .singleElement()
                .asString()
                .contains("relkind 'f'");
    }

    @Test
    void namesCanBeChangedAndReservedDatabasesAreRefused() {
        RelationDescriptor shape = ordinary(column("id", TypeOid.INT4), column("v", TypeOid.DATE));
        MappingRules rules = MappingRules.defaults();
        assertThat(mapped(shape, rules.withNames("app_", "meta", Map.of())).target())
                .isEqualTo("app_shop.orders");
        assertThat(mapped(shape, rules.withNames("", "meta", Map.of("shop", "sales"))).target())
                .isEqualTo("sales.orders");
        TableMapping renamed =
                mapped(
                        shape,
                        rules.withTables(
                                Map.of(
                                        shape.name(),
                                        new TableRule(
                                                "d",
                                                "t",
                                                Map.of(
                                                        "v",
                                                        new ColumnRule(
                                                                "day",
                                                                ClickHouseType.Scalar.STRING))))));
        assertThat(renamed.target()).isEqualTo("d.t");
        assertThat(renamed.blockNames()).startsWith("id", "day");
        assertThat(typeOf(renamed, "v")).isEqualTo("Nullable(String)");
        for (String taken : List.of("system", "INFORMATION_SCHEMA", "meta")) {
            assertThat(reasons(shape, rules.withNames("", "meta", Map.of("shop", taken))))
                    .singleElement()
                    .asString()
                    .contains("\"" + taken + "\"", "[schemas.shop]");
        }
    }

    @Test
    void ourColumnsGiveWayToTheUsers() {
        RelationDescriptor shape =
                ordinary(
                        column("_version", TypeOid.INT4),
                        column("__version", TypeOid.INT4),
                        column("_xid", TypeOid.INT4),
                        column("_row_exists", TypeOid.INT4));
        Derivation.Mapped mapped =
                (Derivation.Mapped) TableMapping.derive(shape, MappingRules.defaults());
        assertThat(mapped.mapping().blockNames())
                .containsExactly(
                        "_version",
                        "__version",
                        "_xid",
                        "__row_exists",
                        "___version",
                        "_is_deleted",
                        "_commit_ts",
                        "__xid");
        assertThat(mapped.notes()).hasSize(2);
    }

    @Test
    void timeIsTextWhereTheServerLacksTime64() {
        RelationDescriptor shape = ordinary(column("id", TypeOid.INT4), column("t", TypeOid.TIME));
        MappingRules rules = MappingRules.defaults();
        assertThat(typeOf(mapped(shape, rules), "t")).isEqualTo("Nullable(Time64(6))");
        assertThat(typeOf(mapped(shape, rules.withTime64(false)), "t"))
                .isEqualTo("Nullable(String)");
    }

    @Test
    void aPinnedMappingComesBackEqualOrIsRefused() {
        TableMapping mapping =
                mapped(
                        ordinary(
                                column("id \"`\\\n", TypeOid.INT4),
                                column("a", INT4_ARRAY),
                                column("n", DOMAIN)),
                        MappingRules.defaults());
        String json = mapping.toJson();
        assertThat(json).doesNotContain("\n");
        assertThat(TableMapping.fromJson(json)).isEqualTo(mapping);
        assertThatThrownBy(
                        () -> TableMapping.fromJson(json.replace("\"format\":1", "\"format\":9")))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("format 9");
        assertThatThrownBy(() -> TableMapping.fromJson(json.substring(0, 40)))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("WS-1750");
        assertThatThrownBy(() -> TableMapping.fromJson(json.replace("INT32", "INT33")))
                .isInstanceOf(QuarantineException.class);
        assertThatThrownBy(() -> TableMapping.fromJson("{}"))
                .isInstanceOf(QuarantineException.class);
    }

    @Test
    void anExistingTableIsCompared() {
        TableMapping mapping =
                mapped(
                        ordinary(column("id", TypeOid.INT4), column("v", TypeOid.TEXT)),
                        MappingRules.defaults());
        List<TableShape.Column> good = new ArrayList<>();
        for (int i = 0; i < mapping.blockNames().size(); i++) {
            good.add(
                    new TableShape.Column(
                            mapping.blockNames().get(i), mapping.blockTypes().get(i).print(), ""));
        }
        good.add(new TableShape.Column("extra", "String", "DEFAULT"));
        String engine = "ReplacingMergeTree(_version, _is_deleted) ORDER BY id";
        assertThat(
                        mapping.differences(
                                new TableShape(
                                        "shop",
                                        "orders",
                                        "ReplacingMergeTree",
                                        engine,
                                        "id",
                                        good)))
                .isEmpty();
        List<TableShape.Column> bad = new ArrayList<>(good);
        bad.set(1, new TableShape.Column("v", "String", ""));
        bad.remove(2);
        List<String> found =
                mapping.differences(
                        new TableShape(
                                "shop", "orders", "MergeTree", "MergeTree ORDER BY v", "v", bad));
        assertThat(found).hasSize(4);
        assertThat(String.join("\n", found))
                .contains("shop.orders: expected the engine ReplacingMergeTree")
                .contains("expected ORDER BY (id), found (v)")
                .contains("column v of type Nullable(String), found String")
                .contains("column _version of type UInt128, found no such column");
    }
}
