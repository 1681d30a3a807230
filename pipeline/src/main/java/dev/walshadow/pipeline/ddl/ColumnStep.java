package dev.walshadow.pipeline.ddl;

import dev.walshadow.pipeline.mapping.ColumnMapping;
import org.jspecify.annotations.Nullable;

/** One command of an ALTER TABLE, by names in ClickHouse. */
public sealed interface ColumnStep {

    record Drop(String name) implements ColumnStep {}

    record Rename(String from, String to) implements ColumnStep {}

    /** Gives the column its new type, and its default anew where it has one. */
    record Modify(ColumnMapping column) implements ColumnStep {}

    /**
     * @param after the column in front of it, null for the first place
     */
    record Add(ColumnMapping column, @Nullable String after) implements ColumnStep {}
}
