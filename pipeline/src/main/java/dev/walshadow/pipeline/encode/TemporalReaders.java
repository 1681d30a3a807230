package dev.walshadow.pipeline.encode;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.pipeline.mapping.OutOfRange;
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

    /** Counts a value that does not fit; false if it becomes NULL. */
    private static boolean clamps(OutOfRange policy, PolicyCounts counts) {
        return switch (policy) {
            case CLAMP -> {
                counts.add(Policy.CLAMPED);
                yield true;
            }
            case NULL -> {
                counts.add(Policy.OUT_OF_RANGE);
                yield false;
            }
            case ERROR ->
                    throw new QuarantineException(
                            MappingCodes.VALUE,
                            "a date or timestamp lies outside of what ClickHouse holds (1900-01-01"
                                    + " to 2299-12-31), and the column's out_of_range is error");
        };
    }

    static final class Date32 extends ValueReader {
        private final PolicyCounts counts;
        private final OutOfRange policy;

        Date32(PolicyCounts counts, OutOfRange policy) {
            this.counts = counts;
            this.policy = policy;
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            int stored = LittleEndian.getInt(bytes, offset);
            int days = Temporal.daysSince1970(stored);
            boolean fits =
                    !Temporal.isInfiniteDate(stored) && days >= FIRST_DAY && days <= LAST_DAY;
            if (!fits && !clamps(policy, counts)) {
                return false;
            }
            int bound = stored < 0 ? FIRST_DAY : LAST_DAY;
            ((FixedColumn) out).appendInt(fits ? days : bound);
            return true;
        }
    }

    static final class DateTime64 extends ValueReader {
        private final PolicyCounts counts;
        private final OutOfRange policy;
        private final long microsPerTick;

        DateTime64(int precision, PolicyCounts counts, OutOfRange policy) {
            Invariant.check(precision >= 0 && precision <= 6, "timestamps have 0 to 6 digits");
            this.counts = counts;
            this.policy = policy;
            long unit = 1;
            for (int i = precision; i < 6; i++) {
                unit *= 10;
            }
            this.microsPerTick = unit;
        }

        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            long stored = LittleEndian.getLong(bytes, offset);
            long micros = Temporal.microsSince1970(stored);
            boolean fits =
                    !Temporal.isInfiniteTimestamp(stored)
                            && micros >= FIRST_MICROS
                            && micros <= LAST_MICROS;
            if (!fits) {
                if (!clamps(policy, counts)) {
                    return false;
                }
                micros = stored < 0 ? FIRST_MICROS : LAST_MICROS;
            }
            ((FixedColumn) out)
                    .appendLong(microsPerTick == 1 ? micros : Math.floorDiv(micros, microsPerTick));
            return true;
        }
    }
}
