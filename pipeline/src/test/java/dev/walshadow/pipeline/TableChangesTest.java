package dev.walshadow.pipeline;

import static dev.walshadow.pipeline.TestTransaction.at;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.ItemsTable.Big;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tables that are created, dropped, renamed and loaded while rows flow, on the real engine. */
final class TableChangesTest {
    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    private static void change(
            PipelineHarness h,
            long position,
            @Nullable RelationDescriptor before,
            @Nullable RelationDescriptor after)
            throws Exception {
        h.descriptors.append(
                position,
                after == null ? List.of() : List.of(after),
                before == null || after != null ? List.of() : List.of(before.oid()),
                ItemsTable.DATABASE);
        h.pipeline.changeRelations(
                position,
                position - 0x10,
                List.of(new RelationChange(before, after, false, false)));
    }

    /** A snapshot that sees all of what has been handed over. */
    private static void useSnapshot(PipelineHarness h, LoadTicket load) throws Exception {
        h.pipeline.loading().keepChanges(load);
        h.pipeline.loading().useSnapshot(load, load.position(), seeing(load.position()));
    }

    /** All but xid 700 and later ones. */
    private static SourceSnapshot seeing(long insertPosition, int... running) {
        return new SourceSnapshot(700, running, insertPosition);
    }

    private static void loadAll(PipelineHarness h, LoadTicket load, TestTransaction rows)
            throws Exception {
        h.pipeline.loading().begin(load, load.shape(), load.mapping());
        if (!load.isBegun()) {
            useSnapshot(h, load);
        }
        long last = h.pipeline.loading().submit(load, rows);
        assertThat(h.pipeline.loading().complete(load, last, 0)).isTrue();
    }

    @Test
    void aCreatedTableTakesItsRowsAtOnce() throws Exception {
        ItemsTable items = new ItemsTable("made", "items", 16500, 16503);
        ItemsTable later = new ItemsTable("made", "later", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("made", items).started()) {
            change(h, 0x200_0100, null, later.shape());
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(later, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.rows(later)).isEqualTo(Map.of(1L, "a|b|1"));
            assertThat(h.status(later).state()).isEqualTo(TableState.LIVE);
            h.shapes.add(later.shape());
            h.restart();
            // the same again, as after a kill
            h.pipeline.changeRelations(
                    0x200_0100,
                    0x200_00F0,
                    List.of(new RelationChange(null, later.shape(), false, false)));
            h.pipeline.commit(
                    at(0x200_0200)
                            .insert(later, 2, "a", Big.inline("b"), 1)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(later)).hasSize(2);
        }
    }

    @Test
    void aTableIsLoadedWhileItsChangesGoOn() throws Exception {
        ItemsTable items = new ItemsTable("anew", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("anew", items).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "old", Big.inline("b"), 1)
                            .insert(items, 2, "old", Big.inline("b"), 1)
                            .insert(items, 3, "old", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.reload(ItemsTable.DATABASE, items.oid(), 0x200_0100, "asked for");
            LoadTicket load = h.loads.take();
            useSnapshot(h, load);
            assertThat(load.position()).isEqualTo(0x200_0100);
            h.pipeline.commit(
                    at(0x200_0200)
                            .insert(items, 4, "new", Big.inline("b"), 1)
                            .delete(items, 2)
                            .update(items, null, 3, "newer", Big.external(9001, 5), 2)
                            .committed(0x200_0300, 1));
            // until it is complete, readers see the table as it was
            assertThat(h.rows(items)).hasSize(3);
            assertThat(h.pipeline.awaitLoads(System.nanoTime())).isFalse();
            loadAll(
                    h,
                    load,
                    TestTransaction.baseline(load.position())
                            .insert(items, 1, "loaded", Big.inline("b"), 1)
                            .insert(items, 2, "loaded", Big.inline("b"), 1)
                            .insert(items, 3, "loaded", Big.inline("value"), 1));
            h.pipeline.flush();
            assertThat(h.rows(items))
                    .isEqualTo(Map.of(1L, "loaded|b|1", 3L, "newer|value|2", 4L, "new|b|1"));
            assertThat(h.status(items).state()).isEqualTo(TableState.LIVE);
            assertThat(h.pipeline.awaitLoads(System.nanoTime())).isTrue();
            h.pipeline.commit(
                    at(0x200_0400)
                            .insert(items, 5, "last", Big.inline("b"), 1)
                            .committed(0x200_0500, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).hasSize(4);
            assertThat(
                            h.client.queryValue(
                                    "SELECT count() FROM system.tables WHERE database ="
                                            + " 'walshadow_anew' AND name LIKE 'loading%'"))
                    .isEqualTo("0");
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void anUnfinishedLoadBeginsAnewAfterARestart() throws Exception {
        ItemsTable items = new ItemsTable("again", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("again", items).started()) {
            h.pipeline.reload(ItemsTable.DATABASE, items.oid(), 0x200_0100, "asked for");
            LoadTicket first = h.loads.take();
            useSnapshot(h, first);
            h.pipeline
                    .loading()
                    .submit(
                            first,
                            TestTransaction.baseline(first.position())
                                    .insert(items, 9, "half", Big.inline("b"), 1));
            h.pipeline.advance(0x200_0200);
            h.pipeline.flush();
            assertThat(h.restart()).isEqualTo(0x200_0200);
            LoadTicket second = h.loads.take();
            useSnapshot(h, second);
            assertThat(second.position()).isEqualTo(0x200_0200);
            assertThat(h.status(items).state()).isEqualTo(TableState.LOADING);
            loadAll(
                    h,
                    second,
                    TestTransaction.baseline(second.position())
                            .insert(items, 1, "whole", Big.inline("b"), 1));
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "whole|b|1"));
            h.restart();
            assertThat(h.loads).isEmpty();
            assertThat(h.status(items).state()).isEqualTo(TableState.LIVE);
        }
    }

    @Test
    void aStagingTableDoesNotOutliveATableThatIsGoneAtTheNextStart() throws Exception {
        ItemsTable items = new ItemsTable("left", "items", 16500, 16503);
        String staging =
                "SELECT count() FROM system.tables WHERE database = 'walshadow_left' AND name LIKE"
                        + " 'loading%'";
        try (PipelineHarness h = ENGINE.harness("left", items).started()) {
            h.pipeline.reload(ItemsTable.DATABASE, items.oid(), 0x200_0100, "asked for");
            h.loads.take();
            assertThat(h.client.queryValue(staging)).isEqualTo("1");
            h.shapes.clear();
            h.restart();
            assertThat(h.client.queryValue(staging)).isEqualTo("0");
        }
    }

    @Test
    void aLaterChangeOvertakesALoad() throws Exception {
        ItemsTable items = new ItemsTable("overtaken", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("overtaken", items).started()) {
            h.pipeline.reload(ItemsTable.DATABASE, items.oid(), 0x200_0100, "asked for");
            LoadTicket first = h.loads.take();
            useSnapshot(h, first);
            h.pipeline.commit(
                    at(0x200_0110)
                            .update(items, null, 3, "waits", Big.external(9001, 5), 2)
                            .committed(0x200_0180, 1));
            h.pipeline.reload(ItemsTable.DATABASE, items.oid(), 0x200_0200, "asked again");
            LoadTicket second = h.loads.take();
            useSnapshot(h, second);
            assertThat(first.isWanted()).isFalse();
            assertThat(h.pipeline.loading().complete(first, 0, 0)).isFalse();
            loadAll(
                    h,
                    second,
                    TestTransaction.baseline(second.position())
                            .insert(items, 1, "second", Big.inline("b"), 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "second|b|1"));
        }
    }

    @Test
    void aDroppedTablesRowsStayAndItsNameIsFree() throws Exception {
        ItemsTable items = new ItemsTable("gone", "items", 16500, 16503);
        ItemsTable again = new ItemsTable("gone", "items", 16700, 16703);
        try (PipelineHarness h = ENGINE.harness("gone", items).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "first", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            change(h, 0x200_0200, items.shape(), null);
            change(h, 0x200_0300, null, again.shape());
            h.pipeline.commit(
                    at(0x200_0280)
                            .insert(again, 2, "second", Big.inline("b"), 1)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(again)).isEqualTo(Map.of(2L, "second|b|1"));
            assertThat(h.client.queryValue("SELECT id FROM gone.items_dropped FINAL"))
                    .isEqualTo("1");
            h.shapes.set(0, again.shape());
            h.restart();
            assertThat(h.status(again).state()).isEqualTo(TableState.LIVE);
        }
    }

    @Test
    void twoTablesExchangeTheirNames() throws Exception {
        ItemsTable a = new ItemsTable("swap", "a", 16500, 16503);
        ItemsTable b = new ItemsTable("swap", "b", 16600, 16603);
        ItemsTable newA = new ItemsTable("swap", "b", 16500, 16503);
        ItemsTable newB = new ItemsTable("swap", "a", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("swap", a, b).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(a, 1, "of a", Big.inline("b"), 1)
                            .insert(b, 2, "of b", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.descriptors.append(
                    0x200_0200,
                    List.of(newA.shape(), newB.shape()),
                    List.of(),
                    ItemsTable.DATABASE);
            List<RelationChange> changes =
                    List.of(
                            new RelationChange(a.shape(), newA.shape(), false, false),
                            new RelationChange(b.shape(), newB.shape(), false, false));
            ENGINE.server().delayInserts(Duration.ofMillis(50));
            h.pipeline.changeRelations(0x200_0200, 0x200_01F0, changes);
            h.pipeline.commit(
                    at(0x200_0180)
                            .insert(a, 3, "of a", Big.inline("b"), 1)
                            .committed(0x200_0200, 1));
            h.pipeline.flush();
            ENGINE.server().delayInserts(Duration.ZERO);
            assertThat(h.rows(newA)).isEqualTo(Map.of(1L, "of a|b|1", 3L, "of a|b|1"));
            assertThat(h.rows(newB)).isEqualTo(Map.of(2L, "of b|b|1"));
            assertThat(h.events).isEmpty();
        }
    }

    /** Two daemons may replicate one source into one ClickHouse. */
    @Test
    void aRenameLeavesTheTableOfAnotherReplicationOfTheSameSourceAlone() throws Exception {
        ItemsTable others = new ItemsTable("beside_a", "items", 16500, 16503);
        ItemsTable items = new ItemsTable("beside_b", "items", 16500, 16503);
        ItemsTable renamed = new ItemsTable("beside_b", "things", 16500, 16503);
        try (PipelineHarness other = ENGINE.harness("beside_a", others).started();
                PipelineHarness h = ENGINE.harness("beside_b", items).started()) {
            for (PipelineHarness each : List.of(other, h)) {
                each.pipeline.commit(
                        at(0x200_0000)
                                .insert(items, 1, "a", Big.inline("b"), 1)
                                .committed(0x200_0100, 1));
            }
            change(h, 0x200_0200, items.shape(), renamed.shape());
            h.pipeline.flush();
            other.pipeline.flush();
            assertThat(h.rows(renamed)).isEqualTo(Map.of(1L, "a|b|1"));
            assertThat(other.rows(others)).isEqualTo(Map.of(1L, "a|b|1"));
            TargetRemoval.look(h.client, h.metadata, PipelineHarness.SYSTEM, "test").dropTables();
            assertThat(other.rows(others)).isEqualTo(Map.of(1L, "a|b|1"));
        }
    }

    @Test
    void aNamePassesFromTableToTableInTheOrderOfTheCommits() throws Exception {
        int generations = 6;
        ItemsTable first = new ItemsTable("passing", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("passing", first).started()) {
            ENGINE.server().delayInserts(Duration.ofMillis(100));
            long position = 0x200_0000;
            ItemsTable now = first;
            for (int i = 0; i <= generations; i++) {
                h.pipeline.commit(
                        at(position)
                                .insert(now, i, "a", Big.inline("b"), 1)
                                .committed(position + 0x80, 1));
                if (i < generations) {
                    change(h, position + 0x100, now.shape(), null);
                    now = new ItemsTable("passing", "items", 16600 + 10 * i, 16603 + 10 * i);
                    change(h, position + 0x180, null, now.shape());
                    position += 0x200;
                }
            }
            h.pipeline.flush();
            ENGINE.server().delayInserts(Duration.ZERO);
            assertThat(h.events).isEmpty();
            assertThat(h.rows(now)).isEqualTo(Map.of((long) generations, "a|b|1"));
            List<String> kept = new java.util.ArrayList<>();
            for (int i = 1; i <= generations; i++) {
                String name = "passing.items_dropped" + (i == 1 ? "" : "_" + i);
                kept.add(h.client.queryValue("SELECT id FROM " + name + " FINAL"));
            }
            assertThat(kept).containsExactly("0", "1", "2", "3", "4", "5");
        }
    }

    private static RelationDescriptor shaped(
            RelationDescriptor like, int oid, String name, char kind, int parentOid) {
        return new RelationDescriptor(
                oid,
                like.databaseOid(),
                new RelationName(like.name().schema(), name),
                kind,
                like.persistence(),
                kind == 'p' ? null : like.locator(),
                kind == 'p' ? 0 : like.toastRelationOid(),
                0,
                like.replicaIdentity(),
                kind == 'p' ? "" : like.accessMethod(),
                parentOid,
                like.attributes(),
                like.primaryKey(),
                like.identityKey(),
                like.types());
    }

    @Test
    void aPartitionThatWasSetAsideIsLoadedIntoItsPartitionedTable() throws Exception {
        ItemsTable leaf = new ItemsTable("parts", "leaf", 16500, 16503);
        ItemsTable root = new ItemsTable("parts", "root", 16900, 0);
        try (PipelineHarness h = ENGINE.harness("parts", leaf)) {
            h.shapes.clear();
            h.shapes.add(shaped(leaf.shape(), root.oid(), "root", 'p', 0));
            h.shapes.add(shaped(leaf.shape(), leaf.oid(), "leaf", 'r', root.oid()));
            h.descriptors.append(2, h.shapes, List.of(), ItemsTable.DATABASE);
            h.started();
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(leaf, 1, "a", Big.inline("b"), 1)
                            .insert(leaf, 2, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.rows(root)).hasSize(2);
            h.pipeline.quarantine(
                    ItemsTable.DATABASE,
                    leaf.oid(),
                    PipelineCodes.DECODE_FAILED,
                    "for a test",
                    0x200_0200);
            h.restart();
            assertThat(h.status(leaf).state()).isEqualTo(TableState.QUARANTINED);
            h.pipeline.reload(ItemsTable.DATABASE, leaf.oid(), 0x200_0300, "asked for");
            LoadTicket load = h.loads.take();
            useSnapshot(h, load);
            assertThat(load.mapping().target()).isEqualTo("parts.root");
            loadAll(
                    h,
                    load,
                    TestTransaction.baseline(load.position())
                            .insert(leaf, 2, "loaded", Big.inline("b"), 1)
                            .insert(leaf, 3, "loaded", Big.inline("b"), 1));
            assertThat(h.rows(root)).isEqualTo(Map.of(2L, "loaded|b|1", 3L, "loaded|b|1"));
            h.pipeline.settleLedger();
            h.restart();
            assertThat(h.loads).isEmpty();
            assertThat(h.quarantine.entries()).isEmpty();
            h.pipeline.commit(at(0x200_0400).delete(leaf, 3).committed(0x200_0500, 1));
            h.pipeline.flush();
            assertThat(h.rows(root)).isEqualTo(Map.of(2L, "loaded|b|1"));
        }
    }

    @Test
    void aPartitionChangesAgainWhileItsPartitionedTableIsAltered() throws Exception {
        ItemsTable leaf = new ItemsTable("hasty", "leaf", 16500, 16503);
        ItemsTable full = new ItemsTable("hasty", "leaf", 16500, 16503, 'f');
        int root = 16900;
        AttributeDescriptor column = ItemsTable.attribute(5, "c", 23, 4, true, 'i', 'p', false);
        RelationDescriptor wider = leaf.shape(leaf.locator(), List.of(column));
        RelationDescriptor widerFull = full.shape(leaf.locator(), List.of(column));
        RelationDescriptor rootBefore = shaped(leaf.shape(), root, "root", 'p', 0);
        RelationDescriptor leafBefore = shaped(leaf.shape(), leaf.oid(), "leaf", 'r', root);
        RelationDescriptor rootAfter = shaped(wider, root, "root", 'p', 0);
        RelationDescriptor leafAfter = shaped(wider, leaf.oid(), "leaf", 'r', root);
        RelationDescriptor leafAgain = shaped(widerFull, leaf.oid(), "leaf", 'r', root);
        try (PipelineHarness h = ENGINE.harness("hasty", leaf)) {
            h.shapes.clear();
            h.shapes.addAll(List.of(rootBefore, leafBefore));
            h.descriptors.append(2, h.shapes, List.of(), ItemsTable.DATABASE);
            h.started();
            ENGINE.server().delayInserts(Duration.ofMillis(300)); // what the opening waits for
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(leaf, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.descriptors.append(
                    0x200_0200, List.of(rootAfter, leafAfter), List.of(), ItemsTable.DATABASE);
            h.pipeline.changeRelations(
                    0x200_0200,
                    0x200_01F0,
                    List.of(
                            new RelationChange(rootBefore, rootAfter, false, false),
                            new RelationChange(leafBefore, leafAfter, false, false)));
            h.pipeline.commit(
                    at(0x200_0210)
                            .insert(leaf, 2, "a", Big.inline("b"), 1)
                            .committed(0x200_0280, 1));
            change(h, 0x200_0300, leafAfter, leafAgain);
            h.pipeline.commit(
                    at(0x200_0310)
                            .insert(leaf, 3, "a", Big.inline("b"), 1)
                            .committed(0x200_0400, 1));
            h.pipeline.flush();
            ENGINE.server().delayInserts(Duration.ZERO);
            assertThat(h.rows(new ItemsTable("hasty", "root", root, 0))).hasSize(3);
            assertThat(h.events).isEmpty();
            assertThat(h.loads).isEmpty();
        }
    }
}
