package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.MappingRules;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Attach checks and the ledger, against the real engine. */
final class TargetTablesTest {
    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    @Test
    void aNonEmptyTargetIsRefusedAndNothingIsChanged() throws Exception {
        ItemsTable items = new ItemsTable("filled", "items", 16500, 16503);
        ItemsTable other = new ItemsTable("filled", "other", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("filled", items, other)) {
            h.client.execute("CREATE DATABASE filled");
            h.client.execute("CREATE TABLE filled.other (a Int32) ENGINE = MergeTree ORDER BY a");
            h.tables.attach(
                    h.shapes.subList(0, 1),
                    Partitions.among(h.shapes.subList(0, 1)),
                    PipelineHarness.B);
            h.client.execute("INSERT INTO filled.items (id, n) VALUES (1, 2)");
            h.client.execute("DROP DATABASE " + h.metadata + " SYNC");
            TargetTables again = h.open();
            assertThat(again.isAttached()).isFalse();
            assertThat(again.problems(h.shapes))
                    .hasSize(2)
                    .anyMatch(p -> p.contains("filled.items") && p.contains("TRUNCATE TABLE"))
                    .anyMatch(p -> p.contains("filled.other") && p.contains("Drop or rename"));
            assertThatThrownBy(() ->
                            again.attach(h.shapes, Partitions.among(h.shapes), PipelineHarness.B))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("nothing was changed");
            assertThat(
                            h.client.queryValue(
                                    "SELECT count() FROM system.databases WHERE name = '"
                                            + h.metadata
                                            + "'"))
                    .isEqualTo("0");
        }
    }

    private static void execute(PipelineHarness h, String... statements) {
        for (String statement : statements) {
            h.client.execute(statement);
        }
    }

    private static String definition(PipelineHarness h, String database, String table) {
        return String.valueOf(
                h.client.queryValue(
                        "SELECT create_table_query FROM system.tables WHERE database = '"
                                + database
                                + "' AND name = '"
                                + table
                                + "'"));
    }

    @Test
    void anExistingTableIsEmptiedAndUsedAsItIsDefined() throws Exception {
        ItemsTable items = new ItemsTable("emptied_first", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("emptied_first", items)) {
            h.tables.attach(h.shapes, Partitions.among(h.shapes), PipelineHarness.B);
            execute(
                    h,
                    "ALTER TABLE emptied_first.items ADD INDEX by_n n TYPE minmax",
                    "ALTER TABLE emptied_first.items MODIFY COMMENT 'of somebody else'",
                    "INSERT INTO emptied_first.items (id, n, _version) VALUES (1, 2,"
                            + " pow(2, 100))",
                    "DROP DATABASE " + h.metadata + " SYNC");
            h.tables = h.open(TargetOptions.OnExisting.EMPTY);
            assertThat(h.tables.problems(h.shapes)).isEmpty();
            assertThat(h.rows(items)).as("asking changes nothing").hasSize(1);
            h.attached();
            submitRow(h, items);
            h.live();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|b|1"));
            assertThat(definition(h, "emptied_first", "items"))
                    .contains("by_n")
                    .contains("walshadow: source");
        }
    }

    @Test
    void anExistingTableOfAnotherShapeIsRefusedOrReplacedButNeverEmptied() throws Exception {
        ItemsTable items = new ItemsTable("kept_aside", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("kept_aside", items)) {
            execute(
                    h,
                    "CREATE DATABASE kept_aside",
                    "CREATE TABLE kept_aside.items (id Int64) ENGINE = MergeTree ORDER BY id",
                    "INSERT INTO kept_aside.items VALUES (7)",
                    "CREATE TABLE kept_aside.items_replaced (a Int8) ENGINE = Log");
            TargetTables emptying = h.open(TargetOptions.OnExisting.EMPTY);
            assertThat(emptying.problems(h.shapes))
                    .singleElement()
                    .asString()
                    .contains("WS-1705")
                    .contains("name")
                    .contains("replace");
            h.tables = h.open(TargetOptions.OnExisting.REPLACE);
            assertThat(h.tables.problems(h.shapes)).isEmpty();
            h.attached();
            submitRow(h, items);
            h.live();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|b|1"));
            assertThat(h.client.queryValue("SELECT id FROM kept_aside.items_replaced_2"))
                    .isEqualTo("7");
        }
    }

    @Test
    void anAttachThatBeginsAnewKeepsTheDefinitionOfATableThatItEmptied() throws Exception {
        ItemsTable items = new ItemsTable("emptied_twice", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("emptied_twice", items)) {
            h.tables.attach(h.shapes, Partitions.among(h.shapes), PipelineHarness.B);
            execute(
                    h,
                    "ALTER TABLE emptied_twice.items ADD INDEX by_n n TYPE minmax",
                    "INSERT INTO emptied_twice.items (id, n) VALUES (1, 2)");
            h.tables = h.open(TargetOptions.OnExisting.EMPTY);
            h.tables.startOver();
            h.tables.attach(h.shapes, Partitions.among(h.shapes), PipelineHarness.B + 0x1000);
            assertThat(h.rows(items)).isEmpty();
            assertThat(definition(h, "emptied_twice", "items")).contains("by_n");
        }
    }

    @Test
    void anotherSourcesMetadataIsRefused() throws Exception {
        ItemsTable items = new ItemsTable("foreign", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("foreign", items)) {
            h.tables.attach(h.shapes, Partitions.among(h.shapes), PipelineHarness.B);
            TargetOptions options =
                    new TargetOptions(
                            h.metadata,
                            PipelineHarness.SYSTEM + 1,
                            "other",
                            MappingRules.defaults().withNames("", h.metadata, Map.of()),
                            _ -> SourceEncoding.UTF8,
                            TargetOptions.OnDrop.RETAIN,
                            false);
            assertThatThrownBy(() -> TargetTables.open(h.client, options))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("WS-1706")
                    .hasMessageContaining("drop the database");
        }
    }

    @Test
    void anUnfinishedAttachBeginsAnewAndAFinishedOneIsNotOverwritten() throws Exception {
        ItemsTable done = new ItemsTable("unfinished", "done", 16500, 16503);
        ItemsTable open = new ItemsTable("unfinished", "open", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("unfinished", done, open).attached()) {
            for (ItemsTable table : List.of(done, open)) {
                h.pipeline.awaitBaseline(
                        h.pipeline.submitBaseline(
                                TestTransaction.baseline(PipelineHarness.B)
                                        .insert(table, 1, "a", Big.inline("b"), 1)));
            }
            h.pipeline.baselineComplete(ItemsTable.DATABASE, done.oid());
            h.pipeline.settleLedger();
            h.pipeline.close();

            h.tables = h.open();
            assertThat(h.tables.isAttached()).isTrue();
            assertThat(h.tables.isComplete()).isFalse();
            assertThat(h.tables.problems(h.shapes))
                    .singleElement()
                    .asString()
                    .contains("WS-1705")
                    .contains("filled from this source with another state directory");
            assertThatThrownBy(() ->
                            h.tables.attach(
                                    h.shapes,
                                    Partitions.among(h.shapes),
                                    PipelineHarness.B + 0x1000))
                    .hasMessageContaining("nothing was changed");
            assertThat(h.rows(done)).hasSize(1);

            h.tables.startOver();
            h.tables.attach(h.shapes, Partitions.among(h.shapes), PipelineHarness.B + 0x1000);
            assertThat(h.rows(done)).isEmpty();
            assertThat(h.rows(open)).isEmpty();
            assertThat(h.tables.wantsBaseline(ItemsTable.DATABASE, done.oid())).isTrue();
            assertThat(h.tables.wantsBaseline(ItemsTable.DATABASE, open.oid())).isTrue();
            h.start(0);
            h.live();
            assertThat(h.open().isComplete()).isTrue();
        }
    }

    private static void submitRow(PipelineHarness h, ItemsTable table) throws Exception {
        h.pipeline.awaitBaseline(
                h.pipeline.submitBaseline(
                        TestTransaction.baseline(PipelineHarness.B)
                                .insert(table, 1, "a", Big.inline("b"), 1)));
    }

    @Test
    void anUnfinishedAttachMakesWayForAnotherTableOfTheSameName() throws Exception {
        ItemsTable first = new ItemsTable("renewed", "items", 16500, 16503);
        ItemsTable second = new ItemsTable("renewed", "items", 16700, 16703);
        try (PipelineHarness h = ENGINE.harness("renewed", first).attached()) {
            submitRow(h, first);
            h.pipeline.baselineComplete(ItemsTable.DATABASE, first.oid());
            h.pipeline.settleLedger();
            h.pipeline.close();
            List<RelationDescriptor> wider =
                    List.of(
                            second.shape(
                                    second.locator(),
                                    List.of(
                                            ItemsTable.attribute(
                                                    5, "extra", 23, 4, true, 'i', 'p', false))));
            h.tables = h.open();
            assertThat(h.tables.problems(wider)).singleElement().asString().contains("extra");
            h.tables.leftUnfinished();
            assertThat(h.tables.problems(wider)).isEmpty();
            assertThat(h.tables.problems(h.shapes)).isEmpty();
            h.tables.attach(wider, Partitions.among(wider), PipelineHarness.B + 0x1000);
            assertThat(h.client.queryValue("SELECT count(extra) FROM renewed.items"))
                    .isEqualTo("0");
        }
    }

    @Test
    void anUnfinishedAttachGoesOnIfEverythingIsAsItWas() throws Exception {
        ItemsTable items = new ItemsTable("gone_on", "items", 16500, 16503);
        ItemsTable other = new ItemsTable("gone_on", "other", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("gone_on", items, other).attached()) {
            submitRow(h, items);
            h.pipeline.close();
            Partitions.Lookup none = Partitions.among(h.shapes);
            h.tables = h.open();
            h.tables.leftUnfinished();
            assertThat(h.tables.goOn(h.shapes, none, PipelineHarness.B + 8))
                    .contains("another backup");
            assertThat(h.tables.goOn(h.shapes.subList(0, 1), none, PipelineHarness.B))
                    .contains("other: it is not selected any more");
            h.client.execute("ALTER TABLE gone_on.other DROP COLUMN n");
            assertThat(h.tables.goOn(h.shapes, none, PipelineHarness.B)).contains("gone_on.other");
            h.client.execute("ALTER TABLE gone_on.other ADD COLUMN n Nullable(Int32) AFTER big");
            assertThat(h.tables.goOn(h.shapes, none, PipelineHarness.B)).isNull();
            assertThat(h.tables.wantsBaseline(ItemsTable.DATABASE, items.oid())).isTrue();
            h.start(0);
            submitRow(h, other);
            h.live();
            assertThat(h.rows(items)).hasSize(1);
            assertThat(h.rows(other)).hasSize(1);
        }
    }

    @Test
    void tablesThatCannotBeReplicatedAreHeldBackWithTheReason() throws Exception {
        ItemsTable items = new ItemsTable("held", "items", 16500, 16503);
        ItemsTable unlogged = new ItemsTable("held", "unlogged", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("held", items)) {
            RelationDescriptor shape = unlogged.shape();
            h.shapes.add(
                    new RelationDescriptor(
                            shape.oid(),
                            shape.databaseOid(),
                            shape.name(),
                            'r',
                            'u',
                            shape.locator(),
                            shape.toastRelationOid(),
                            0,
                            'd',
                            "heap",
                            0,
                            shape.attributes(),
                            shape.primaryKey(),
                            List.of(),
                            shape.types()));
            h.descriptors.append(2, h.shapes, List.of(), ItemsTable.DATABASE);
            h.started();
            assertThat(h.status(unlogged).state()).isEqualTo(TableState.HELD);
            assertThat(h.status(unlogged).reason()).contains("unlogged");
            h.pipeline.commit(
                    new TestTransaction(1, 0x200_0000)
                            .insert(unlogged, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.status(unlogged).discardedRows()).isEqualTo(1);
            h.restart();
            assertThat(h.status(unlogged).state()).isEqualTo(TableState.HELD);
            assertThat(h.status(items).state()).isEqualTo(TableState.LIVE);
        }
    }

    @Test
    void aShapeThatTheLedgerDoesNotKnowIsLoadedAtTheNextStart() throws Exception {
        ItemsTable items = new ItemsTable("reshaped", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("reshaped", items).started()) {
            h.pipeline.close();
            RelationDescriptor wider =
                    items.shape(
                            items.locator(),
                            List.of(
                                    ItemsTable.attribute(
                                            5, "extra", 23, 4, true, 'i', 'p', false)));
            h.descriptors.append(0x200_0000, List.of(wider), List.of(), ItemsTable.DATABASE);
            h.resume(0x200_0000);
            assertThat(h.tables.status())
                    .singleElement()
                    .matches(t -> t.state() == TableState.LOADING);
        }
    }

    @Test
    void theWatermarkIsWrittenToClickHouse() throws Exception {
        ItemsTable items = new ItemsTable("marked", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("marked", items).started()) {
            h.pipeline.commit(
                    new TestTransaction(1, 0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1_000_000));
            h.pipeline.flush();
            String sql =
                    "SELECT concat(durable, ' ', toString(commit_ts)) FROM "
                            + h.metadata
                            + ".watermark FINAL";
            long deadline = System.nanoTime() + 10_000_000_000L;
            while (!"0/2000100 2000-01-01 00:00:01.000000".equals(h.client.queryValue(sql))) {
                assertThat(System.nanoTime()).isLessThan(deadline);
                Thread.onSpinWait();
            }
        }
    }
}
