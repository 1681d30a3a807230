package dev.walshadow.pipeline;

import static dev.walshadow.pipeline.TestTransaction.at;
import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.pipeline.mapping.TablePattern;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where every version stays, each one arrives, with its own values, and what has arrived stays. */
final class AppendedVersionsTest {
    private static final Big KEPT = Big.external(9001, 5);

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    private static PipelineHarness harness(String name, ItemsTable items) throws Exception {
        PipelineHarness h = ENGINE.harness(name, items);
        h.tune = options -> options.withRecentValueBytes(0);
        h.append = List.of(TablePattern.of(name + ".*"));
        h.tables = h.open();
        return h.started();
    }

    private static String versions(String name) {
        return ENGINE.query(
                        "SELECT id, n, big, _is_deleted FROM %s.items FINAL ORDER BY _version"
                                .formatted(name))
                .replace('\t', ' ')
                .strip();
    }

    private static TestTransaction change(ItemsTable items, int n) {
        long start = 0x200_0000L + n * 0x1000L;
        return at(start).update(items, null, 1, "r", KEPT, n).committed(start + 0x800, n);
    }

    /**
     * An earlier run has sent the versions 1, 3 and 4, but not 2. Of 4 the stream brings only what
     * came behind its value, or nothing: nobody but ClickHouse has it.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void versionsThatAnEarlierRunHasSentStayAndThoseBetweenAreCompleted(boolean fourAgain)
            throws Exception {
        String name = fourAgain ? "again" : "once";
        ItemsTable items = new ItemsTable(name, "items", 16500, 16503);
        try (PipelineHarness h = harness(name, items)) {
            h.pipeline.commit(
                    at(0x200_0000)
                            .toast(9001, "value")
                            .insert(items, 1, "r", KEPT, 0)
                            .committed(0x200_0800, 1));
            h.pipeline.flush();
            for (int n = 1; n <= 4; n++) {
                h.pipeline.commit(change(items, n));
                h.pipeline.flush();
            }
            ENGINE.query(
                    "ALTER TABLE %s.items DELETE WHERE n = 2 SETTINGS mutations_sync = 1"
                            .formatted(name));
            ENGINE.query(
                    "ALTER TABLE %s.items UPDATE big = 'own' WHERE n = 4 SETTINGS mutations_sync = 1"
                            .formatted(name));
            h.pipeline.close();
            h.resume(0x200_0800);
            h.start(0x200_0800);
            ENGINE.server().delayInserts(Duration.ofMillis(300));
            try {
                for (int n = 1; n <= 6; n++) {
                    if (n != 4 || fourAgain) {
                        h.pipeline.commit(change(items, n));
                    }
                }
                h.pipeline.flush();
            } finally {
                ENGINE.server().delayInserts(Duration.ZERO);
            }
            assertThat(versions(name))
                    .isEqualTo(
                            """
                            1 0 value 0
                            1 1 value 0
                            1 2 value 0
                            1 3 value 0
                            1 4 own 0
                            1 5 own 0
                            1 6 own 0\
                            """);
            assertThat(h.events).isEmpty();
        }
    }

    @Test
    void aTruncateGivesEachKeyThatIsThereOneTombstone() throws Exception {
        ItemsTable items = new ItemsTable("emptied", "items", 16500, 16503);
        try (PipelineHarness h = harness("emptied", items)) {
            for (int round = 0; round < 2; round++) {
                h.pipeline.commit(
                        at(0x200_0000)
                                .insert(items, 1, "r", Big.inline("x"), 1)
                                .insert(items, 2, "r", Big.inline("x"), 1)
                                .update(items, null, 1, "r", Big.inline("y"), 2)
                                .delete(items, 2)
                                .committed(0x200_0800, 1));
                h.pipeline.commit(at(0x200_1000).truncate(items).committed(0x200_1800, 2));
                h.pipeline.commit(at(0x200_2000).truncate(items).committed(0x200_2800, 3));
                h.pipeline.flush();
                assertThat(versions("emptied"))
                        .isEqualTo("1 1 x 0\n2 1 x 0\n1 2 y 0\n2 \\N \\N 1\n1 \\N \\N 1");
                h.pipeline.close();
                h.resume(PipelineHarness.B);
                h.start(PipelineHarness.B);
            }
        }
    }

    /** What cannot be completed is not left out: the history would have a gap that nobody sees. */
    @Test
    void aVersionThatNobodyHasTheValueOfSetsTheTableAside() throws Exception {
        ItemsTable items = new ItemsTable("nowhere", "items", 16500, 16503);
        try (PipelineHarness h = harness("nowhere", items)) {
            h.pipeline.commit(change(items, 1));
            h.pipeline.flush();
            assertThat(h.status(items).state()).isEqualTo(TableState.QUARANTINED);
        }
    }
}
