package dev.walshadow.pipeline;

import static dev.walshadow.pipeline.TestTransaction.at;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.transaction.ToastValues;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Unchanged toasted columns keep their value (TOAST mode {@code destination}). */
@ParameterizedClass(name = "{0} B of recent values are kept")
@ValueSource(longs = {0, 100_000, 1 << 20})
final class OldValuesTest {
    private static final Big KEPT = Big.external(9001, 5000);
    private static final Big OTHER = Big.external(9003, 5000);
    private static final String VALUE = "v".repeat(5000);

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    /** None, few, or all that a test needs. */
    @Parameter long recentValueBytes;

    private PipelineHarness harness(String name, ItemsTable... tables) throws Exception {
        ENGINE.query("DROP DATABASE IF EXISTS " + name + " SYNC");
        ENGINE.query("DROP DATABASE IF EXISTS walshadow_" + name + " SYNC");
        Path each = ENGINE.directory().resolve(Long.toString(recentValueBytes));
        PipelineHarness h = ENGINE.harness(each, name, tables);
        return tuned(h, options -> options);
    }

    private PipelineHarness tuned(PipelineHarness h, UnaryOperator<PipelineOptions> more) {
        h.tune = options -> more.apply(options.withRecentValueBytes(recentValueBytes));
        return h;
    }

    /** Row 1 with the big value, durable. */
    private static void seed(PipelineHarness h, ItemsTable items) throws Exception {
        h.pipeline.commit(
                at(0x200_0000)
                        .toast(9001, VALUE)
                        .insert(items, 1, "a", KEPT, 1)
                        .committed(0x200_0100, 1));
        h.pipeline.flush();
    }

    @Test
    void anUpdateKeepsTheValueOfTheRowsPreviousVersion() throws Exception {
        ItemsTable items = new ItemsTable("kept", "items", 16500, 16503);
        try (PipelineHarness h = harness("kept", items).started()) {
            seed(h, items);
            h.pipeline.commit(
                    at(0x200_0200)
                            .update(items, null, 1, "b", KEPT, 2)
                            .update(items, null, 1, "c", KEPT, 3)
                            .insert(items, 2, "other", Big.inline("x"), 1)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "c|" + VALUE + "|3", 2L, "other|x|1"));
            PipelineMetrics metrics = h.pipeline.metrics();
            assertThat(metrics.oldValueRows() + metrics.supersededRows()).isEqualTo(2);
            assertThat(metrics.oldValueLookups()).isEqualTo(recentValueBytes == 0 ? 1 : 0);
            assertThat(h.pipeline.metrics().deferredBytes()).isZero();
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void aValueOfAnUndeliveredBatchIsFound() throws Exception {
        ItemsTable items = new ItemsTable("undelivered", "items", 16500, 16503);
        try (PipelineHarness h = harness("undelivered", items).started()) {
            ENGINE.server().delayInserts(Duration.ofMillis(200));
            try {
                h.pipeline.commit(
                        at(0x200_0000)
                                .toast(9001, VALUE)
                                .insert(items, 1, "a", KEPT, 1)
                                .committed(0x200_0100, 1));
                h.pipeline.commit(
                        at(0x200_0200)
                                .update(items, null, 1, "b", KEPT, 2)
                                .committed(0x200_0300, 1));
                h.pipeline.flush();
            } finally {
                ENGINE.server().delayInserts(Duration.ZERO);
            }
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "b|" + VALUE + "|2"));
        }
    }

    @Test
    void theValueFollowsItsRowThroughKeyChanges() throws Exception {
        ItemsTable items = new ItemsTable("moved", "items", 16500, 16503);
        try (PipelineHarness h = harness("moved", items).started()) {
            seed(h, items);
            h.pipeline.commit(
                    at(0x200_0200)
                            .update(items, 1L, 2L, "b", KEPT, 2)
                            .insert(items, 1, "again", Big.inline("small"), 9)
                            .update(items, 2L, 3L, "c", KEPT, 3)
                            .delete(items, 1)
                            .committed(0x200_0300, 1));
            h.pipeline.commit(
                    at(0x200_0400).update(items, null, 3, "d", KEPT, 4).committed(0x200_0500, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(3L, "d|" + VALUE + "|4"));
        }
    }

    @Test
    void oldKeysGoOnlyWhenTheRowsThatDependOnThemAreDurable() throws Exception {
        ItemsTable items = new ItemsTable("dependent", "items", 16500, 16503);
        try (PipelineHarness h = harness("dependent", items)) {
            tuned(h, options -> options.withBatchRows(1));
            h.started();
            int rows = 20;
            TestTransaction seed = at(0x200_0000);
            TestTransaction moves = at(0x200_1000);
            for (int i = 0; i < rows; i++) {
                seed.toast(100 + i, VALUE).insert(items, i, "a", Big.external(100 + i, 5000), i);
                moves.update(items, (long) i, 100L + i, "b", Big.external(100 + i, 5000), i);
            }
            h.pipeline.commit(seed.committed(0x200_0800, 1));
            h.pipeline.flush();
            ENGINE.server().delayInserts(Duration.ofMillis(20));
            try {
                h.pipeline.commit(moves.committed(0x200_2000, 2));
                @Nullable String seen = "";
                while (!(rows + " " + rows).equals(seen)) {
                    seen =
                            h.client.queryValue(
                                    "SELECT concat(toString(countIf(_is_deleted = 0 AND id >="
                                            + " 100)), ' ', toString(countIf(_is_deleted = 1)))"
                                            + " FROM dependent.items");
                    assertThat(String.valueOf(seen)).matches("\\d+ 0|" + rows + " \\d+");
                }
            } finally {
                ENGINE.server().delayInserts(Duration.ZERO);
            }
            h.pipeline.flush();
            assertThat(h.rows(items)).hasSize(rows).containsEntry(107L, "b|" + VALUE + "|7");
        }
    }

    @Test
    void replayedChangesAreSkippedNotSpoiled() throws Exception {
        ItemsTable items = new ItemsTable("replayed", "items", 16500, 16503);
        try (PipelineHarness h = harness("replayed", items).started()) {
            seed(h, items);
            for (int round = 0; round < 3; round++) {
                h.pipeline.commit(
                        at(0x200_0200)
                                .update(items, null, 1, "b", KEPT, 2)
                                .update(items, 1L, 2L, "c", KEPT, 3)
                                .update(items, null, 2, "d", KEPT, 4)
                                .committed(0x200_0300, 1));
                h.pipeline.commit(
                        at(0x200_0400)
                                .toast(9002, "new")
                                .update(items, null, 2, "e", Big.external(9002, 3), 5)
                                .committed(0x200_0500, 1));
                h.pipeline.commit(
                        at(0x200_0600)
                                .update(items, null, 2, "f", Big.external(9002, 3), 6)
                                .committed(0x200_0700, 1));
                h.pipeline.flush();
                assertThat(h.rows(items)).isEqualTo(Map.of(2L, "f|new|6"));
                h.client.execute("OPTIMIZE TABLE replayed.items FINAL");
                h.pipeline.close();
                h.resume(0x200_0100);
                h.start(0x200_0100);
            }
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void lookupsWaitForTheBaselineOnDisk() throws Exception {
        ItemsTable items = new ItemsTable("waiting", "items", 16500, 16503);
        try (PipelineHarness h = harness("waiting", items)) {
            tuned(h, options -> options.withDeferredMemoryBytes(10_000));
            h.attached();
            int rows = 500;
            for (int i = 0; i < rows; i++) {
                long lsn = 0x200_0000 + i * 0x200L;
                TestTransaction tx = at(lsn).update(items, null, i, "new", KEPT, i);
                if (i == 7) {
                    tx.delete(items, 7);
                }
                h.pipeline.commit(tx.committed(lsn + 0x100, 1));
            }
            h.pipeline.commit(
                    at(0x300_0000)
                            .toast(9100, "own")
                            .insert(items, 1000, "x", Big.external(9100, 3), 1)
                            .committed(0x300_0100, 1));
            TestTransaction chunk = TestTransaction.baseline(PipelineHarness.B);
            chunk.toast(9001, VALUE);
            for (int i = 0; i < rows; i++) {
                chunk.insert(items, i, "old", KEPT, 0);
            }
            long sequence = h.pipeline.submitBaseline(chunk);
            h.pipeline.awaitBaseline(sequence);
            assertThat(h.rows(items)).hasSize(rows).containsEntry(5L, "old|" + VALUE + "|0");
            assertThat(h.pipeline.watermark().durableLsn()).isZero();
            assertThat(h.pipeline.watermark().pendingFloor()).isEqualTo(0x200_0000);
            assertThat(h.pipeline.metrics().deferredBytes()).isGreaterThan(20_000);
            assertThat(h.state.resolve("waiting")).isNotEmptyDirectory();

            h.live();
            h.pipeline.flush();
            assertThat(h.rows(items))
                    .hasSize(rows)
                    .containsEntry(5L, "new|" + VALUE + "|5")
                    .containsEntry(499L, "new|" + VALUE + "|499")
                    .containsEntry(1000L, "x|own|1")
                    .doesNotContainKey(7L);
            assertThat(h.state.resolve("waiting")).isEmptyDirectory();
            assertThat(h.pipeline.watermark().durableLsn()).isEqualTo(0x300_0100);
            assertThat(h.status(items).state()).isEqualTo(TableState.LIVE);
            assertThat(h.open().isComplete()).isTrue();
        }
    }

    /** Answers for the row versions that these records wrote. */
    private static SourceLookup sourceWith(long... lsns) {
        return (relation, place, columns) ->
                LongStream.of(lsns)
                                .mapToObj(lsn -> TestTransaction.updated(lsn).tid())
                                .anyMatch(tid -> tid == place.tid() && place.xid() == 700)
                        ? List.of("from " + columns)
                        : null;
    }

    @Test
    void theSourceIsAskedLast() throws Exception {
        ItemsTable items = new ItemsTable("asked", "items", 16500, 16503);
        try (PipelineHarness h = harness("asked", items)) {
            h.lookup = sourceWith(0x200_0000, 0x200_0200);
            h.started();
            h.pipeline.commit(
                    at(0x200_0000)
                            .update(items, null, 1, "a", KEPT, 1)
                            .update(items, null, 2, "has changed again", OTHER, 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|from [3]|1"));
            h.pipeline.commit(
                    at(0x200_0200).update(items, null, 2, "b", OTHER, 2).committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|from [3]|1", 2L, "b|from [3]|2"));
            assertThat(h.pipeline.metrics().sourceLookups()).isEqualTo(3);
            assertThat(h.events).isEmpty();
        }
    }

    /** Neither the old key nor another row that has it now says anything of this one. */
    @Test
    void aRowUnderAnotherKeyIsAskedForWhereItLiesNow() throws Exception {
        ItemsTable items = new ItemsTable("rekeyed", "items", 16500, 16503);
        try (PipelineHarness h = harness("rekeyed", items)) {
            h.lookup = sourceWith(0x200_0010, 0x200_0200);
            h.started();
            h.pipeline.commit(
                    at(0x200_0000)
                            .update(items, null, 1, "a", KEPT, 1)
                            .update(items, 1L, 2L, "b", KEPT, 2)
                            .update(items, 2L, 3L, "c", KEPT, 3)
                            .insert(items, 1, "another", Big.inline("x"), 1)
                            .update(items, null, 7, "a", OTHER, 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "another|x|1", 3L, "c|from [3]|3"));
            assertThat(h.pipeline.metrics().sourceLookups()).isEqualTo(2);
            h.pipeline.commit(
                    at(0x200_0200)
                            .update(items, 7L, 8L, "b", OTHER, 2)
                            .insert(items, 7, "another", Big.inline("y"), 1)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(items))
                    .isEqualTo(
                            Map.of(
                                    1L, "another|x|1",
                                    3L, "c|from [3]|3",
                                    7L, "another|y|1",
                                    8L, "b|from [3]|2"));
        }
    }

    @Test
    void aValueThatNobodyHasSetsTheTableAside() throws Exception {
        ItemsTable items = new ItemsTable("nowhere", "items", 16500, 16503);
        try (PipelineHarness h = harness("nowhere", items).started()) {
            h.pipeline.commit(
                    at(0x200_0000).update(items, null, 1, "a", KEPT, 1).committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.status(items).reason()).contains("WS-1709");
            assertThat(h.pipeline.watermark().durableLsn()).isEqualTo(0x200_0100);
            assertThat(h.pipeline.metrics().heldBytes()).isZero();
        }
    }

    @Test
    void modeDisabledFillsNull() throws Exception {
        ItemsTable items = new ItemsTable("disabled", "items", 16500, 16503);
        try (PipelineHarness h = harness("disabled", items)) {
            tuned(h, options -> options.withToast(ToastMode.DISABLED));
            h.started();
            seed(h, items);
            h.pipeline.commit(
                    at(0x200_0200).update(items, null, 1, "b", KEPT, 2).committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "b|null|2"));
            assertThat(h.pipeline.metrics().defaultedRows()).isEqualTo(1);
        }
    }

    /** A value that a transaction was writing at the backup's start. */
    @Test
    void theBeginningOfAValueThatTheStreamHasTheEndOfIsTheBackups() throws Exception {
        ItemsTable items = new ItemsTable("spanning", "items", 16500, 16503);
        try (PipelineHarness h = harness("spanning", items)) {
            h.started();
            h.pipeline.useBaselineToast(
                    ItemsTable.DATABASE,
                    (relation, value, out) -> {
                        out.putBytes(head(2).getBytes(StandardCharsets.UTF_8));
                        return value == 9001;
                    });
            String end = VALUE.substring(head(2).length());
            h.pipeline.commit(
                    at(0x200_0000)
                            .toastTail(9001, 2, end)
                            .insert(items, 1, "a", KEPT, 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|" + VALUE + "|1"));
            assertThat(h.events).isEmpty();
        }
    }

    private static String head(int chunks) {
        return VALUE.substring(0, chunks * ToastValues.CHUNK_BYTES);
    }

    /** The beginning of a transaction that was open at the backup's start is in the backup. */
    @Test
    void modeDisabledFindsWhatCameBeforeTheStream() throws Exception {
        ItemsTable items = new ItemsTable("before", "items", 16500, 16503);
        try (PipelineHarness h = harness("before", items)) {
            tuned(h, options -> options.withToast(ToastMode.DISABLED));
            h.started();
            h.pipeline.useBaselineToast(
                    ItemsTable.DATABASE,
                    (relation, value, out) -> {
                        out.putBytes(VALUE.getBytes(StandardCharsets.UTF_8));
                        return value == 9001;
                    });
            h.pipeline.commit(
                    at(0x200_0000).insert(items, 1, "a", KEPT, 1).committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|" + VALUE + "|1"));
            h.pipeline.forgetBaselineToast();
            h.pipeline.commit(
                    at(0x200_0200).update(items, null, 1, "b", KEPT, 2).committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "b|null|2"));
            assertThat(h.events).isEmpty();
        }
    }

    /** A NULL of the same version might take the place of the value. */
    @Test
    void modeDisabledSkipsADeliveredRowWhoseChunksDoNotComeAgain() throws Exception {
        ItemsTable items = new ItemsTable("again", "items", 16500, 16503);
        try (PipelineHarness h = harness("again", items)) {
            tuned(h, options -> options.withToast(ToastMode.DISABLED));
            h.started();
            seed(h, items);
            h.pipeline.close();
            h.resume(PipelineHarness.B);
            h.start(PipelineHarness.B);
            h.pipeline.useBaselineToast(ItemsTable.DATABASE, (relation, value, out) -> false);
            h.pipeline.commit(
                    at(0x200_0000).insert(items, 1, "a", KEPT, 1).committed(0x200_0100, 1));
            h.pipeline.flush();
            h.client.execute("OPTIMIZE TABLE again.items FINAL");
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|" + VALUE + "|1"));
            assertThat(h.pipeline.metrics().defaultedRows()).isZero();
        }
    }
}
