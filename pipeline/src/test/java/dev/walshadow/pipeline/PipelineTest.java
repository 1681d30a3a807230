package dev.walshadow.pipeline;

import static dev.walshadow.pipeline.TestTransaction.at;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import dev.walshadow.pipeline.ItemsTable.Big;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The pipeline against the real engine. */
final class PipelineTest {
    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    @Test
    void everyKindOfChangeArrives() throws Exception {
        ItemsTable items = new ItemsTable("kinds", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("kinds", items).started()) {
            TestTransaction tx = at(0x200_0000);
            tx.insert(items, 1, "one", Big.inline("b"), 1)
                    .insert(items, 2, null, Big.inline(null), 2)
                    .insert(items, 3, "three", Big.inline("x".repeat(300)), 3)
                    .multiInsert(items, List.of(10L, 11L, 12L), "many", 7)
                    .update(items, null, 1, "ONE", Big.inline("b"), 10)
                    .update(items, 3L, 4L, "four", Big.inline("y"), 4)
                    .delete(items, 11);
            tx.committed(0x200_1000, 5_000_000);
            h.pipeline.commit(tx);
            h.pipeline.flush();
            assertThat(h.rows(items))
                    .isEqualTo(
                            Map.of(
                                    1L, "ONE|b|10",
                                    2L, "null|null|2",
                                    4L, "four|y|4",
                                    10L, "many|m|7",
                                    12L, "many|m|7"));
            assertThat(h.pipeline.watermark())
                    .isEqualTo(new Watermark(0x200_1000, 5_000_000, Long.MAX_VALUE));
            assertThat(tx.isClosed()).isTrue();
            assertThat(h.status(items).tombstones()).isEqualTo(2);
            assertThat(h.status(items).rows()).isEqualTo(10);
            h.pipeline.advance(0x200_2000);
            assertThat(h.pipeline.watermark().durableLsn()).isEqualTo(0x200_2000);
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void aSingleCommitIsVisibleWithoutAFlush() throws Exception {
        ItemsTable items = new ItemsTable("single", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("single", items).started()) {
            h.tune = options -> options;
            for (int i = 1; i <= 3; i++) {
                long position = 0x200_0000L + i * 0x100L;
                h.pipeline.commit(
                        at(position - 0x80)
                                .insert(items, i, "a", Big.inline("b"), i)
                                .committed(position, 1));
                assertThat(h.pipeline.awaitDurable(position, Duration.ofSeconds(10))).isTrue();
                assertThat(h.rows(items)).hasSize(i);
            }
        }
    }

    @Test
    void versionsFollowCommitOrderNotRecordOrder() throws Exception {
        ItemsTable items = new ItemsTable("orders", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("orders", items).started()) {
            // the insert of 77 was logged before the delete of its predecessor, and commits later
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 77, "old", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            TestTransaction inserter = at(0x200_0200).insert(items, 77, "new", Big.inline("b"), 2);
            TestTransaction deleter = at(0x200_0300).delete(items, 77);
            h.pipeline.commit(deleter.committed(0x200_0400, 2));
            h.pipeline.commit(inserter.committed(0x200_0500, 3));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(77L, "new|b|2"));
        }
    }

    @Test
    void spilledTransactionsAreCopied() throws Exception {
        ItemsTable items = new ItemsTable("spilled", "items", 16500, 16503);
        ItemsTable other = new ItemsTable("spilled", "other", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("spilled", items, other)) {
            h.tune = options -> options.withBatchRows(1000).withQueueBytes(100_000);
            h.started();
            TestTransaction tx = at(0x200_0000).spilled();
            for (int i = 0; i < 20_000; i++) {
                tx.insert(i % 3 == 0 ? other : items, i, "r" + i, Big.inline("b"), i);
            }
            h.pipeline.commit(tx.committed(0x300_0000, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).hasSize(13_333).containsEntry(19_999L, "r19999|b|19999");
            assertThat(h.rows(other)).hasSize(6_667).containsEntry(9L, "r9|b|9");
            assertThat(h.pipeline.metrics().batches()).isGreaterThanOrEqualTo(20);
            assertThat(h.pipeline.metrics().heldBytes()).isZero();
            assertThat(h.pipeline.metrics().queuedBytes()).isZero();
        }
    }

    @Test
    void transactionsThatAreDurableAreSkippedAfterARestart() throws Exception {
        ItemsTable items = new ItemsTable("again", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("again", items).started()) {
            TestTransaction first =
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1);
            h.pipeline.commit(first);
            h.pipeline.flush();
            assertThat(h.restart()).isEqualTo(0x200_0100);
            TestTransaction replayed =
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1);
            h.pipeline.commit(replayed);
            h.pipeline.commit(
                    at(0x200_0200)
                            .insert(items, 2, "a", Big.inline("b"), 2)
                            .committed(0x200_0300, 2));
            h.pipeline.flush();
            assertThat(replayed.isClosed()).isTrue();
            assertThat(h.pipeline.metrics().skippedTransactions()).isEqualTo(1);
            assertThat(h.rows(items)).hasSize(2);
        }
    }

    @Test
    void aTableThatClickHouseRefusesIsSetAsideAndOthersGoOn() throws Exception {
        ItemsTable good = new ItemsTable("refused", "good", 16500, 16503);
        ItemsTable bad = new ItemsTable("refused", "bad", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("refused", good, bad).started()) {
            h.client.execute("DROP TABLE refused.bad SYNC");
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(good, 1, "a", Big.inline("b"), 1)
                            .insert(bad, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            h.pipeline.commit(
                    at(0x200_0200)
                            .insert(good, 2, "a", Big.inline("b"), 1)
                            .insert(bad, 2, "a", Big.inline("b"), 1)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            assertThat(h.rows(good)).hasSize(2);
            assertThat(h.pipeline.watermark().durableLsn()).isEqualTo(0x200_0300);
            TableStatus status = h.status(bad);
            assertThat(status.state()).isEqualTo(TableState.QUARANTINED);
            assertThat(status.positionLsn()).isEqualTo(0x200_0100);
            assertThat(status.discardedRows()).isEqualTo(2);
            assertThat(status.reason()).contains("refused.bad").contains("60");
            assertThat(h.events).containsExactly("quarantined refused.bad");

            h.restart();
            assertThat(h.status(bad).state()).isEqualTo(TableState.QUARANTINED);
            assertThat(h.status(bad).positionLsn()).isEqualTo(0x200_0100);
        }
    }

    @Test
    void aDeleteWithoutKeySetsItsTableAside() throws Exception {
        ItemsTable items = new ItemsTable("keyless", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("keyless", items).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .deleteWithoutKey(items)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.status(items).reason()).contains("WS-1701").contains("wal_level");
            assertThat(h.pipeline.failure()).isNull();
        }
    }

    @Test
    void aRecordThatDoesNotFitItsTableLoadsIt() throws Exception {
        ItemsTable items = new ItemsTable("shapes", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("shapes", items).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.descriptors.append(
                    0x200_0300,
                    List.of(
                            items.shape(
                                    items.locator(),
                                    List.of(
                                            ItemsTable.attribute(
                                                    5, "extra", 23, 4, true, 'i', 'p', false)))),
                    List.of(),
                    ItemsTable.DATABASE);
            h.pipeline.commit(
                    at(0x200_0280)
                            .insert(items, 2, "a", Big.inline("b"), 1)
                            .committed(0x200_0290, 1));
            h.pipeline.commit(
                    at(0x200_0310)
                            .insert(items, 3, "a", Big.inline("b"), 1)
                            .committed(0x200_0400, 1));
            LoadTicket load = h.loads.take();
            h.pipeline.loading().keepChanges(load);
            assertThat(load.position()).isEqualTo(0x200_0400);
            assertThat(load.reason()).contains("extra");
            assertThat(h.rows(items)).hasSize(2);
            assertThat(h.status(items).state()).isEqualTo(TableState.LOADING);
        }
    }

    @Test
    void whatCommittedBeforeATableIsSetAsideStillArrives() throws Exception {
        ItemsTable items = new ItemsTable("before", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("before", items).started()) {
            ENGINE.server().delayInserts(Duration.ofMillis(300));
            try {
                h.pipeline.commit(
                        at(0x200_0000)
                                .insert(items, 1, "a", Big.inline("b"), 1)
                                .committed(0x200_0100, 1));
                h.pipeline.commit(
                        at(0x200_0200)
                                .truncate(items)
                                .insert(items, 2, "a", Big.inline("b"), 1)
                                .committed(0x200_0300, 1));
                h.pipeline.quarantine(
                        ItemsTable.DATABASE,
                        items.oid(),
                        PipelineCodes.SHAPE_CHANGED,
                        "it was dropped",
                        0x200_0400);
                h.pipeline.commit(
                        at(0x200_0310)
                                .insert(items, 3, "a", Big.inline("b"), 1)
                                .committed(0x200_0400, 1));
                h.pipeline.flush();
            } finally {
                ENGINE.server().delayInserts(Duration.ZERO);
            }
            assertThat(h.rows(items)).isEqualTo(Map.of(2L, "a|b|1"));
            assertThat(h.status(items).discardedRows()).isEqualTo(1);

            // a replay after a restart still delivers what lies before
            h.pipeline.close();
            h.client.execute("TRUNCATE TABLE before.items");
            h.resume(0x200_0000);
            h.start(0x200_0000);
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.commit(
                    at(0x200_0310)
                            .insert(items, 3, "a", Big.inline("b"), 1)
                            .committed(0x200_0400, 1));
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|b|1"));
        }
    }

    @Test
    void anUnknownTableIsReportedOnce() throws Exception {
        ItemsTable items = new ItemsTable("unknown", "items", 16500, 16503);
        ItemsTable later = new ItemsTable("unknown", "later", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("unknown", items).started()) {
            h.descriptors.append(
                    0x200_0000, List.of(later.shape()), List.of(), ItemsTable.DATABASE);
            for (int i = 1; i < 3; i++) {
                h.pipeline.commit(
                        at(0x200_0000 + i * 0x100)
                                .insert(later, i, "a", Big.inline("b"), 1)
                                .committed(0x200_0080 + i * 0x100, 1));
            }
            h.pipeline.flush();
            assertThat(h.events).containsExactly("unknown unknown.later");
            assertThat(h.pipeline.metrics().droppedRecords()).isEqualTo(2);
        }
    }

    @Test
    void truncateEmptiesWhatWasThereAndKeepsWhatFollows() throws Exception {
        ItemsTable items = new ItemsTable("truncated", "items", 16500, 16503);
        ItemsTable other = new ItemsTable("truncated", "other", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("truncated", items, other).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .insert(items, 2, "a", Big.inline("b"), 1)
                            .insert(other, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.commit(
                    at(0x200_0200)
                            .insert(items, 3, "a", Big.inline("b"), 1)
                            .truncate(items)
                            .insert(items, 2, "again", Big.inline("b"), 2)
                            .insert(items, 4, "new", Big.inline("b"), 2)
                            .committed(0x200_0300, 2));
            h.pipeline.commit(
                    at(0x200_0400)
                            .insert(items, 5, "later", Big.inline("b"), 3)
                            .committed(0x200_0500, 3));
            h.pipeline.flush();
            assertThat(h.rows(items))
                    .isEqualTo(Map.of(2L, "again|b|2", 4L, "new|b|2", 5L, "later|b|3"));
            assertThat(h.rows(other)).hasSize(1);
            assertThat(h.pipeline.metrics().sweeps()).isEqualTo(1);
            assertThat(h.pipeline.watermark().durableLsn()).isEqualTo(0x200_0500);
        }
    }

    @Test
    void anOutageIsWaitedOut() throws Exception {
        ItemsTable items = new ItemsTable("outage", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("outage", items).started()) {
            ENGINE.server().refuseInserts(2, 252);
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            assertThat(h.pipeline.metrics().retries()).isGreaterThanOrEqualTo(2);
            ENGINE.server().dropInsertsAfterCommit(1);
            h.pipeline.commit(
                    at(0x200_0200)
                            .insert(items, 2, "a", Big.inline("b"), 1)
                            .committed(0x200_0300, 1));
            h.pipeline.flush();
            ENGINE.server().dropInsertsBeforeCommit(1);
            h.pipeline.commit(
                    at(0x200_0400)
                            .insert(items, 3, "a", Big.inline("b"), 1)
                            .committed(0x200_0500, 1));
            h.pipeline.flush();
            ENGINE.server().kill();
            h.pipeline.commit(
                    at(0x200_0600)
                            .insert(items, 4, "a", Big.inline("b"), 1)
                            .committed(0x200_0700, 1));
            assertThat(h.pipeline.awaitDurable(0x200_0700, Duration.ofMillis(500))).isFalse();
            ENGINE.server().start();
            h.pipeline.flush();
            assertThat(h.rows(items)).hasSize(4);
            assertThat(h.events).contains("reachable false", "reachable true");
            // nothing was inserted twice: the token made the repetition a no-op
            assertThat(h.client.queryValue("SELECT count() FROM outage.items")).isEqualTo("4");
        }
    }

    @Test
    void theWatermarkIsWrittenAgainWhileItStays() throws Exception {
        ItemsTable items = new ItemsTable("beat", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("beat", items).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1_000_000));
            String revision = awaitWatermark(h, "0/2000100", "", "2000-01-01 00:00:01.000000");
            revision = awaitWatermark(h, "0/2000100", revision, "2000-01-01 00:00:01.000000");
            assertThat(h.pipeline.writtenWatermark()).isEqualTo(0x200_0100);
            h.restart();
            h.pipeline.advance(0x200_0200);
            awaitWatermark(h, "0/2000200", revision, "2000-01-01 00:00:01.000000");
        }
    }

    /** Returns the new revision. */
    private static String awaitWatermark(
            PipelineHarness h, String durable, String after, String commit) {
        while (true) {
            @Nullable String @Nullable [] row = h.watermarkRow();
            if (row != null && durable.equals(row[0]) && !after.equals(row[1])) {
                assertThat(row[2]).isEqualTo(commit);
                return String.valueOf(row[1]);
            }
        }
    }

    @Test
    void behindAShutGateNothingIsAskedOfClickHouseAndNothingIsLost() throws Exception {
        ItemsTable items = new ItemsTable("gated", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("gated", items).started()) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .insert(items, 1, "a", Big.inline("b"), 1)
                            .committed(0x200_0100, 1));
            h.pipeline.flush();
            h.gate.shut();
            assertThat(h.gate.awaitEmpty(Duration.ofSeconds(60).toNanos())).isZero();
            h.pipeline.commit(
                    at(0x200_0200)
                            .insert(items, 2, "c", Big.inline("d"), 2)
                            .committed(0x200_0300, 2));
            h.pipeline.advance(0x200_0400);
            while (!h.gate.hasWaiters()) {
                Thread.onSpinWait(); // until the batch is on its way
            }
            h.pipeline.settleLedger();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|b|1"));
            assertThat(h.restart()).isEqualTo(0x200_0100);
            h.pipeline.commit(
                    at(0x200_0200)
                            .insert(items, 2, "c", Big.inline("d"), 2)
                            .committed(0x200_0300, 2));
            assertThat(h.gate.isShut()).isTrue();
            h.gate.open();
            h.pipeline.flush();
            assertThat(h.rows(items)).isEqualTo(Map.of(1L, "a|b|1", 2L, "c|d|2"));
        }
    }

    @Test
    void anOutageBlocksTheSourceAndNothingGrows() throws Exception {
        ItemsTable items = new ItemsTable("blocked", "items", 16500, 16503);
        ItemsTable other = new ItemsTable("blocked", "other", 16600, 16603);
        try (PipelineHarness h = ENGINE.harness("blocked", items, other)) {
            h.tune = options -> options.withMemoryBytes(1_000_000).withQueueBytes(200_000);
            h.started();
            ENGINE.server().kill();
            int transactions = 4_000;
            AtomicInteger sent = new AtomicInteger();
            Thread feeder =
                    Thread.ofVirtual()
                            .start(() -> {
                                try {
                                    while (sent.get() < transactions) {
                                        h.pipeline.commit(hundredRows(sent, items, other));
                                        sent.incrementAndGet();
                                    }
                                } catch (InterruptedException e) {
                                    Thread.currentThread().interrupt();
                                }
                            });
            int before;
            do {
                before = sent.get();
                assertThat(h.pipeline.awaitDurable(Long.MAX_VALUE, Duration.ofSeconds(1)))
                        .isFalse();
            } while (sent.get() > before);
            assertThat(before).isLessThan(transactions);
            assertThat(h.pipeline.metrics().heldBytes()).isLessThanOrEqualTo(1_000_000);
            assertThat(h.pipeline.metrics().queuedBytes()).isLessThanOrEqualTo(200_000);
            ENGINE.server().start();
            feeder.join();
            h.pipeline.flush();
            assertThat(h.rows(items)).hasSize(transactions * 50);
            assertThat(h.rows(other)).hasSize(transactions * 50);
            assertThat(h.events).containsOnlyOnce("reachable false", "reachable true");
        }
    }

    private static TestTransaction hundredRows(
            AtomicInteger number, ItemsTable items, ItemsTable other) {
        long n = number.get();
        TestTransaction tx = at(0x200_0000 + n * 0x1000);
        for (int i = 0; i < 50; i++) {
            tx.insert(items, n * 50 + i, "name", Big.inline("a value of some length"), i);
            tx.insert(other, n * 50 + i, "name", Big.inline("a value of some length"), i);
        }
        return tx.committed(0x200_0800 + n * 0x1000, 1);
    }

    @Test
    void manyTablesShareTheWorkers() throws Exception {
        ItemsTable[] tables = new ItemsTable[60];
        for (int i = 0; i < tables.length; i++) {
            tables[i] = new ItemsTable("many", "t" + i, 17000 + i * 10, 17001 + i * 10);
        }
        try (PipelineHarness h = ENGINE.harness("many", tables).started()) {
            for (int round = 0; round < 20; round++) {
                TestTransaction tx = at(0x200_0000 + round * 0x1000L);
                for (ItemsTable table : tables) {
                    tx.insert(table, round, "a", Big.inline("b"), round);
                }
                h.pipeline.commit(tx.committed(0x200_0800 + round * 0x1000L, 1));
            }
            h.pipeline.flush();
            for (ItemsTable table : tables) {
                assertThat(h.status(table).rows()).isEqualTo(20);
            }
            assertThat(h.rows(tables[17])).hasSize(20);
        }
    }

    @Test
    void aSourceThatNoLongerLogsRowsStopsThePipeline() throws Exception {
        ItemsTable items = new ItemsTable("lowered", "items", 16500, 16503);
        try (PipelineHarness h = ENGINE.harness("lowered", items).started()) {
            h.pipeline.commit(at(0x200_0000).insertWithoutTuple(items).committed(0x200_0100, 1));
            assertThatThrownBy(h.pipeline::flush)
                    .isInstanceOf(HaltException.class)
                    .hasMessageContaining("WS-1702");
            assertThat(h.pipeline.failure()).isNotNull();
        }
    }
}
