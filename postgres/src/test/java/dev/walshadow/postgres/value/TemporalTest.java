package dev.walshadow.postgres.value;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.Test;

final class TemporalTest {
    private static final LocalDate EPOCH = LocalDate.of(2000, 1, 1);

    private static int postgresDays(LocalDate date) {
        return (int) ChronoUnit.DAYS.between(EPOCH, date);
    }

    @Test
    void countsFrom1970() {
        assertThat(Temporal.EPOCH_DAYS).isEqualTo((int) EPOCH.toEpochDay());
        for (int year : new int[] {-4713, -1, 1, 1900, 1970, 2000, 2299, 5_874_897}) {
            LocalDate date = LocalDate.of(year, 12, 31);
            assertThat(Temporal.daysSince1970(postgresDays(date)))
                    .isEqualTo((int) date.toEpochDay());
        }
        assertThat(Temporal.microsSince1970(-Temporal.EPOCH_MICROS)).isZero();
    }

    @Test
    void saturatesWhatDoesNotFit() {
        // 294276-12-31 23:59:59.999999, the last timestamp
        assertThat(Temporal.microsSince1970(9_223_371_331_199_999_999L)).isEqualTo(Long.MAX_VALUE);
        // 4714-11-24 BC, the first one
        assertThat(Temporal.microsSince1970(-211_813_488_000_000_000L))
                .isEqualTo(-210_866_803_200_000_000L);
        assertThat(Temporal.daysSince1970(Integer.MAX_VALUE - 1)).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void knowsTheInfinities() {
        assertThat(Temporal.isInfiniteDate(Integer.MAX_VALUE)).isTrue();
        assertThat(Temporal.isInfiniteDate(Integer.MIN_VALUE)).isTrue();
        assertThat(Temporal.isInfiniteDate(0)).isFalse();
        assertThat(Temporal.isInfiniteTimestamp(Long.MAX_VALUE)).isTrue();
        assertThat(Temporal.isInfiniteTimestamp(Long.MIN_VALUE)).isTrue();
        assertThat(Temporal.isInfiniteTimestamp(0)).isFalse();
    }
}
