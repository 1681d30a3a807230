package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.ItemsTable.Big;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Changes beside a load, told apart by what its snapshot sees, on the real engine. Everything up to
 * {@link #Q} has been handed over when the load is wanted; the snapshot sees 701 and 702, which
 * commit after that, and takes 700 for running.
 */
final class LoadFilterTest {
    private static final long Q = 0x200_0100;
    private static final SourceSnapshot SNAPSHOT =
            new SourceSnapshot(703, new int[] {700}, 0x200_0500);

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    private static LoadTicket wanted(PipelineHarness h, ItemsTable items) throws Exception {
        h.pipeline.reload(ItemsTable.DATABASE, items.oid(), Q, "asked for");
        LoadTicket load = h.loads.take();
        h.pipeline.loading().begin(load, load.shape(), load.mapping());
        return load;
    }

    private static boolean complete(PipelineHarness h, LoadTicket load, TestTransaction rows)
            throws Exception {
        long last = h.pipeline.loading().submit(load, rows);
        h.pipeline.advance(0x200_0F00);
        return h.pipeline.loading().complete(load, last, 0x200_0F00);
    }

    private static void keep(PipelineHarness h, LoadTicket load) throws Exception {
        h.pipeline.loading().keepChanges(load);
        assertThat(load.position()).isEqualTo(Q);
    }

    @Test
    void aRowThatTheSnapshotSeesUnderItsNewKeyKeepsItsValue() throws Exception {
        ItemsTable items = new ItemsTable("rekeyed", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("rekeyed", items).started()) {
            LoadTicket load = wanted(h, items);
            keep(h, load);
            // 1 becomes 2, and another row becomes 1; the values stay where they are
            h.pipeline.commit(
                    new TestTransaction(701, 0x200_0200)
                            .update(items, 1L, 2, "first", Big.external(9001, 5), 1)
                            .insert(items, 1, "second", Big.inline("other"), 2)
                            .committed(0x200_0300, 1));
            h.pipeline.loading().useSnapshot(load, Q, SNAPSHOT);
            // and goes on behind the snapshot, which does not see 700 although it commits early
            h.pipeline.commit(
                    new TestTransaction(700, 0x200_0310)
                            .update(items, 2L, 3, "first", Big.external(9001, 5), 3)
                            .committed(0x200_0400, 1));
            boolean done =
                    complete(
                            h,
                            load,
                            TestTransaction.baseline(Q)
                                    .insert(items, 1, "second", Big.inline("other"), 2)
                                    .insert(items, 2, "first", Big.inline("value"), 1));
            assertThat(done).isTrue();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "second|other|2", 3L, "first|value|3"));
            assertThat(h.pipeline.metrics().containedRecords()).isEqualTo(2);
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void whatCommitsBeforeASnapshotIsAskedForIsNotKept() throws Exception {
        ItemsTable items = new ItemsTable("early", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("early", items).started()) {
            LoadTicket load = wanted(h, items);
            h.pipeline.commit(
                    new TestTransaction(650, 0x200_0110)
                            .update(items, null, 7, "never seen", Big.external(9001, 5), 1)
                            .committed(0x200_0180, 1));
            h.pipeline.flush(); // it holds nothing back
            h.pipeline.loading().keepChanges(load);
            assertThat(load.position()).isEqualTo(0x200_0180);
            h.pipeline.loading().forgetChanges(load);
            h.pipeline.commit(
                    new TestTransaction(651, 0x200_0190)
                            .update(items, null, 7, "never seen", Big.external(9001, 5), 2)
                            .committed(0x200_01A0, 1));
            h.pipeline.loading().keepChanges(load);
            assertThat(load.position()).isEqualTo(0x200_01A0);
            h.pipeline.loading().useSnapshot(load, load.position(), SNAPSHOT);
            boolean done =
                    complete(
                            h,
                            load,
                            TestTransaction.baseline(load.position())
                                    .insert(items, 8, "loaded", Big.inline("v"), 1));
            assertThat(done).isTrue();
            assertThat(h.rows(items)).isEqualTo(Map.of(8L, "loaded|v|1"));
        }
    }

    @Test
    void aTruncateThatTheSnapshotSeesEmptiesNothing() throws Exception {
        ItemsTable items = new ItemsTable("emptied", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("emptied", items).started()) {
            LoadTicket load = wanted(h, items);
            keep(h, load);
            h.pipeline.commit(
                    new TestTransaction(701, 0x200_0200)
                            .truncate(items)
                            .insert(items, 1, "since", Big.inline("v"), 1)
                            .committed(0x200_0300, 1));
            h.pipeline.loading().useSnapshot(load, Q, SNAPSHOT);
            h.pipeline.commit(
                    new TestTransaction(705, 0x200_0600)
                            .insert(items, 2, "later", Big.inline("v"), 1)
                            .committed(0x200_0700, 1));
            boolean done =
                    complete(
                            h,
                            load,
                            TestTransaction.baseline(Q)
                                    .insert(items, 1, "since", Big.inline("v"), 1));
            assertThat(done).isTrue();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "since|v|1", 2L, "later|v|1"));
            h.pipeline.commit(
                    new TestTransaction(706, 0x200_0F10).truncate(items).committed(0x200_0F20, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEmpty();
        }
    }

    @Test
    void changesThatTheRowsContainDoNotComeAgainAfterARestart() throws Exception {
        ItemsTable items = new ItemsTable("replayed", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("replayed", items).started()) {
            LoadTicket load = wanted(h, items);
            keep(h, load);
            h.pipeline.loading().useSnapshot(load, Q, SNAPSHOT);
            boolean done =
                    complete(
                            h,
                            load,
                            TestTransaction.baseline(Q)
                                    .insert(items, 2, "first", Big.inline("value"), 1));
            assertThat(done).isTrue();
            h.pipeline.close();
            h.resume(Q); // the manifest was older
            h.start(Q);
            h.pipeline.commit(
                    new TestTransaction(701, 0x200_0200)
                            .update(items, 1L, 2, "stale", Big.external(9001, 5), 1)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(2L, "first|value|1"));
        }
    }

    @Test
    void rowsOfTheBackupThatTheSnapshotSeesAreLeftOutToo() throws Exception {
        ItemsTable items = new ItemsTable("straddling", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("straddling", items).started()) {
            LoadTicket load = wanted(h, items);
            keep(h, load);
            h.pipeline.loading().useSnapshot(load, Q, SNAPSHOT);
            for (int xid : new int[] {700, 701}) {
                TestTransaction rows =
                        new TestTransaction(xid, 4)
                                .ofBackup()
                                .insert(items, xid, "of the backup", Big.inline("v"), 1)
                                .committed(0x200_0200 + xid, 1);
                h.pipeline.awaitBaseline(h.pipeline.submitBaseline(rows));
            }
            boolean done =
                    complete(
                            h,
                            load,
                            TestTransaction.baseline(Q)
                                    .insert(items, 701, "newer", Big.inline("v"), 2));
            assertThat(done).isTrue();
            assertThat(h.rows(items))
                    .isEqualTo(Map.of(700L, "of the backup|v|1", 701L, "newer|v|2"));
        }
    }

    @Test
    void rowsOfTheBackupThatComeBeforeTheSnapshotMakeTheLoadBeginAnew() throws Exception {
        ItemsTable items = new ItemsTable("between", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("between", items).started()) {
            LoadTicket load = wanted(h, items);
            keep(h, load);
            TestTransaction rows =
                    new TestTransaction(701, 4)
                            .ofBackup()
                            .insert(items, 1, "of the backup", Big.inline("v"), 1)
                            .committed(0x200_0200, 1);
            h.pipeline.awaitBaseline(h.pipeline.submitBaseline(rows));
            assertThat(load.isSpoiled()).isTrue();
            h.pipeline.loading().keepChanges(load);
            assertThat(load.isSpoiled()).isFalse();
            assertThat(load.position()).isEqualTo(0x200_0200);
        }
    }

    private static RelationDescriptor shaped(
            RelationDescriptor like, int oid, char kind, int root) {
        return new RelationDescriptor(
                oid,
                like.databaseOid(),
                new RelationName(like.name().schema(), kind == 'p' ? "root" : "leaf" + oid),
                kind,
                like.persistence(),
                kind == 'p' ? null : like.locator(),
                kind == 'p' ? 0 : like.toastRelationOid(),
                0,
                like.replicaIdentity(),
                kind == 'p' ? "" : like.accessMethod(),
                root,
                like.attributes(),
                like.primaryKey(),
                like.identityKey(),
                like.types());
    }

    private static PipelineHarness partitioned(ItemsTable root, ItemsTable left, ItemsTable right)
            throws Exception {
        PipelineHarness h = ENGINE.harness(root.schema(), left, right);
        h.shapes.clear();
        h.shapes.add(shaped(left.shape(), root.oid(), 'p', 0));
        h.shapes.add(shaped(left.shape(), left.oid(), 'r', root.oid()));
        h.shapes.add(shaped(right.shape(), right.oid(), 'r', root.oid()));
        h.descriptors.append(2, h.shapes, List.of(), ItemsTable.DATABASE);
        return h.started();
    }

    @Test
    void aRowThatMovesToAPartitionThatIsLoadedStays() throws Exception {
        ItemsTable root = new ItemsTable("moves", "root", 16900, 0);
        ItemsTable left = new ItemsTable("moves", "left", 16500, 16503);
        ItemsTable right = new ItemsTable("moves", "right", 16600, 16603);
        try (PipelineHarness h = partitioned(root, left, right)) {
            h.pipeline.commit(
                    new TestTransaction(600, 0x200_0000)
                            .insert(left, 1, "left", Big.inline("v"), 1)
                            .committed(0x200_0080, 1));
            LoadTicket load = wanted(h, right);
            assertThat(load.isInPlace()).isTrue();
            keep(h, load);
            h.pipeline.loading().useSnapshot(load, Q, SNAPSHOT);
            // the tombstone on the left is above the rows on the right
            h.pipeline.commit(
                    new TestTransaction(701, 0x200_0200)
                            .delete(left, 1)
                            .insert(right, 1, "right", Big.inline("v"), 2)
                            .committed(0x200_0300, 1));
            boolean done =
                    complete(
                            h,
                            load,
                            TestTransaction.baseline(Q)
                                    .insert(right, 1, "right", Big.inline("v"), 2));
            assertThat(done).isTrue();
            assertThat(h.rows(root)).isEqualTo(Map.of(1L, "right|v|2"));
        }
    }

    @Test
    void aLoadInPlaceIsSpoiledByWhatMustComeAgainAndNeedsAValue() throws Exception {
        ItemsTable root = new ItemsTable("spoiled", "root", 16900, 0);
        ItemsTable left = new ItemsTable("spoiled", "left", 16500, 16503);
        ItemsTable right = new ItemsTable("spoiled", "right", 16600, 16603);
        try (PipelineHarness h = partitioned(root, left, right)) {
            LoadTicket load = wanted(h, right);
            keep(h, load);
            h.pipeline.loading().useSnapshot(load, Q, SNAPSHOT);
            h.pipeline.commit(
                    new TestTransaction(701, 0x200_0200)
                            .update(right, null, 1, "right", Big.external(9001, 5), 2)
                            .committed(0x200_0300, 1));
            TestTransaction rows =
                    TestTransaction.baseline(Q).insert(right, 1, "right", Big.inline("later"), 3);
            assertThat(complete(h, load, rows)).isFalse();
            assertThat(load.isSpoiled()).isTrue();
            h.pipeline.reload(ItemsTable.DATABASE, right.oid(), 0x200_0F00, "once more");
            LoadTicket again = h.loads.take();
            h.pipeline.loading().begin(again, again.shape(), again.mapping());
            h.pipeline.loading().keepChanges(again);
            h.pipeline.loading().useSnapshot(again, again.position(), SNAPSHOT);
            TestTransaction later =
                    TestTransaction.baseline(again.position())
                            .insert(right, 1, "right", Big.inline("later"), 3);
            assertThat(complete(h, again, later)).isTrue();
            assertThat(h.rows(root)).isEqualTo(Map.of(1L, "right|later|3"));
        }
    }
}
