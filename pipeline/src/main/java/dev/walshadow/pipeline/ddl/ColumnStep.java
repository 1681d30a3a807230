package dev.walshadow.pipeline.ddl;

import dev.walshadow.pipeline.mapping.ColumnMapping;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One command of an ALTER TABLE, by names in ClickHouse. */
public sealed interface ColumnStep {

    /** What the columns are called that it is about, before and after. */
    default List<String> names() {
        return switch (this) {
            case Drop(String name) -> List.of(name);
            case Rename(String from, String to) -> List.of(from, to);
            case Modify(ColumnMapping column) -> List.of(column.name());
            case Add(ColumnMapping column, var _) -> List.of(column.name());
        };
    }

    record Drop(String name) implements ColumnStep {}

    record Rename(String from, String to) implements ColumnStep {}

    /** Gives the column its new type, and its default anew where it has one. */
    record Modify(ColumnMapping column) implements ColumnStep {}

    /**
     * @param after the column in front of it, null for the first place
     */
    record Add(ColumnMapping column, @Nullable String after) implements ColumnStep {}
}
