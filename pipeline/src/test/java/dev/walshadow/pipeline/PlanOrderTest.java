package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.pipeline.ItemsTable.Big;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What passes a large transaction, and what does not. */
final class PlanOrderTest {
    private static final int RECORDS = 500;
    private static final long LARGE = 0x200_0000;
    private static final long LATER = 0x300_0000;

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    private static PipelineHarness harness(ItemsTable... tables) throws Exception {
        return ENGINE.harness(tables[0].schema(), tables);
    }

    private static TestTransaction small(int number) {
        return new TestTransaction(1000 + number, first(number));
    }

    private static long first(int number) {
        return LATER + number * 0x1000L;
    }

    /** Without it the large transaction ends alone. */
    private static void awaitRows(PipelineHarness h, ItemsTable table, Long... ids)
            throws InterruptedException {
        for (int i = 0; i < 2_000 && !h.rows(table).keySet().equals(Set.of(ids)); i++) {
            Thread.sleep(10);
        }
        assertThat(h.rows(table)).containsOnlyKeys(ids);
    }

    private static final class Large {
        private final CountDownLatch allCommitted = new CountDownLatch(1);
        private final TestTransaction transaction = new TestTransaction(900, LARGE);

        Large(ItemsTable table, TestTransaction.Step meanwhile) {
            for (int i = 0; i < RECORDS; i++) {
                transaction.insert(table, i, "large", Big.inline("b"), 0);
            }
            transaction
                    .large()
                    .interrupted(100, () -> allCommitted.await(20, TimeUnit.SECONDS))
                    .interrupted(400, meanwhile)
                    .committed(LATER - 0x100, 1);
        }
    }

    @Test
    void smallOnesOfOtherTablesPassAndAreDurableWithTheLargeOne() throws Exception {
        ItemsTable one = new ItemsTable("passing", "one", 16500, 16503);
        ItemsTable two = new ItemsTable("passing", "two", 16600, 16603);
        ItemsTable three = new ItemsTable("passing", "three", 16700, 16703);
        try (PipelineHarness h = harness(one, two, three).started()) {
            Large large =
                    new Large(
                            one,
                            () -> {
                                awaitRows(h, two, 1L, 4L);
                                assertThat(h.rows(three)).isEmpty();
                                assertThat(h.pipeline.watermark().durableLsn()).isLessThan(LARGE);
                            });
            h.pipeline.commit(large.transaction);
            h.pipeline.commit(
                    small(1).insert(two, 1, "small", Big.inline("b"), 1)
                            .committed(first(1) + 0x100, 1));
            // of the large one's table, and of another that is behind it with this
            h.pipeline.commit(
                    small(2).update(one, null, 7, "newer", Big.inline("b"), 2)
                            .insert(three, 1, "held", Big.inline("b"), 2)
                            .committed(first(2) + 0x100, 1));
            h.pipeline.commit(
                    small(3).update(three, null, 1, "held too", Big.inline("b"), 3)
                            .committed(first(3) + 0x100, 1));
            h.pipeline.commit(
                    small(4).insert(two, 4, "small", Big.inline("b"), 4)
                            .committed(first(4) + 0x100, 1));
            large.allCommitted.countDown();
            h.pipeline.flush();
            assertThat(h.rows(one)).hasSize(RECORDS).containsEntry(7L, "newer|b|2");
            assertThat(h.rows(two)).containsOnlyKeys(1L, 4L);
            assertThat(h.rows(three)).containsExactly(Map.entry(1L, "held too|b|3"));
            assertThat(h.pipeline.watermark().durableLsn()).isEqualTo(first(4) + 0x100);
        }
    }

    private static TestTransaction.Step staysEmpty(PipelineHarness h, ItemsTable table) {
        return () -> {
            Thread.sleep(700); // a batch that is on its way arrives within this time
            assertThat(h.rows(table)).isEmpty();
        };
    }

    @Test
    void nothingPassesATruncate() throws Exception {
        ItemsTable one = new ItemsTable("closed", "one", 16500, 16503);
        ItemsTable two = new ItemsTable("closed", "two", 16600, 16603);
        try (PipelineHarness h = harness(one, two).started()) {
            Large large = new Large(one, staysEmpty(h, two));
            h.pipeline.commit(large.transaction);
            h.pipeline.commit(small(1).truncate(two).committed(first(1) + 0x100, 1));
            commitBehind(h, large, two);
            assertThat(h.rows(one)).hasSize(RECORDS);
        }
    }

    @Test
    void nothingPassesAChangeOfTables() throws Exception {
        ItemsTable one = new ItemsTable("changed", "one", 16500, 16503);
        ItemsTable two = new ItemsTable("changed", "two", 16600, 16603);
        ItemsTable three = new ItemsTable("changed", "three", 16700, 16703);
        try (PipelineHarness h = harness(one, two).started()) {
            Large large = new Large(one, staysEmpty(h, two));
            h.pipeline.commit(large.transaction);
            long position = first(1) + 0x100;
            h.descriptors.append(position, List.of(three.shape()), List.of(), ItemsTable.DATABASE);
            h.pipeline.changeRelations(
                    position,
                    first(1),
                    List.of(new RelationChange(null, three.shape(), false, false)));
            commitBehind(h, large, two);
            assertThat(h.rows(one)).hasSize(RECORDS);
        }
    }

    private static void commitBehind(PipelineHarness h, Large large, ItemsTable table)
            throws InterruptedException {
        h.pipeline.commit(
                small(2).insert(table, 2, "small", Big.inline("b"), 1)
                        .committed(first(2) + 0x100, 1));
        large.allCommitted.countDown();
        h.pipeline.flush();
        assertThat(h.rows(table)).containsOnlyKeys(2L);
    }
}
