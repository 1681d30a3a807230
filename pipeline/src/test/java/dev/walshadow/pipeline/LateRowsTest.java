package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.transaction.CommittedChanges;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Rows of transactions that were open at the backup's start: they come beside the stream, after
 * what committed later than they.
 */
final class LateRowsTest {
    private static final long COMMIT = 0x200_0100;
    private static final long AFTERWARDS = 0x200_0300;

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    private static PipelineHarness harness(ItemsTable items) throws Exception {
        return ENGINE.harness(items.schema(), items);
    }

    private static ItemsTable items(String name) {
        return new ItemsTable(name, "items", 16500, 16503);
    }

    private static TestTransaction late(ItemsTable items, long id) {
        return new TestTransaction(700, COMMIT - 0x80)
                .ofBackup()
                .insert(items, id, "late", Big.inline("b"), 1)
                .committed(COMMIT, 1);
    }

    private static void submit(PipelineHarness h, CommittedChanges rows) throws Exception {
        h.pipeline.awaitBaseline(h.pipeline.submitBaseline(rows));
    }

    private static TestTransaction truncate(ItemsTable items) {
        return new TestTransaction(701, AFTERWARDS - 0x80)
                .truncate(items)
                .insert(items, 9, "after", Big.inline("b"), 1)
                .committed(AFTERWARDS, 1);
    }

    @Test
    void aTruncateIsOfRowsThatComeAfterItToo() throws Exception {
        ItemsTable items = items("late_truncated");
        try (PipelineHarness h = harness(items).started()) {
            h.pipeline.commit(truncate(items));
            h.pipeline.flush();
            submit(h, late(items, 1));
            // of one that had ended before the backup's start, which nobody knew
            submit(
                    h,
                    TestTransaction.baseline(PipelineHarness.B)
                            .insert(items, 2, "late", Big.inline("b"), 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(9L, "after|b|1"));
        }
    }

    @Test
    void aTruncateThatWasDurableBeforeARestartIsToo() throws Exception {
        ItemsTable items = items("late_restarted");
        try (PipelineHarness h = harness(items).started()) {
            h.pipeline.commit(truncate(items));
            h.pipeline.flush();
            assertThat(h.restart()).isGreaterThanOrEqualTo(AFTERWARDS);
            h.pipeline.onlyLoad(true);
            h.pipeline.commit(truncate(items));
            submit(h, late(items, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(9L, "after|b|1"));
        }
    }

    @Test
    void aLoadContainsThem() throws Exception {
        ItemsTable items = items("late_loaded");
        try (PipelineHarness h = harness(items).started()) {
            h.descriptors.append(PipelineHarness.B + 1, List.of(), List.of(), ItemsTable.DATABASE);
            submit(h, late(items, 1));
            h.pipeline.reload(ItemsTable.DATABASE, items.oid(), AFTERWARDS, "asked for");
            LoadTicket load = h.loads.take();
            h.pipeline.loading().begin(load, load.shape(), load.mapping());
            h.pipeline.loading().keepChanges(load);
            h.pipeline
                    .loading()
                    .useSnapshot(
                            load,
                            load.position(),
                            new SourceSnapshot(800, new int[0], load.position()));
            assertThat(h.pipeline.loading().complete(load, 0, 0)).isTrue();
            submit(h, late(items, 2));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEmpty();
        }
    }

    @Test
    void noRowPassesIntoTheNextTableOfItsName() throws Exception {
        ItemsTable items = items("late_dropped");
        ItemsTable next = new ItemsTable("late_dropped", "items", 16600, 16603);
        try (PipelineHarness h = harness(items).started()) {
            submit(
                    h,
                    late(items, 1)
                            .interrupted(
                                    1,
                                    () -> {
                                        change(h, AFTERWARDS, items.shape(), null);
                                        change(h, AFTERWARDS + 0x100, null, next.shape());
                                        h.pipeline.advance(AFTERWARDS + 0x200);
                                        // until rows that are on their way have passed, nothing is
                                        // dropped
                                        assertThat(
                                                        h.pipeline.awaitDurable(
                                                                AFTERWARDS + 0x200,
                                                                Duration.ofMillis(500)))
                                                .isFalse();
                                    }));
            h.pipeline.flush();
            assertThat(h.rows(next)).isEmpty();
            assertThat(h.client.queryValue("SELECT name FROM late_dropped.items_dropped FINAL"))
                    .isEqualTo("late");
        }
    }

    private static void change(
            PipelineHarness h,
            long position,
            @Nullable RelationDescriptor before,
            @Nullable RelationDescriptor after)
            throws Exception {
        h.descriptors.append(
                position,
                after == null ? List.of() : List.of(after),
                before == null ? List.of() : List.of(before.oid()),
                ItemsTable.DATABASE);
        h.pipeline.changeRelations(
                position,
                position - 0x10,
                List.of(new RelationChange(before, after, false, false)));
    }
}
