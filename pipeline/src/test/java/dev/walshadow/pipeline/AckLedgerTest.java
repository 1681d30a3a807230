package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.pipeline.AckLedger.Hold;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is durable, and from where the WAL is needed again. */
final class AckLedgerTest {
    @Test
    void theWatermarkStopsBeforeTheLowestUnacknowledgedBatch() {
        AckLedger ledger = new AckLedger(1, 16, 50);
        for (int i = 1; i <= 3; i++) {
            assertThat(ledger.assign(100L * i, i, 100L * i - 50)).isEqualTo(i);
        }
        Hold first = new Hold();
        Hold second = new Hold();
        for (int i = 1; i <= 3; i++) {
            ledger.enqueued(0, i);
            ledger.planned(i);
        }
        assertThat(ledger.watermark()).isEqualTo(new Watermark(50, 0, 50));
        ledger.started(0, 1);
        ledger.hold(first, 1);
        ledger.finished(0, 1);
        ledger.started(0, 2);
        ledger.hold(second, 2);
        ledger.finished(0, 2);
        assertThat(ledger.release(second)).isFalse();
        assertThat(ledger.watermark()).isEqualTo(new Watermark(50, 0, 50));
        assertThat(ledger.release(first)).isTrue();
        assertThat(ledger.watermark().durableLsn()).isEqualTo(100);
        assertThat(ledger.started(0, 3)).isTrue();
        assertThat(ledger.watermark()).isEqualTo(new Watermark(200, 2, 250));
        assertThat(ledger.finished(0, 3)).isTrue();
        assertThat(ledger.watermark()).isEqualTo(new Watermark(300, 3, Long.MAX_VALUE));
    }

    @Test
    void idleProgressReachesThroughWhatIsDurableOnly() {
        AckLedger ledger = new AckLedger(1, 16, 0);
        assertThat(ledger.advance(40)).isTrue();
        assertThat(ledger.watermark().durableLsn()).isEqualTo(40);
        ledger.assign(100, 1, 90);
        assertThat(ledger.advance(170)).isFalse();
        assertThat(ledger.watermark().durableLsn()).isEqualTo(40);
        ledger.planned(1);
        assertThat(ledger.watermark()).isEqualTo(new Watermark(170, 1, Long.MAX_VALUE));
        assertThat(ledger.advance(160)).isFalse();
    }

    @Test
    void aFullRingGrowsCoarserAndStaysRight() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        AckLedger ledger = new AckLedger(1, 8, 0);
        List<Hold> holds = new ArrayList<>();
        List<Long> floors = new ArrayList<>();
        boolean[] released = new boolean[1001];
        for (int i = 1; i <= 1000; i++) {
            long floor = 10L * i - random.nextInt(200);
            floors.add(floor);
            ledger.assign(10L * i, i, floor);
            ledger.enqueued(0, i);
            ledger.planned(i);
            ledger.started(0, i);
            Hold hold = new Hold();
            ledger.hold(hold, i);
            holds.add(hold);
            ledger.finished(0, i);
            int some = random.nextInt(i);
            if (!released[some]) {
                released[some] = true;
                ledger.release(holds.get(some));
            }
            int done = 0;
            while (done < i && released[done]) {
                done++;
            }
            Watermark now = ledger.watermark();
            assertThat(now.durableLsn()).as("seed %d", seed).isLessThanOrEqualTo(10L * done);
            long needed =
                    floors.subList(done, i).stream().mapToLong(f -> f).min().orElse(Long.MAX_VALUE);
            assertThat(now.pendingFloor()).as("seed %d", seed).isLessThanOrEqualTo(needed);
        }
        for (int i = 0; i < 1000; i++) {
            if (!released[i]) {
                ledger.release(holds.get(i));
            }
        }
        assertThat(ledger.watermark()).isEqualTo(new Watermark(10_000, 1000, Long.MAX_VALUE));
    }

    @Test
    void whoWaitsIsToldOfAFailure() throws Exception {
        AckLedger ledger = new AckLedger(1, 16, 0);
        ledger.assign(100, 1, 90);
        Thread failing = Thread.ofVirtual().start(() -> ledger.fail(new IllegalStateException()));
        assertThat(ledger.awaitSequence(1)).isFalse();
        failing.join();
    }
}
