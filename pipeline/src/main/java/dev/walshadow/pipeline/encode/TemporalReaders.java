package dev.walshadow.pipeline.encode;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import dev.walshadow.postgres.value.Temporal;
import java.time.LocalDate;

/** Dates and timestamps, clamped to what ClickHouse holds (1900-01-01 to 2299-12-31). */
final class TemporalReaders {
    static final int FIRST_DAY = (int) LocalDate.of(1900, 1, 1).toEpochDay();
    static final int LAST_DAY = (int) LocalDate.of(2299, 12, 31).toEpochDay();

    private static final long MICROS_PER_DAY = 86_400_000_000L;
    static final long FIRST_MICROS = FIRST_DAY * MICROS_PER_DAY;
    static final long LAST_MICROS = (LAST_DAY + 1) * MICROS_PER_DAY - 1;

    private TemporalReaders() {}

    static final class Date32 extends ValueReader {
        private final PolicyCounts counts;

        Date32(PolicyCounts counts) {
            this.counts = counts;
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            int stored = LittleEndian.getInt(bytes, offset);
            ((FixedColumn) out).appendInt(clamped(stored));
            return true;
        }

        private int clamped(int stored) {
            if (!Temporal.isInfiniteDate(stored)) {
                int days = Temporal.daysSince1970(stored);
                if (days >= FIRST_DAY && days <= LAST_DAY) {
                    return days;
                }
            }
            counts.add(Policy.CLAMPED);
            return stored < 0 ? FIRST_DAY : LAST_DAY;
        }
    }

    static final class DateTime64 extends ValueReader {
        private final PolicyCounts counts;
        private final long microsPerTick;

        DateTime64(int precision, PolicyCounts counts) {
            Invariant.check(precision >= 0 && precision <= 6, "timestamps have 0 to 6 digits");
            this.counts = counts;
            long unit = 1;
            for (int i = precision; i < 6; i++) {
                unit *= 10;
            }
            this.microsPerTick = unit;
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            long micros = clamped(LittleEndian.getLong(bytes, offset));
            ((FixedColumn) out)
                    .appendLong(microsPerTick == 1 ? micros : Math.floorDiv(micros, microsPerTick));
            return true;
        }

        private long clamped(long stored) {
            if (!Temporal.isInfiniteTimestamp(stored)) {
                long micros = Temporal.microsSince1970(stored);
                if (micros >= FIRST_MICROS && micros <= LAST_MICROS) {
                    return micros;
                }
            }
            counts.add(Policy.CLAMPED);
            return stored < 0 ? FIRST_MICROS : LAST_MICROS;
        }
    }
}
