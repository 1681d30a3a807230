package dev.walshadow.pipeline;

import static dev.walshadow.pipeline.TestTransaction.at;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.pipeline.TestTransaction.Place;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tables whose rows are told apart by their place in the heap. {@code -Dwalshadow.seed=n} repeats
 * the random history, {@code -Dwalshadow.soak=true} runs many.
 */
final class KeylessTablesTest {
    private static final int ROUNDS = Boolean.getBoolean("walshadow.soak") ? 60 : 3;
    private static final Big SMALL = Big.inline("s");
    private static final Big KEPT = Big.external(9001, 5000);
    private static final String VALUE = "v".repeat(5000);

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    private static ItemsTable keyless(String schema) {
        return new ItemsTable(schema, "items", 16500, 16503, 'n');
    }

    private static PipelineHarness harness(ItemsTable table) throws Exception {
        return ENGINE.harness(table.schema(), table);
    }

    private static Place place(int block, int offset) {
        return new Place(block, offset);
    }

    /** Rows as FINAL shows them, by place: id|name|big. */
    private static Map<Long, String> rows(PipelineHarness h, ItemsTable table) {
        Map<Long, String> rows = new TreeMap<>();
        for (@Nullable String[] row :
                h.client.query(
                        "SELECT _tid, id, name, big FROM "
                                + table.schema()
                                + "."
                                + table.name()
                                + " FINAL")) {
            rows.put(Long.valueOf(String.valueOf(row[0])), row[1] + "|" + row[2] + "|" + row[3]);
        }
        return rows;
    }

    private static Map<Long, String> expected(Object... placesAndRows) {
        Map<Long, String> rows = new TreeMap<>();
        for (int i = 0; i < placesAndRows.length; i += 2) {
            rows.put(((Place) placesAndRows[i]).tid(), (String) placesAndRows[i + 1]);
        }
        return rows;
    }

    @Test
    void everyRowVersionGoesByItsPlace() throws Exception {
        ItemsTable items = keyless("places");
        try (PipelineHarness h = harness(items).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insertAt(place(0, 1), items, 1, "same", SMALL)
                            .insertAt(place(0, 2), items, 1, "same", SMALL)
                            .fillPage(70_000, items, List.of(2L, 2L, 3L), "filled")
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(rows(h, items))
                    .isEqualTo(
                            expected(
                                    place(0, 1), "1|same|s",
                                    place(0, 2), "1|same|s",
                                    place(70_000, 1), "2|filled|m",
                                    place(70_000, 2), "2|filled|m",
                                    place(70_000, 3), "3|filled|m"));
            h.pipeline.commit(
                    at(0x200_0200)
                            .move(place(0, 1), place(0, 3), items, 1, "hot", SMALL)
                            .move(place(70_000, 2), place(0, 4), items, 2, "far", SMALL)
                            .move(place(0, 4), place(70_000, 9), items, 2, "back", SMALL)
                            .deleteAt(place(70_000, 1), items)
                            .committed(0x200_0300, 1));
            h.pipeline.commit(
                    at(0x200_0280)
                            .insertAt(place(70_000, 2), items, 7, "reused", SMALL)
                            .committed(0x200_0400, 1));
            h.pipeline.flush();
            assertThat(rows(h, items))
                    .isEqualTo(
                            expected(
                                    place(0, 2), "1|same|s",
                                    place(0, 3), "1|hot|s",
                                    place(70_000, 2), "7|reused|s",
                                    place(70_000, 3), "3|filled|m",
                                    place(70_000, 9), "2|back|s"));
            h.pipeline.commit(
                    at(0x200_0500)
                            .truncate(items)
                            .insertAt(place(0, 2), items, 8, "after", SMALL)
                            .committed(0x200_0600, 1));
            h.pipeline.flush();
            assertThat(rows(h, items)).isEqualTo(expected(place(0, 2), "8|after|s"));
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void baselineRowsAndTheirDeletionsGoByPlaceToo() throws Exception {
        ItemsTable items = keyless("base");
        try (PipelineHarness h = harness(items).attached()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .move(place(0, 1), place(5, 1), items, 1, "moved", KEPT)
                            .deleteAt(place(0, 2), items)
                            .committed(0x200_0100, 1));
            TestTransaction chunk =
                    TestTransaction.baseline(PipelineHarness.B)
                            .toast(9001, VALUE)
                            .insertAt(place(0, 1), items, 1, "old", KEPT)
                            .insertAt(place(0, 2), items, 1, "old", SMALL)
                            .insertAt(place(0, 3), items, 1, "old", SMALL);
            h.pipeline.awaitBaseline(h.pipeline.submitBaseline(chunk));
            h.live();
            h.pipeline.flush();
            assertThat(rows(h, items))
                    .isEqualTo(expected(place(0, 3), "1|old|s", place(5, 1), "1|moved|" + VALUE));
        }
    }

    /** Row 1 with the big value at (0,1), durable. */
    private static void seed(PipelineHarness h, ItemsTable items) throws Exception {
        h.pipeline.commit(
                at(0x200_0000)
                        .toast(9001, VALUE)
                        .insertAt(place(0, 1), items, 1, "a", KEPT)
                        .committed(0x200_0100, 1));
        h.pipeline.flush();
    }

    @Test
    void anUnchangedValueFollowsItsRowFromPlaceToPlace() throws Exception {
        ItemsTable items = keyless("follows");
        try (PipelineHarness h = harness(items).started()) {
            seed(h, items);
            for (int round = 0; round < 3; round++) {
                h.pipeline.commit(
                        at(0x200_0200)
                                .move(place(0, 1), place(0, 2), items, 1, "b", KEPT)
                                .move(place(0, 2), place(3, 1), items, 1, "c", KEPT)
                                .committed(0x200_0300, 1));
                h.pipeline.commit(
                        at(0x200_0400)
                                .insertAt(place(0, 1), items, 9, "reused", SMALL)
                                .move(place(3, 1), place(0, 5), items, 1, "d", KEPT)
                                .committed(0x200_0500, 1));
                h.pipeline.commit(
                        at(0x200_0600).deleteAt(place(0, 1), items).committed(0x200_0700, 1));
                h.pipeline.commit(
                        at(0x200_0800)
                                .toast(9002, "new")
                                .insertAt(place(0, 2), items, 5, "e", Big.external(9002, 3))
                                .move(
                                        place(0, 2),
                                        place(0, 1),
                                        items,
                                        5,
                                        "f",
                                        Big.external(9002, 3))
                                .committed(0x200_0900, 1));
                h.pipeline.flush();
                assertThat(rows(h, items))
                        .isEqualTo(expected(place(0, 1), "5|f|new", place(0, 5), "1|d|" + VALUE));
                h.client.execute("OPTIMIZE TABLE follows.items FINAL");
                h.pipeline.close();
                h.resume(0x200_0100);
                h.start(0x200_0100);
            }
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void aPlaceIsGivenUpOnlyWhenTheRowThatTookItsValueIsDurable() throws Exception {
        ItemsTable items = keyless("dependent");
        try (PipelineHarness h = harness(items)) {
            h.tune = options -> options.withBatchRows(1);
            h.started();
            int rows = 20;
            TestTransaction seed = at(0x200_0000);
            TestTransaction moves = at(0x200_1000);
            for (int i = 1; i <= rows; i++) {
                Big big = Big.external(100 + i, 5000);
                seed.toast(100 + i, VALUE).insertAt(place(0, i), items, i, "a", big);
                moves.move(place(0, i), place(1, i), items, i, "b", big);
            }
            h.pipeline.commit(seed.committed(0x200_0800, 1));
            h.pipeline.flush();
            commitAndWatch(h, "dependent", moves.committed(0x200_2000, 2), rows);
            h.pipeline.flush();
            assertThat(rows(h, items))
                    .hasSize(rows)
                    .containsEntry(place(1, 7).tid(), "7|b|" + VALUE);
        }
    }

    /** As many rows arrive on block 1 as places are given up; none of these before all rows. */
    private static void commitAndWatch(
            PipelineHarness h, String schema, TestTransaction moves, int rows) throws Exception {
        ENGINE.server().delayInserts(Duration.ofMillis(20));
        try {
            h.pipeline.commit(moves);
            @Nullable String seen = "";
            while (!(rows + " " + rows).equals(seen)) {
                seen =
                        h.client.queryValue(
                                "SELECT concat(toString(countIf(_is_deleted = 0 AND _tid >="
                                        + " 65536)), ' ', toString(countIf(_is_deleted = 1))) FROM "
                                        + schema
                                        + ".items");
                assertThat(String.valueOf(seen)).matches("\\d+ 0|" + rows + " \\d+");
            }
        } finally {
            ENGINE.server().delayInserts(Duration.ZERO);
        }
    }

    @Test
    void theSourceIsAskedForTheVeryRowVersion() throws Exception {
        ItemsTable items = keyless("asked");
        try (PipelineHarness h = harness(items)) {
            h.lookup =
                    (relation, at, columns) ->
                            at.equals(new SourceLookup.Place(place(2, 4).tid(), 700, 700))
                                    ? List.of("from " + columns)
                                    : null;
            h.started();
            h.pipeline.commit(
                    at(0x200_0000)
                            .move(place(0, 1), place(2, 3), items, 1, "a", KEPT)
                            .move(place(2, 3), place(2, 4), items, 1, "b", KEPT)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(rows(h, items)).isEqualTo(expected(place(2, 4), "1|b|from [3]"));
            h.pipeline.commit(
                    at(0x200_0200)
                            .move(
                                    place(0, 2),
                                    place(2, 5),
                                    items,
                                    1,
                                    "moves on",
                                    Big.external(9003, 5000))
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(rows(h, items)).isEqualTo(expected(place(2, 4), "1|b|from [3]"));
            assertThat(h.pipeline.metrics().sourceLookups()).isEqualTo(2);
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void valuesOfTheBackupAreNotLostEither() throws Exception {
        ItemsTable items = keyless("backup");
        try (PipelineHarness h = harness(items)) {
            h.tune = options -> options.withBatchRows(1);
            h.started();
            h.pipeline.useBaselineToast(
                    ItemsTable.DATABASE,
                    (relation, value, out) -> {
                        out.putBytes(VALUE.getBytes(java.nio.charset.StandardCharsets.UTF_8));
                        return value == 9001;
                    });
            TestTransaction moves = at(0x200_0000);
            int rows = 10;
            for (int i = 1; i <= rows; i++) {
                moves.move(place(0, i), place(1, i), items, i, "b", KEPT);
            }
            commitAndWatch(h, "backup", moves.committed(0x200_1000, 1), rows);
            h.pipeline.flush();
            assertThat(rows(h, items)).hasSize(rows);
        }
    }

    @Test
    void finalEqualsTheModelWhateverFails() throws Exception {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        for (int round = 0; round < ROUNDS; round++) {
            System.out.println("history with -Dwalshadow.seed=" + (seed + round));
            run(seed + round, "k" + round);
        }
    }

    private static void run(long seed, String name) throws Exception {
        Random random = new Random(seed);
        ItemsTable items = keyless(name);
        History history = new History(random, items);
        try (PipelineHarness h = harness(items)) {
            h.tune =
                    options ->
                            options.withBatchRows(1 + random.nextInt(60))
                                    .withInserters(1 + random.nextInt(4))
                                    .withDeferredMemoryBytes(500 + random.nextInt(20_000))
                                    .withRecentValueBytes(random.nextInt(3) * 200_000L)
                                    .withIdleSealInterval(Duration.ofMillis(random.nextInt(10)));
            h.attached();
            int sent = 0;
            for (int step = 0; step < 60; step++) {
                if (step == 5) {
                    h.pipeline.awaitBaseline(h.pipeline.submitBaseline(history.baseline.get()));
                    h.live();
                }
                int count = random.nextInt(6);
                for (int i = 0; i < count; i++) {
                    history.add();
                    h.pipeline.commit(history.transactions.get(sent++).get());
                }
                disturb(random);
                if (step > 5 && random.nextInt(8) == 0) {
                    if (random.nextBoolean()) {
                        h.pipeline.flush();
                        assertThat(rows(h, items)).as("seed %d", seed).isEqualTo(history.model());
                    }
                    h.restart();
                    for (int i = 0; i < sent; i++) {
                        h.pipeline.commit(history.transactions.get(i).get());
                    }
                }
            }
            h.pipeline.flush();
            assertThat(rows(h, items)).as("seed %d", seed).isEqualTo(history.model());
            assertThat(h.events)
                    .as("seed %d", seed)
                    .allMatch(event -> event.startsWith("reachable"));
            assertThat(h.pipeline.metrics().deferredBytes()).as("seed %d", seed).isZero();
        } finally {
            ENGINE.server().delayInserts(Duration.ZERO);
        }
    }

    private static void disturb(Random random) {
        switch (random.nextInt(20)) {
            case 0 -> ENGINE.server().dropInsertsBeforeCommit(1 + random.nextInt(3));
            case 1 -> ENGINE.server().dropInsertsAfterCommit(1 + random.nextInt(3));
            case 2 -> ENGINE.server().delayInserts(Duration.ofMillis(random.nextInt(30)));
            default -> {}
        }
    }

    /** A random history of one heap and what it leads to. */
    private static final class History {
        private record Row(long id, String text, int valueId, String big) {}

        private final Random random;
        private final ItemsTable table;
        private final Map<Place, Row> rows = new java.util.LinkedHashMap<>();
        private final Supplier<TestTransaction> baseline;
        private final List<Supplier<TestTransaction>> transactions = new ArrayList<>();

        /** Given up by the transaction at hand: not to be used before it has committed. */
        private final Set<Place> leaving = new HashSet<>();

        private int nextValue = 100;
        private long nextLsn = 0x200_0000;

        History(Random random, ItemsTable table) {
            this.random = random;
            this.table = table;
            List<Consumer<TestTransaction>> inserts = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                inserts.add(insert());
            }
            this.baseline =
                    () -> {
                        TestTransaction chunk = TestTransaction.baseline(PipelineHarness.B);
                        inserts.forEach(each -> each.accept(chunk));
                        return chunk;
                    };
        }

        Map<Long, String> model() {
            Map<Long, String> shown = new TreeMap<>();
            rows.forEach((place, row) ->
                    shown.put(place.tid(), row.id + "|" + row.text + "|" + row.big));
            return shown;
        }

        void add() {
            List<Consumer<TestTransaction>> changes = new ArrayList<>();
            int count = 1 + random.nextInt(random.nextInt(10) == 0 ? 100 : 8);
            leaving.clear();
            for (int i = 0; i < count; i++) {
                changes.add(change());
            }
            long lsn = nextLsn;
            long position = lsn + count * 8L + 8;
            nextLsn = position + 8;
            transactions.add(() -> {
                TestTransaction transaction = at(lsn);
                changes.forEach(each -> each.accept(transaction));
                return transaction.committed(position, 1);
            });
        }

        private Consumer<TestTransaction> change() {
            int kind = random.nextInt(100);
            if (kind == 0 && rows.size() > 20) {
                leaving.clear(); // an empty file
                rows.clear();
                return transaction -> transaction.truncate(table);
            }
            if (rows.isEmpty() || kind < 20) {
                return insert();
            }
            Place from = new ArrayList<>(rows.keySet()).get(random.nextInt(rows.size()));
            Row old = java.util.Objects.requireNonNull(rows.remove(from));
            leaving.add(from);
            if (kind < 35) {
                return transaction -> transaction.deleteAt(from, table);
            }
            Place to = free();
            Row now = kind < 80 ? new Row(old.id, text(), old.valueId, old.big) : row();
            rows.put(to, now);
            boolean fresh = kind >= 80;
            return transaction -> {
                if (fresh && now.valueId != 0) {
                    transaction.toast(now.valueId, now.big);
                }
                transaction.move(from, to, table, now.id, now.text, big(now));
            };
        }

        private Consumer<TestTransaction> insert() {
            Place place = free();
            Row row = row();
            rows.put(place, row);
            return transaction -> {
                if (row.valueId != 0) {
                    transaction.toast(row.valueId, row.big);
                }
                transaction.insertAt(place, table, row.id, row.text, big(row));
            };
        }

        private Place free() {
            while (true) {
                Place place = place(random.nextInt(4), 1 + random.nextInt(60));
                if (!rows.containsKey(place) && !leaving.contains(place)) {
                    return place;
                }
            }
        }

        private String text() {
            return "t" + random.nextInt(1000);
        }

        private Row row() {
            return random.nextInt(3) != 0
                    ? new Row(
                            random.nextInt(5), text(), nextValue++, "big" + random.nextInt(100_000))
                    : new Row(random.nextInt(5), text(), 0, "small");
        }

        private static Big big(Row row) {
            return row.valueId == 0
                    ? Big.inline(row.big)
                    : Big.external(row.valueId, row.big.length());
        }
    }
}
