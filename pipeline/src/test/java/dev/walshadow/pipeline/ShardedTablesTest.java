package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.pipeline.ddl.ShapeChange;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Two engines that are shards; one of them is behind the other. */
final class ShardedTablesTest {
    @RegisterExtension static final TestEngine ENGINE = new TestEngine(2);

    private static TargetTable table(PipelineHarness h, ItemsTable items) {
        return Objects.requireNonNull(h.tables.find(ItemsTable.DATABASE, items.oid()));
    }

    private static List<ShardDdl> ddl(PipelineHarness h) {
        return h.client.shards().stream().map(shard -> new ShardDdl(shard, h.tables)).toList();
    }

    private static void onEach(PipelineHarness h, String sql) {
        h.client.shards().forEach(shard -> shard.execute(sql));
    }

    private static List<String> ofEach(PipelineHarness h, String sql) {
        List<String> values = new ArrayList<>();
        h.client.shards().forEach(shard -> values.add(String.valueOf(shard.queryValue(sql))));
        return values;
    }

    @Test
    void anExchangeThatOneShardHasDoneIsDoneByTheOtherWhenItIsRepeated() throws Exception {
        ItemsTable items = new ItemsTable("exchange", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("exchange", items).started()) {
            TargetTable table = table(h, items);
            TargetName name = TargetName.of(table.mapped());
            TargetName staging = h.tables.names().scratch("loading", table);
            Sweep.Version limit = new Sweep.Version(1, 0, 0, 0);
            onEach(h, "INSERT INTO exchange.items (id, name) VALUES (1, 'before')");
            ddl(h).forEach(shard -> shard.createStaging(table, staging));
            onEach(h, "INSERT INTO " + staging.quoted() + " (id, name) VALUES (1, 'after')");
            ddl(h).getFirst().exchange(table, staging, name, null, limit);
            for (int i = 0; i < 3; i++) {
                ddl(h).forEach(shard -> shard.exchange(table, staging, name, null, limit));
                assertThat(ofEach(h, "SELECT name FROM exchange.items"))
                        .containsExactly("after", "after");
            }
            ddl(h).forEach(shard -> shard.drop(staging));
            ddl(h).forEach(shard -> shard.dropCopies(table, name));
            assertThat(ofEach(h, "SELECT name FROM exchange.items"))
                    .containsExactly("after", "after");
        }
    }

    @Test
    void aMoveThatOneShardHasDoneIsDoneByTheOtherWhenItIsRepeated() throws Exception {
        ItemsTable items = new ItemsTable("moving", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("moving", items).started()) {
            TargetTable table = table(h, items);
            TargetName parking = h.tables.names().scratch("moving", table);
            TargetName other = new TargetName("moving", "renamed");
            onEach(h, "INSERT INTO moving.items (id, name) VALUES (1, 'row')");
            ddl(h).getFirst().park(table, other, parking);
            ddl(h).forEach(shard -> shard.park(table, other, parking));
            ddl(h).forEach(shard -> assertThat(shard.places(table)).containsExactly(parking));
            ddl(h).getLast().move(table, other);
            ddl(h).forEach(shard -> shard.move(table, other));
            ddl(h).forEach(shard -> shard.move(table, other));
            assertThat(ofEach(h, "SELECT name FROM moving.renamed")).containsExactly("row", "row");
            ddl(h).forEach(shard -> assertThat(shard.places(table)).containsExactly(other));
        }
    }

    @Test
    void aCopyThatOneShardHasMadeIsMadeByTheOtherWhenItIsRepeated() throws Exception {
        ItemsTable items = new ItemsTable("copying", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("copying", items).started()) {
            TargetTable table = table(h, items);
            TargetName name = TargetName.of(table.mapped());
            onEach(h, "INSERT INTO copying.items (id, name) VALUES (1, 'row'), (2, 'other')");
            // its last column is new, and comes by way of a copy
            onEach(h, "ALTER TABLE copying.items DROP COLUMN n");
            ShapeChange copy = new ShapeChange.Beside(table.mapped(), "a test");
            TableMapping before =
                    table.mapped().withColumns(table.mapped().columns().subList(0, 3));
            ddl(h).getFirst().alter(table, name, before, copy);
            ddl(h).forEach(shard -> shard.alter(table, name, before, copy));
            ddl(h).forEach(shard -> shard.alter(table, name, before, copy));
            assertThat(ofEach(h, "SELECT count() FROM copying.items WHERE n IS NULL OR n = 0"))
                    .containsExactly("2", "2");
            assertThat(ofEach(h, "SELECT count() FROM system.tables WHERE name LIKE 'beside%'"))
                    .containsExactly("0", "0");
        }
    }

    @Test
    void rowsAreWhereTheSqlHashSaysAndAreFoundThere() throws Exception {
        ItemsTable items = new ItemsTable("placed", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("placed", items).started()) {
            TestTransaction tx = new TestTransaction(700, 0x200_0000);
            for (long id = 1; id <= 200; id++) {
                tx.insert(items, id, "n" + id, Big.inline("b" + id), 1);
            }
            tx.committed(0x200_1000, 5_000_000);
            h.pipeline.commit(tx);
            h.pipeline.flush();
            TestTransaction later = new TestTransaction(701, 0x300_0000);
            for (long id = 1; id <= 200; id += 2) {
                // the value out of line is unchanged, so it is looked up by its key
                later.update(items, null, id, "again", Big.external(1_000 + (int) id, 40), 2);
                later.delete(items, id + 1);
            }
            later.committed(0x300_1000, 6_000_000);
            h.pipeline.commit(later);
            h.pipeline.flush();
            String place = new ShardKey(table(h, items).mapped()).expression() + " % 2";
            assertThat(ofEach(h, "SELECT min(" + place + ") FROM placed.items"))
                    .containsExactly("0", "1");
            assertThat(ofEach(h, "SELECT max(" + place + ") FROM placed.items"))
                    .containsExactly("0", "1");
            long found = 0;
            for (ClickHouseClient shard : h.client.shards()) {
                assertThat(
                                shard.queryValue(
                                        "SELECT count() FROM placed.items FINAL WHERE big !="
                                                + " concat('b', toString(id)) OR name != 'again'"))
                        .isEqualTo("0");
                found +=
                        Long.parseLong(
                                Objects.requireNonNull(
                                        shard.queryValue(
                                                "SELECT count() FROM placed.items FINAL")));
            }
            assertThat(found).isEqualTo(100);
        }
    }

    @Test
    void aShardThatHasItsRowsIsNotSentThemAgain() throws Exception {
        ItemsTable items = new ItemsTable("repeated", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("repeated", items).started()) {
            ENGINE.server(1).stop();
            TestTransaction tx = new TestTransaction(700, 0x200_0000);
            for (long id = 1; id <= 50; id++) {
                tx.insert(items, id, "n", Big.inline("b"), 1);
            }
            tx.committed(0x200_1000, 5_000_000);
            h.pipeline.commit(tx);
            long deadline = System.nanoTime() + 60_000_000_000L;
            while (h.pipeline.metrics().retries.sum() < 4) {
                assertThat(System.nanoTime()).isLessThan(deadline);
                LockSupport.parkNanos(10_000_000);
            }
            assertThat(h.pipeline.watermark().durableLsn()).isLessThan(0x200_1000);
            String parts =
                    "SELECT count() FROM system.parts WHERE database = 'repeated' AND active";
            assertThat(h.client.queryValue(parts)).isEqualTo("1");
            ENGINE.server(1).start();
            h.pipeline.flush();
            assertThat(h.client.queryValue(parts)).isEqualTo("1");
            assertThat(ofEach(h, "SELECT count() > 0 FROM repeated.items"))
                    .containsExactly("1", "1");
            assertThat(ofEach(h, "SELECT uniqExact(id) = count() FROM repeated.items"))
                    .containsExactly("1", "1");
        }
    }

    @Test
    void otherShardsAreRefused() throws Exception {
        ItemsTable items = new ItemsTable("others", "items", 16500, 16503);
        ENGINE.harness("others", items).started().close();
        assertRefused("shard 1 of 2", ENGINE.server(0).url());
        assertRefused("shard 2 of 2", ENGINE.server(1).url());
        assertRefused("shard 2 of 2", ENGINE.server(1).url(), ENGINE.server(0).url());
        assertRefused(
                "shard 1 of 2",
                ENGINE.server(0).url(),
                ENGINE.server(1).url(),
                ENGINE.server(0).url());
        try (PipelineHarness same = ENGINE.harness("others", items)) {
            assertThat(same.tables.isAttached()).isTrue();
        }
        ItemsTable alone = new ItemsTable("alone", "items", 16500, 16503);
        new PipelineHarness(ENGINE.directory(), ENGINE.server(0).url(), "alone", alone)
                .started()
                .close();
        assertThatThrownBy(() -> ENGINE.harness("alone", alone))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("WS-1960")
                .hasMessageContaining("no shard at all");
    }

    private static void assertRefused(String found, String... urls) {
        assertThatThrownBy(() -> new PipelineHarness(ENGINE.directory(), List.of(urls), "others"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("WS-1960")
                .hasMessageContaining(found);
    }
}
