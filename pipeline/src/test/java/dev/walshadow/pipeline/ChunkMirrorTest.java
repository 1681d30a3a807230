package dev.walshadow.pipeline;

import static dev.walshadow.pipeline.TestTransaction.at;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.pipeline.TestTransaction.Place;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Unchanged toasted columns get the value that their pointer names (mode {@code clickhouse}). */
final class ChunkMirrorTest {
    private static final int CHUNK = 1996;
    private static final Big KEPT = Big.external(9001, 2 * CHUNK + 10);
    private static final String FIRST = "f".repeat(CHUNK);
    private static final String SECOND = "s".repeat(CHUNK);
    private static final String LAST = "l".repeat(10);
    private static final String VALUE = FIRST + SECOND + LAST;

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    private static PipelineHarness harness(String name, ItemsTable items) throws Exception {
        PipelineHarness h = ENGINE.harness(name, items);
        h.tune = options -> options.withRecentValueBytes(0).withToast(ToastMode.CLICKHOUSE);
        return h;
    }

    /** Row 1 with the big value at places 1 to 3 of the TOAST relation, durable. */
    private static void seed(PipelineHarness h, ItemsTable items) throws Exception {
        h.pipeline.commit(
                at(0x200_0000)
                        .toast(9001, VALUE)
                        .chunk(items, 9001, 0, FIRST, new Place(0, 1))
                        .chunk(items, 9001, 1, SECOND, new Place(0, 2))
                        .chunk(items, 9001, 2, LAST, new Place(0, 3))
                        .insert(items, 1, "a", KEPT, 1)
                        .committed(0x200_0100, 1));
        h.pipeline.flush();
    }

    private static TargetTable table(PipelineHarness h) {
        return Objects.requireNonNull(h.tables.find(ItemsTable.DATABASE, 16500));
    }

    private static @Nullable String mirrored(PipelineHarness h, ItemsTable items) {
        return h.client.queryValue(
                "SELECT arrayStringConcat(arraySort(groupArray(concat(toString(value), '.',"
                        + " toString(chunk)))), ' ') FROM "
                        + h.metadata
                        + ".toast_5_"
                        + items.oid());
    }

    @Test
    void aValueIsFoundByItsIdWhereNoRowHasIt() throws Exception {
        ItemsTable items = new ItemsTable("byid", "items", 16500, 16503);
        try (PipelineHarness h = harness("byid", items).started()) {
            seed(h, items);
            h.client.execute("TRUNCATE TABLE byid.items");
            h.pipeline.commit(
                    at(0x200_0200)
                            .update(items, null, 1, "b", KEPT, 2)
                            .update(items, 1L, 2L, "c", KEPT, 3)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(2L, "c|" + VALUE + "|3"));

            h.client.execute("TRUNCATE TABLE byid.items");
            h.restart();
            h.pipeline.commit(
                    at(0x200_0400).update(items, null, 2, "d", KEPT, 4).committed(0x200_0500, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(2L, "d|" + VALUE + "|4"));
            assertThat(h.events).isEmpty();
        }
    }

    /** A row that comes again does not take what its pointer's id was given to since. */
    @Test
    void aLaterValueOfTheSameIdIsNotTaken() throws Exception {
        ItemsTable items = new ItemsTable("reused", "items", 16500, 16503);
        try (PipelineHarness h = harness("reused", items).started()) {
            seed(h, items);
            h.pipeline.commit(
                    at(0x200_0600)
                            .toast(9001, "m".repeat(KEPT.length()))
                            .chunk(items, 9001, 0, "m".repeat(CHUNK), new Place(1, 1))
                            .chunk(items, 9001, 1, "m".repeat(CHUNK), new Place(1, 2))
                            .chunk(items, 9001, 2, "m".repeat(10), new Place(1, 3))
                            .insert(items, 3, "later", KEPT, 1)
                            .committed(0x200_0700, 1));
            h.pipeline.flush();
            h.client.execute("OPTIMIZE TABLE " + h.metadata + ".toast_5_16500 FINAL");
            h.pipeline.close();
            h.resume(0x200_0100);
            h.start(0x200_0100);
            h.pipeline.commit(
                    at(0x200_0400).update(items, null, 1, "b", KEPT, 2).committed(0x200_0500, 1));
            h.pipeline.flush();
            // from its previous version
            assertThat(h.rows(items)).containsEntry(1L, "b|" + VALUE + "|2");
        }
    }

    @Test
    void chunksWhosePlaceWasUsedAgainGoOnceNobodyCanAskForThem() throws Exception {
        ItemsTable items = new ItemsTable("cleaned", "items", 16500, 16503);
        try (PipelineHarness h = harness("cleaned", items).started()) {
            seed(h, items);
            h.pipeline.commit(
                    at(0x200_0200)
                            .toast(9002, LAST)
                            .chunk(items, 9002, 0, LAST, new Place(0, 2))
                            .chunk(items, 9003, 0, LAST, new Place(1, 2))
                            .insert(items, 2, "b", Big.external(9002, 10), 2)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            ChunkMirror mirror = new ChunkMirror(h.client, h.tables.names());
            TargetTable table = table(h);
            mirror.fetch(table, List.of(), 0); // it is known from then on
            mirror.clean(table, 0x200_02FF);
            assertThat(mirrored(h, items)).isEqualTo("9001.0 9001.1 9001.2 9002.0 9003.0");
            mirror.clean(table, 0x200_0300);
            assertThat(mirrored(h, items)).isEqualTo("9001.0 9001.2 9002.0 9003.0");
            mirror.clean(table, 0x200_0300);
            assertThat(mirrored(h, items)).isEqualTo("9001.0 9001.2 9002.0 9003.0");
        }
    }

    /** The same chunks, sent twice, are one, and are not taken for two at one place. */
    @Test
    void chunksThatComeAgainStay() throws Exception {
        ItemsTable items = new ItemsTable("again", "items", 16500, 16503);
        try (PipelineHarness h = harness("again", items).started()) {
            seed(h, items);
            h.pipeline.close();
            h.resume(PipelineHarness.B);
            h.start(PipelineHarness.B);
            seed(h, items);
            ChunkMirror mirror = new ChunkMirror(h.client, h.tables.names());
            TargetTable table = table(h);
            mirror.fetch(table, List.of(), 0);
            mirror.clean(table, 0x200_0300);
            ChunkMirror.Value value =
                    Objects.requireNonNull(mirror.fetch(table, List.of(9001), 1 << 20).get(9001));
            assertThat(value.stored().toString()).isEqualTo(VALUE);
            assertThat(value.position()).isEqualTo(0x200_0100);
            mirror.forgetBelow(table, 0x200_0100, 0);
            assertThat(mirror.fetch(table, List.of(9001), 1 << 20)).hasSize(1);
            mirror.forgetBelow(table, 0x200_0101, 0);
            assertThat(mirror.fetch(table, List.of(9001), 1 << 20)).isEmpty();
        }
    }
}
