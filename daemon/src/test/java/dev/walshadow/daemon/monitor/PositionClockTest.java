package dev.walshadow.daemon.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class PositionClockTest {
    private static final long SECOND = 1_000_000_000;

    private final PositionClock clock = new PositionClock(8);

    @Test
    void aStageThatHasReachedTheSourceIsNotBehind() {
        clock.reached(100, SECOND);
        assertThat(clock.nanosBehind(100, 9 * SECOND)).isZero();
        assertThat(clock.nanosBehind(120, 9 * SECOND)).isZero();
    }

    @Test
    void aStageIsBehindSinceTheSourceWentBeyondItsPosition() {
        clock.reached(100, SECOND);
        clock.reached(200, 2 * SECOND);
        clock.reached(300, 3 * SECOND);
        assertThat(clock.nanosBehind(150, 9 * SECOND)).isEqualTo(7 * SECOND);
        assertThat(clock.nanosBehind(200, 9 * SECOND)).isEqualTo(6 * SECOND);
        assertThat(clock.nanosBehind(50, 9 * SECOND)).isEqualTo(8 * SECOND);
    }

    @Test
    void anIdleSourceAddsNothing() {
        clock.reached(100, SECOND);
        clock.reached(100, 5 * SECOND);
        clock.reached(90, 6 * SECOND);
        assertThat(clock.newest()).isEqualTo(100);
        assertThat(clock.nanosBehind(99, 7 * SECOND)).isEqualTo(6 * SECOND);
    }

    @Test
    void aLongOutageIsRememberedWithFewerSamples() {
        for (int i = 1; i <= 1000; i++) {
            clock.reached(i, i * SECOND);
        }
        assertThat(clock.newest()).isEqualTo(1000);
        // half the span is forgotten at most with each thinning; what is kept is exact
        assertThat(clock.nanosBehind(999, 1000 * SECOND)).isZero();
        long old = clock.nanosBehind(1, 1000 * SECOND) / SECOND;
        assertThat(old).isBetween(1L, 999L);
        assertThat(clock.nanosBehind(500, 1000 * SECOND) / SECOND).isLessThanOrEqualTo(500);
    }
}
