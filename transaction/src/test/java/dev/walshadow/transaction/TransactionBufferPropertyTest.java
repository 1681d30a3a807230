package dev.walshadow.transaction;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random sessions against a plain model, over budgets from tiny to ample. A failure prints its
 * seed; {@code -Dwalshadow.seed=N} runs that one alone, {@code -Dwalshadow.soak=true} many more.
 */
final class TransactionBufferPropertyTest {
    private static final long[] BUDGETS = {16 << 10, 40 << 10, 256 << 10, 8 << 20};

    @TempDir Path directory;

    @Test
    void spillingChangesNothing() throws InterruptedException {
        Long seed = Long.getLong("walshadow.seed");
        if (seed != null) {
            run(seed);
            return;
        }
        int rounds = Boolean.getBoolean("walshadow.soak") ? 2000 : 60;
        for (int i = 0; i < rounds; i++) {
            run(new Random().nextLong());
        }
    }

    private void run(long seed) throws InterruptedException {
        Random random = new Random(seed);
        long budget = BUDGETS[random.nextInt(BUDGETS.length)];
        boolean hints = random.nextInt(4) != 0;
        int maxLinks = random.nextInt(3) == 0 ? 3 : TransactionBuffer.MAX_LINKS;
        int sessions = 1 + random.nextInt(12);
        String what =
                "seed " + seed + ", budget " + budget + ", hints " + hints + ", links " + maxLinks;
        try {
            new Run(seed, budget, hints, maxLinks, sessions, random).go();
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(what, e);
        }
        assertThat(directory).as(what).isEmptyDirectory();
    }

    private final class Run {
        private final TransactionBuffer buffer;
        private final SimulatedSource source;
        private final Random random;
        private final long budget;
        private final boolean hints;
        private final int maxLinks;
        private final List<CommittedChanges> held = new ArrayList<>();
        private int checked;
        private int received;
        private final Map<CommittedChanges, Integer> numbers = new HashMap<>();

        Run(long seed, long budget, boolean hints, int maxLinks, int sessions, Random random) {
            TransactionBuffer.Options base = TransactionBufferTest.options(directory, budget);
            this.budget = budget;
            this.hints = hints;
            this.maxLinks = maxLinks;
            this.random = random;
            buffer =
                    new TransactionBuffer(
                            new TransactionBuffer.Options(
                                    budget,
                                    directory,
                                    77,
                                    17,
                                    base.filter(),
                                    (locator, lsn) ->
                                            locator.equals(SimulatedSource.TOAST)
                                                    ? SimulatedSource.TOAST_OID
                                                    : 0,
                                    Duration.ZERO),
                            this::commit,
                            SpillDirectory::openFile,
                            maxLinks);
            source = new SimulatedSource(seed, hints, sessions, buffer::onRecord);
        }

        private void commit(CommittedChanges changes) {
            if (!changes.records().next(new RawRecord())) {
                // everything was rolled back after it had been spilled, or its owner forgotten
                assertThat(
                                maxLinks < TransactionBuffer.MAX_LINKS
                                        || buffer.counters().spilledTransactions() > 0)
                        .isTrue();
                changes.close();
                return;
            }
            numbers.put(changes, received++);
            held.add(changes);
        }

        void go() throws InterruptedException {
            int steps = 300 + random.nextInt(1200);
            for (int i = 0; i < steps; i++) {
                source.step();
                assertThat(buffer.resumeFloor(source.nextLsn()))
                        .isLessThanOrEqualTo(source.floor());
                assertThat(buffer.counters().memoryBytes()).isLessThanOrEqualTo(budget);
                // the consumer is late, and takes them in any order
                while (held.size() > random.nextInt(8)) {
                    check(held.remove(random.nextInt(held.size())));
                }
            }
            while (!held.isEmpty()) {
                check(held.remove(0));
            }
            assertThat(checked).isEqualTo(source.commits().size());
            buffer.close();
            assertThat(buffer.counters().memoryBytes()).isZero();
            assertThat(buffer.counters().live()).isZero();
        }

        private void check(CommittedChanges changes) {
            SimulatedSource.Expected expected =
                    source.commits().get(Objects.requireNonNull(numbers.remove(changes)));
            Collected found = Collected.of(changes);
            assertThat(found.xid()).isEqualTo(expected.xid());
            if (hints) {
                assertThat(found.firstLsn()).isEqualTo(expected.firstLsn());
            } else {
                assertThat(found.firstLsn()).isLessThanOrEqualTo(expected.firstLsn());
            }
            assertThat(found.lsns()).containsExactlyElementsOf(expected.records().keySet());
            for (Collected.Entry entry : found.records()) {
                assertThat(entry.dataHash()).isEqualTo(expected.records().get(entry.lsn()));
            }
            assertThat(changes.recordCount()).isGreaterThanOrEqualTo(found.records().size());
            List<Integer> values = new ArrayList<>(expected.toast().keySet());
            for (int i = 0; i < Math.min(20, values.size()); i++) {
                int value = values.get(random.nextInt(values.size()));
                assertThat(Collected.toast(changes, SimulatedSource.TOAST_OID, value))
                        .isEqualTo(expected.toast().get(value));
            }
            assertThat(Collected.toast(changes, SimulatedSource.TOAST_OID, 12345)).isNull();
            changes.close();
            checked++;
        }
    }
}
