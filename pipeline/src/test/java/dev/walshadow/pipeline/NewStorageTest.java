package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.postgres.RelationLocator;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Commits that give tables new storage or another key, on the real engine. */
final class NewStorageTest {
    private static final long COMMIT = 0x200_0300;
    private static final Big SMALL = Big.inline("b");

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    /** A table with rows 1, 2 and 3, which one commit gives new storage. */
    private static final class Moved implements AutoCloseable {
        final PipelineHarness h;
        final ItemsTable items;

        /** Whose records go to the new storage. */
        final ItemsTable fresh;

        /** Whose records go to storage that nobody has. */
        final ItemsTable orphan;

        Moved(String name, char identity) throws Exception {
            items = new ItemsTable(name, "items", 16500, 16503, identity);
            fresh = new ItemsTable(name, "items", 16777, 16503, identity);
            orphan = new ItemsTable(name, "items", 16888, 16503, identity);
            h = ENGINE.harness(name, items).started();
            h.pipeline.commit(
                    new TestTransaction(700, 0x200_0000)
                            .fillPage(0, items, List.of(1L, 2L, 3L), "old")
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(rows()).hasSize(3);
        }

        RelationDescriptor after(List<AttributeDescriptor> more) {
            return items.shape(new RelationLocator(1663, ItemsTable.DATABASE, fresh.oid()), more);
        }

        void change(RelationDescriptor after, boolean rewritten) throws Exception {
            h.descriptors.append(COMMIT, List.of(after), List.of(), ItemsTable.DATABASE);
            again(after, rewritten);
        }

        void again(RelationDescriptor after, boolean rewritten) throws Exception {
            h.pipeline.changeRelations(
                    COMMIT,
                    COMMIT - 0x10,
                    List.of(new RelationChange(items.shape(), after, false, rewritten)));
        }

        TestTransaction commit() {
            return new TestTransaction(701, 0x200_0200).committed(COMMIT, 2);
        }

        Map<Long, String> rows() {
            return h.rows(items);
        }

        void requireNothingLoaded() {
            assertThat(h.loads).isEmpty();
            assertThat(h.events).isEmpty();
            assertThat(h.status(items).state()).isEqualTo(TableState.LIVE);
        }

        @Override
        public void close() {
            h.close();
        }
    }

    private static final List<AttributeDescriptor> ADDED =
            List.of(ItemsTable.attribute(5, "more", 23, 4, true, 'i', 'p', false));

    @Test
    void rowsThatFillATransientRelationReplaceTheTable() throws Exception {
        for (char identity : new char[] {'d', 'n'}) {
            try (Moved table = new Moved("filled_" + identity, identity)) {
                table.change(table.after(ADDED), true);
                table.h.pipeline.commit(filled(table));
                table.h.pipeline.commit(
                        new TestTransaction(702, 0x200_0310)
                                .insertAt(
                                        new TestTransaction.Place(0, 9),
                                        table.fresh,
                                        9,
                                        "later",
                                        SMALL)
                                .committed(0x200_0400, 1));
                table.h.pipeline.flush();
                Map<Long, String> expected =
                        Map.of(2L, "new|m|0", 3L, "new|m|0", 4L, "new|m|0", 9L, "later|b|0");
                assertThat(table.rows()).isEqualTo(expected);
                assertThat(
                                table.h.client.queryValue(
                                        "SELECT count() FROM system.tables WHERE name"
                                                + " LIKE 'loading%' AND database = '"
                                                + table.h.metadata
                                                + "'"))
                        .isEqualTo("0");
                table.requireNothingLoaded();
                table.h.restart();
                assertThat(table.rows()).isEqualTo(expected);
                table.requireNothingLoaded();
            }
        }
    }

    private static TestTransaction filled(Moved table) {
        return table.commit()
                .insertAt(new TestTransaction.Place(0, 7), table.items, 7, "void", SMALL)
                .fillPage(0, table.fresh, List.of(2L, 3L, 4L), "new");
    }

    @Test
    void aRefillThatWasKilledComesAgain() throws Exception {
        try (Moved table = new Moved("again", 'd')) {
            ENGINE.server().delayInserts(Duration.ofSeconds(5));
            table.change(table.after(ADDED), true);
            table.h.pipeline.commit(filled(table));
            table.h.pipeline.advance(COMMIT + 0x100);
            while (table.h.client.queryValue(
                            "SELECT name FROM system.tables WHERE name LIKE 'loading%' AND"
                                    + " database = '"
                                    + table.h.metadata
                                    + "'")
                    == null) {
                Thread.onSpinWait();
            }
            assertThat(table.rows()).as("until it is complete").hasSize(3);
            assertThat(table.h.restart()).isLessThan(COMMIT);
            ENGINE.server().delayInserts(Duration.ZERO);
            table.again(table.after(ADDED), true);
            table.h.pipeline.commit(filled(table));
            table.h.pipeline.flush();
            assertThat(table.rows()).isEqualTo(Map.of(2L, "new|m|0", 3L, "new|m|0", 4L, "new|m|0"));
            table.requireNothingLoaded();
        }
    }

    @Test
    void copiedRowsStayAndAreChanged() throws Exception {
        try (Moved table = new Moved("copied", 'd')) {
            table.change(table.after(List.of()), true);
            table.h.pipeline.commit(
                    table.commit()
                            .delete(table.items, 1)
                            .insert(table.fresh, 4, "new", SMALL, 0)
                            .delete(table.fresh, 2));
            table.h.pipeline.flush();
            assertThat(table.rows()).isEqualTo(Map.of(3L, "old|m|0", 4L, "new|b|0"));
            table.requireNothingLoaded();
        }
    }

    @Test
    void aPageThatIsInitialisedInACopiedFileReplacesNothing() throws Exception {
        try (Moved table = new Moved("tablespace", 'd')) {
            table.change(table.after(List.of()), false);
            table.h.pipeline.commit(table.commit().fillPage(0, table.fresh, List.of(4L), "new"));
            table.h.pipeline.flush();
            assertThat(table.rows()).hasSize(4);
            table.requireNothingLoaded();
        }
    }

    @Test
    void aTableKeyedByPlaceIsEmptiedWithoutALoad() throws Exception {
        try (Moved table = new Moved("emptied", 'n')) {
            table.change(table.after(List.of()), false);
            table.h.pipeline.commit(
                    table.commit()
                            .insertAt(new TestTransaction.Place(0, 4), table.items, 4, "x", SMALL)
                            .truncate(table.items)
                            .insertAt(new TestTransaction.Place(0, 1), table.fresh, 5, "y", SMALL));
            table.h.pipeline.flush();
            assertThat(table.rows()).isEqualTo(Map.of(5L, "y|b|0"));
            table.requireNothingLoaded();
        }
    }

    @Test
    void rowsInStorageThatNobodyHasMakeTheTableLoad() throws Exception {
        try (Moved table = new Moved("orphans", 'd')) {
            table.change(table.after(List.of()), true);
            table.h.pipeline.commit(
                    table.commit()
                            .truncate(table.items)
                            .fillPage(0, table.orphan, List.of(4L), "lost"));
            assertThat(table.h.loadPosition()).isEqualTo(COMMIT);
        }
    }

    @Test
    void copiedRowsOfATableKeyedByPlaceAreLoaded() throws Exception {
        try (Moved table = new Moved("places", 'n')) {
            table.change(table.after(List.of()), true);
            table.h.pipeline.advance(COMMIT);
            assertThat(table.h.loadPosition()).isEqualTo(COMMIT);
        }
    }

    @Test
    void aRekeyedTableIsCopiedUnlessRowsWereLoggedWithTheOldKey() throws Exception {
        for (boolean logged : new boolean[] {false, true}) {
            ItemsTable items = new ItemsTable("rekeyed_" + logged, "items", 16500, 16503, 'n');
            ItemsTable after = new ItemsTable(items.schema(), "items", 16500, 16503, 'd');
            try (PipelineHarness h = ENGINE.harness(items.schema(), items).started()) {
                h.pipeline.commit(
                        new TestTransaction(700, 0x200_0000)
                                .fillPage(0, items, List.of(1L, 2L, 3L), "old")
                                .deleteAt(new TestTransaction.Place(0, 2), items)
                                .committed(0x200_0100, 1));
                h.descriptors.append(
                        COMMIT, List.of(after.shape()), List.of(), ItemsTable.DATABASE);
                h.pipeline.changeRelations(
                        COMMIT,
                        COMMIT - 0x10,
                        List.of(new RelationChange(items.shape(), after.shape(), false, false)));
                TestTransaction rows =
                        new TestTransaction(701, 0x200_0200)
                                .insert(after, 5, "new", SMALL, 0)
                                .committed(COMMIT, 2);
                h.pipeline.commit(
                        logged ? rows.deleteAt(new TestTransaction.Place(0, 1), items) : rows);
                if (logged) {
                    assertThat(h.loadPosition()).isEqualTo(COMMIT);
                    continue;
                }
                h.pipeline.commit(
                        new TestTransaction(702, 0x200_0310)
                                .delete(after, 3)
                                .committed(0x200_0400, 1));
                h.pipeline.flush();
                assertThat(h.rows(items)).isEqualTo(Map.of(1L, "old|m|0", 5L, "new|b|0"));
                assertThat(h.loads).isEmpty();
            }
        }
    }
}
