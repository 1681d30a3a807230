package dev.walshadow.pipeline.encode;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.postgres.value.TypeOid;

/**
 * How large values of a table may be, and what becomes of larger ones. What is larger is never held
 * in memory whole.
 *
 * @param bytes the largest value, and the largest sum of a row's values out of line
 */
public record ValueLimit(int bytes, Oversized oversized) {
    /** What becomes of a value beyond the limit. */
    public enum Oversized {
        /** The table is set aside. */
        QUARANTINE,
        /** It arrives as NULL. */
        NULL,
        /** Text and bytea arrive cut off, anything else as NULL. */
        TRUNCATE
    }

    /** UTF-8 needs at most so many bytes for a character. */
    private static final int CHARACTER_BYTES = 4;

    /** PostgreSQL's own limit: a varlena is below 1 GB. */
    public static final ValueLimit NONE = new ValueLimit(0x3FFF_FFFF, Oversized.QUARANTINE);

    /** Whether the beginning of a column's value is a value: plain text and bytea. */
    public static boolean canCut(ColumnMapping column) {
        boolean stored =
                column.conversion() == Conversion.CHARACTERS
                        || column.conversion() == Conversion.BYTES;
        return stored
                && column.dimensions() == 0
                && column.transform() == null
                && isPlain(column.typeOid());
    }

    /** Types whose length PostgreSQL tells without reading the value. */
    public static boolean isPlain(int typeOid) {
        return switch (typeOid) {
            case TypeOid.TEXT, TypeOid.VARCHAR, TypeOid.BPCHAR, TypeOid.BYTEA -> true;
            default -> false;
        };
    }

    /** How many characters a text that is cut off keeps. */
    public int characters() {
        return bytes / CHARACTER_BYTES;
    }

    /**
     * @param what is too large
     */
    public QuarantineException exceeded(String what, boolean isKey) {
        return new QuarantineException(
                MappingCodes.OVERSIZED,
                what
                        + " is beyond the limit of "
                        + bytes
                        + " bytes ([memory] value)"
                        + (isKey ? ", and a key is never changed" : "")
                        + "; raise it, or set oversized = \"null\" or \"truncate\" for the table,"
                        + " restart, then resync the table");
    }

    QuarantineException exceeded(ColumnPlan plan, long found) {
        return exceeded("a value of " + found + " bytes, or its row with it,", plan.isKey());
    }
}
