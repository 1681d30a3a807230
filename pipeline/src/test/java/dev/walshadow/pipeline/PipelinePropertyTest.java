package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.pipeline.ItemsTable.Big;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Random histories with random batch sizes, engine failures, kills of the engine and restarts of
 * the pipeline: in the end FINAL equals a model. The seed is in every failure's message; {@code
 * -Dwalshadow.seed=n} runs it again, {@code -Dwalshadow.soak=true} runs many.
 */
final class PipelinePropertyTest {
    private static final int ROUNDS = Boolean.getBoolean("walshadow.soak") ? 60 : 2;

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    @Test
    void finalEqualsTheModelWhateverFails() throws Exception {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        for (int round = 0; round < ROUNDS; round++) {
            System.out.println("history with -Dwalshadow.seed=" + (seed + round));
            run(seed + round, "r" + round);
        }
    }

    private static void run(long seed, String name) throws Exception {
        Random random = new Random(seed);
        ItemsTable[] tables = {
            new ItemsTable(name, "one", 16500, 16503),
            new ItemsTable(name, "two", 16600, 16603),
            new ItemsTable(name, "three", 16700, 16703)
        };
        History history = new History(random, tables);
        ToastMode mode = seed % 2 == 0 ? ToastMode.CLICKHOUSE : ToastMode.DESTINATION;
        try (PipelineHarness h = ENGINE.harness(name, tables)) {
            h.tune =
                    options ->
                            options.withBatchRows(1 + random.nextInt(200))
                                    .withDecodeWorkers(1 + random.nextInt(3))
                                    .withInserters(1 + random.nextInt(4))
                                    .withMemoryBytes(200_000 + random.nextInt(2_000_000))
                                    .withQueueBytes(1_000 + random.nextInt(100_000))
                                    .withDeferredMemoryBytes(500 + random.nextInt(20_000))
                                    .withRecentValueBytes(random.nextInt(3) * 200_000L)
                                    .withToast(mode)
                                    .withIdleSealInterval(Duration.ofMillis(random.nextInt(10)));
            h.attached();
            boolean loading = true;
            int sent = 0;
            for (int step = 0; step < 60; step++) {
                if (step == 5) {
                    history.submitBaseline(h);
                    h.live();
                    loading = false;
                }
                int count = random.nextInt(6);
                for (int i = 0; i < count; i++) {
                    history.add();
                    h.pipeline.commit(history.transactions.get(sent++).get());
                }
                disturb(random);
                if (!loading && random.nextInt(12) == 0) {
                    if (random.nextBoolean()) {
                        h.pipeline.flush();
                        check(seed, history, h, tables);
                        if (mode == ToastMode.CLICKHOUSE) {
                            clean(h, tables);
                        }
                    }
                    h.restart();
                    for (int i = 0; i < sent; i++) {
                        h.pipeline.commit(history.transactions.get(i).get());
                    }
                }
            }
            h.pipeline.flush();
            check(seed, history, h, tables);
            assertThat(h.pipeline.watermark().durableLsn())
                    .as("seed %d", seed)
                    .isEqualTo(history.position);
            assertThat(h.events)
                    .as("seed %d", seed)
                    .allMatch(event -> event.startsWith("reachable"));
            assertThat(h.pipeline.metrics().heldBytes()).as("seed %d", seed).isZero();
            assertThat(h.pipeline.metrics().deferredBytes()).as("seed %d", seed).isZero();
        }
    }

    /** Chunks that are superseded go. */
    private static void clean(PipelineHarness h, ItemsTable[] tables) {
        ChunkMirror mirror = new ChunkMirror(h.client, h.tables.names());
        for (ItemsTable table : tables) {
            TargetTable target =
                    Objects.requireNonNull(h.tables.find(ItemsTable.DATABASE, table.oid()));
            mirror.fetch(target, List.of(), 0); // it is known from then on
            mirror.clean(target, h.pipeline.watermark().durableLsn());
        }
    }

    private static void check(long seed, History history, PipelineHarness h, ItemsTable[] tables) {
        for (int i = 0; i < tables.length; i++) {
            assertThat(h.rows(tables[i]))
                    .as("seed %d table %s", seed, tables[i].name())
                    .isEqualTo(history.model(i));
        }
    }

    private static void disturb(Random random) {
        switch (random.nextInt(24)) {
            case 0 -> ENGINE.server().refuseInserts(1 + random.nextInt(3), 252);
            case 1 -> ENGINE.server().dropInsertsBeforeCommit(1 + random.nextInt(3));
            case 2 -> ENGINE.server().dropInsertsAfterCommit(1 + random.nextInt(3));
            case 3 -> ENGINE.server().delayInserts(Duration.ofMillis(random.nextInt(30)));
            case 4 -> {
                ENGINE.server().kill();
                ENGINE.server().start();
            }
            default -> {}
        }
    }

    /** A random history and what it leads to. */
    private static final class History {
        private record Row(String text, int valueId, String big, int n) {}

        private final Random random;
        private final ItemsTable[] tables;
        private final List<Map<Long, Row>> rows = new ArrayList<>();
        private final List<Map<Long, Row>> baseline = new ArrayList<>();
        private final List<Supplier<TestTransaction>> transactions = new ArrayList<>();
        private int nextValue = 100;

        /** Ids of values that the stream brought. */
        private final Set<Integer> streamed = new TreeSet<>();

        /** Those that no row has any more, since before this transaction: PostgreSQL may reuse. */
        private final List<Integer> free = new ArrayList<>();

        private long nextLsn = 0x200_0000;
        private long position;

        History(Random random, ItemsTable[] tables) {
            this.random = random;
            this.tables = tables;
            for (int i = 0; i < tables.length; i++) {
                Map<Long, Row> start = new TreeMap<>();
                for (int k = 0; k < 30; k++) {
                    start.put((long) k, row(random.nextInt(3) != 0));
                }
                baseline.add(start);
                rows.add(new TreeMap<>(start));
            }
            streamed.clear();
        }

        Map<Long, String> model(int table) {
            Map<Long, String> shown = new TreeMap<>();
            rows.get(table)
                    .forEach((id, row) -> shown.put(id, row.text + "|" + row.big + "|" + row.n));
            return shown;
        }

        void submitBaseline(PipelineHarness h) throws InterruptedException {
            long last = 0;
            for (int i = 0; i < tables.length; i++) {
                TestTransaction chunk = TestTransaction.baseline(PipelineHarness.B);
                for (Map.Entry<Long, Row> entry : baseline.get(i).entrySet()) {
                    Row row = entry.getValue();
                    if (row.valueId != 0) {
                        toast(chunk, tables[i], row);
                    }
                    chunk.insert(tables[i], entry.getKey(), row.text, big(row), row.n);
                }
                last = h.pipeline.submitBaseline(chunk);
            }
            h.pipeline.awaitBaseline(last);
        }

        /** An id that is used again has its place again. */
        private static void toast(TestTransaction tx, ItemsTable table, Row row) {
            TestTransaction.Place place =
                    new TestTransaction.Place(row.valueId / 100, 1 + row.valueId % 100);
            tx.toast(row.valueId, row.big).chunk(table, row.valueId, 0, row.big, place);
        }

        private Row row(boolean toasted) {
            String text = "t" + random.nextInt(1000);
            int n = random.nextInt(1000);
            return toasted
                    ? new Row(text, valueId(), "big" + random.nextInt(100_000), n)
                    : new Row(text, 0, "small" + random.nextInt(100), n);
        }

        private int valueId() {
            boolean reused = !free.isEmpty() && random.nextInt(3) == 0;
            int id = reused ? free.get(random.nextInt(free.size())) : nextValue++;
            free.remove(Integer.valueOf(id));
            streamed.add(id);
            return id;
        }

        private void findFree() {
            free.clear();
            free.addAll(streamed);
            rows.forEach(table ->
                    table.values().forEach(row -> free.remove(Integer.valueOf(row.valueId))));
        }

        private static Big big(Row row) {
            return row.valueId == 0
                    ? Big.inline(row.big)
                    : Big.external(row.valueId, row.big.length());
        }

        /** One more transaction; kept as a recipe, since each run of it is consumed. */
        void add() {
            List<java.util.function.Consumer<TestTransaction>> changes = new ArrayList<>();
            findFree();
            int count = 1 + random.nextInt(random.nextInt(10) == 0 ? 200 : 8);
            int only = random.nextBoolean() ? random.nextInt(tables.length) : -1;
            for (int i = 0; i < count; i++) {
                changes.add(change(only < 0 ? random.nextInt(tables.length) : only));
            }
            long first = nextLsn;
            long commit = first + 16L * count + 64;
            nextLsn = commit + 64;
            position = commit;
            boolean spilled = random.nextBoolean();
            boolean large = random.nextInt(3) == 0;
            transactions.add(() -> {
                TestTransaction tx = new TestTransaction(1000, first);
                if (spilled) {
                    tx.spilled();
                }
                if (large) {
                    tx.large();
                }
                changes.forEach(change -> change.accept(tx));
                return tx.committed(commit, commit);
            });
        }

        private java.util.function.Consumer<TestTransaction> change(int t) {
            ItemsTable table = tables[t];
            Map<Long, Row> now = rows.get(t);
            int kind = random.nextInt(100);
            if (kind == 0) {
                now.clear();
                return tx -> tx.truncate(table);
            }
            if (kind < 25 || now.isEmpty()) {
                return insert(table, now);
            }
            Long id = List.copyOf(now.keySet()).get(random.nextInt(now.size()));
            Row old = Objects.requireNonNull(now.get(id));
            if (kind < 35) {
                now.remove(id);
                return tx -> tx.delete(table, id);
            }
            Row next = row(random.nextInt(3) == 0);
            if (kind < 85 && old.valueId != 0) {
                next = new Row(next.text, old.valueId, old.big, next.n);
            }
            if (kind > 70) {
                long moved = random.nextInt(80);
                if (!now.containsKey(moved)) {
                    now.remove(id);
                    return update(table, now, id, moved, old, next);
                }
            }
            return update(table, now, null, id, old, next);
        }

        private java.util.function.Consumer<TestTransaction> insert(
                ItemsTable table, Map<Long, Row> now) {
            long id = random.nextInt(80);
            while (now.containsKey(id)) {
                id++;
            }
            long free = id;
            Row row = row(random.nextBoolean());
            now.put(free, row);
            return tx -> {
                if (row.valueId != 0) {
                    toast(tx, table, row);
                }
                tx.insert(table, free, row.text, big(row), row.n);
            };
        }

        private static java.util.function.Consumer<TestTransaction> update(
                ItemsTable table,
                Map<Long, Row> now,
                @Nullable Long oldId,
                long id,
                Row old,
                Row next) {
            now.put(id, next);
            return tx -> {
                if (next.valueId != 0 && next.valueId != old.valueId) {
                    toast(tx, table, next);
                }
                tx.update(table, oldId, id, next.text, big(next), next.n);
            };
        }
    }
}
