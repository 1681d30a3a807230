package dev.walshadow.daemon.verify;

import dev.walshadow.catalog.RelationName;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the comparison of one table found.
 *
 * @param differences the first rows that differ, at most {@link #SHOWN}
 */
public record TableResult(
        RelationName table,
        long sourceRows,
        long targetRows,
        long missing,
        long extra,
        long different,
        List<Difference> differences) {
    public static final int SHOWN = 10;

    public TableResult {
        differences = List.copyOf(differences);
    }

    public boolean equal() {
        return missing == 0 && extra == 0 && different == 0;
    }

    /**
     * One row that differs.
     *
     * @param key {@code column=value}, joined by commas; all columns where there is no key
     * @param column the first column that differs; empty for a whole row
     * @param source the source's value (a whole row: all of them); null when absent or NULL. Where
     *     there is no key: how many such rows it has
     */
    public record Difference(
            Kind kind,
            String key,
            String column,
            @Nullable String source,
            @Nullable String target) {}

    /** How a row differs. */
    public enum Kind {
        MISSING_IN_CLICKHOUSE,
        ONLY_IN_CLICKHOUSE,
        DIFFERENT,
        /** In a table without a key: the sides have the row, but not as often. */
        COUNT
    }
}
