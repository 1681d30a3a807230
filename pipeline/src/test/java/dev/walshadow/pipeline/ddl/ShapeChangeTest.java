package dev.walshadow.pipeline.ddl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.value.TypeOid;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Decisions, which need no server. */
final class ShapeChangeTest {
    private static final Shapes TABLE =
            Shapes.table("s")
                    .add("a", TypeOid.INT4)
                    .add("b", TypeOid.TEXT)
                    .add("n", TypeOid.NUMERIC, Shapes.numeric(9, 2), null)
                    .add("v", TypeOid.VARCHAR, 24, null)
                    .add("d", TypeOid.DATE)
                    .add("ts", TypeOid.TIMESTAMP, 3, null)
                    .add("net", TypeOid.CIDR);

    private static List<String> steps(Shapes from, Shapes to) {
        assertThat(from.to(to)).isInstanceOf(ShapeChange.InPlace.class);
        return ((ShapeChange.InPlace) from.to(to))
                .steps().stream().map(ShapeChangeTest::text).toList();
    }

    private static String text(ColumnStep step) {
        return switch (step) {
            case ColumnStep.Drop(String name) -> "drop " + name;
            case ColumnStep.Rename(String from, String to) -> from + " -> " + to;
            case ColumnStep.Modify(var column) -> column.name() + " " + column.type().print();
            case ColumnStep.Add(var column, String after) -> "add " + column.name() + " " + after;
        };
    }

    @Test
    void whatClickHouseDoesNotShowChangesNothing() {
        assertThat(TABLE.to(TABLE.rewritten())).isInstanceOf(ShapeChange.Unchanged.class);
        assertThat(TABLE.to(TABLE.identity('f'))).isInstanceOf(ShapeChange.Unchanged.class);
        for (Shapes after :
                List.of(
                        TABLE.retype("v", TypeOid.TEXT, -1),
                        TABLE.retype("v", TypeOid.VARCHAR, 104),
                        TABLE.retype("ts", TypeOid.TIMESTAMPTZ, 3),
                        TABLE.moved("s", "renamed"),
                        TABLE.moved("other", "t"))) {
            ShapeChange change = TABLE.to(after);
            assertThat(change).isInstanceOf(ShapeChange.Unchanged.class);
            // encoders compare type OID and modifier, so the mapping must have the new ones
            assertThat(change.mapping()).isEqualTo(after.mapping());
        }
    }

    @Test
    void columnsAreMatchedByNumber() {
        assertThat(steps(TABLE, TABLE.add("x", TypeOid.INT8))).containsExactly("add x net");
        assertThat(steps(TABLE, TABLE.drop("b"))).containsExactly("drop b");
        assertThat(steps(TABLE, TABLE.drop("b").add("b", TypeOid.TEXT)))
                .containsExactly("drop b", "add b net");
        assertThat(steps(TABLE, TABLE.rename("a", "x"))).containsExactly("a -> x");
        assertThat(steps(TABLE, TABLE.drop("b").rename("a", "b")))
                .containsExactly("drop b", "a -> b");
        assertThat(steps(TABLE, TABLE.rename("b", "x").rename("a", "b").rename("d", "a")))
                .containsExactly("b -> x", "a -> b", "d -> a");
        assertThat(
                        steps(
                                TABLE,
                                TABLE.rename("n", "m")
                                        .retype("m", TypeOid.NUMERIC, Shapes.numeric(40, 2))))
                .containsExactly("n -> m", "m Nullable(Decimal(40, 2))");
    }

    @Test
    void typesThatHoldMoreOfTheSameAreModified() {
        assertThat(steps(TABLE, TABLE.retype("n", TypeOid.NUMERIC, Shapes.numeric(20, 2))))
                .containsExactly("n Nullable(Decimal(20, 2))");
        assertThat(steps(TABLE, TABLE.retype("ts", TypeOid.TIMESTAMPTZ, 6)))
                .containsExactly("ts Nullable(DateTime64(6, 'UTC'))");
    }

    @Test
    void namesInACircleAndKeyColumnsAreCopied() {
        Shapes exchanged = TABLE.rename("a", "x").rename("b", "a").rename("x", "b");
        assertThat(TABLE.to(exchanged)).isInstanceOf(ShapeChange.Beside.class);
        assertThat(TABLE.to(TABLE.rename("id", "key"))).isInstanceOf(ShapeChange.Beside.class);
        assertThat(TABLE.to(TABLE.add("_version", TypeOid.INT4)))
                .isInstanceOf(ShapeChange.Beside.class);
        Shapes decimal = TABLE.key("n");
        assertThat(decimal.to(decimal.retype("n", TypeOid.NUMERIC, Shapes.numeric(40, 2))))
                .isInstanceOf(ShapeChange.Beside.class);
    }

    @Test
    void aUsersColumnPushesOursAside() {
        Shapes after = TABLE.add("_xid", TypeOid.INT4).add("_lsn", TypeOid.INT4);
        assertThat(steps(TABLE, after))
                .containsExactly("_xid -> __xid", "_lsn -> __lsn", "add _xid net", "add _lsn _xid");
        ShapeChange back =
                ShapeChange.decide(
                        TABLE.to(after).mapping(),
                        after.shape(),
                        after.drop("_xid").shape(),
                        MappingRules.defaults(),
                        false);
        assertThat(((ShapeChange.InPlace) back).steps())
                .containsExactly(new ColumnStep.Drop("_xid"));
        assertThat(back.mapping().meta().xid()).isEqualTo("__xid");
    }

    @Test
    void anotherKeyIsLoaded() {
        assertThat(TABLE.to(TABLE.key("a", "id"))).isInstanceOf(ShapeChange.Load.class);
        assertThat(TABLE.to(TABLE.key("b"))).isInstanceOf(ShapeChange.Load.class);
        assertThat(TABLE.to(TABLE.key("v", "n").drop("id"))).isInstanceOf(ShapeChange.Load.class);
    }

    @Test
    void anotherKeyIsCopiedWhereNoRowWasLoggedWithTheOldOne() {
        assertThat(TABLE.to(TABLE.key("a", "id"), true)).isInstanceOf(ShapeChange.Rekeyed.class);
        assertThat(TABLE.key().to(TABLE, true)).isInstanceOf(ShapeChange.Rekeyed.class);
        assertThat(TABLE.to(TABLE.key(), true))
                .as("places are not stored")
                .isInstanceOf(ShapeChange.Load.class);
        assertThat(TABLE.to(TABLE.key("a", "id").rewritten(), true))
                .isInstanceOf(ShapeChange.Load.class);
    }

    @Test
    void whatOnlyTheSourceKnowsIsLoaded() {
        assertThat(TABLE.to(TABLE.add("x", TypeOid.INT4).key("x")))
                .isInstanceOf(ShapeChange.Load.class);
        assertThat(TABLE.to(TABLE.add("x", TypeOid.INT4).rewritten()))
                .isInstanceOf(ShapeChange.Load.class);
        assertThat(TABLE.to(TABLE.retype("a", TypeOid.INT8, -1).rewritten()))
                .isInstanceOf(ShapeChange.Load.class);
        // NaN is NULL in a Decimal
        assertThat(TABLE.to(TABLE.retype("n", TypeOid.NUMERIC, -1)))
                .isInstanceOf(ShapeChange.Load.class);
        // the same bytes, printed in another way
        assertThat(TABLE.to(TABLE.retype("net", TypeOid.INET, -1)))
                .isInstanceOf(ShapeChange.Load.class);
    }

    @Test
    void anUnmappableShapeIsHeldBack() {
        assertThat(TABLE.to(TABLE.retype("a", 99_999, -1)))
                .isInstanceOfSatisfying(
                        ShapeChange.HeldBack.class,
                        held -> assertThat(held.reasons()).anyMatch(r -> r.contains("column a")));
    }

    @Test
    void aPinnedChoiceOfAnotherVersionStays() {
        TableMapping derived = TABLE.mapping();
        TableMapping pinned =
                TableMapping.fromJson(
                        derived.toJson()
                                .replace(
                                        "\"type\":\"Nullable(Date32)\",\"conversion\":\"DATE32\"",
                                        "\"type\":\"Nullable(String)\",\"conversion\":\"TEXT\""));
        assertThat(pinned).isNotEqualTo(derived);
        Shapes after = TABLE.add("x", TypeOid.INT4);
        ShapeChange change =
                ShapeChange.decide(
                        pinned, TABLE.shape(), after.shape(), MappingRules.defaults(), false);
        assertThat(change).isInstanceOf(ShapeChange.InPlace.class);
        assertThat(change.mapping().columns().subList(0, pinned.columns().size()))
                .isEqualTo(pinned.columns());
        assertThat(change.mapping().source()).isEqualTo(new RelationName("s", "t"));
    }
}
