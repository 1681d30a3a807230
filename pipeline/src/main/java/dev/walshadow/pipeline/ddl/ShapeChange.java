package dev.walshadow.pipeline.ddl;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.List;

/**
 * What a changed source shape asks of its ClickHouse table. Columns are matched by attnum; one that
 * did not change keeps its pinned type, conversion and name.
 */
public sealed interface ShapeChange {

    /**
     * The columns and types in ClickHouse stay; the mapping may differ in source names and OIDs.
     */
    record Unchanged(TableMapping mapping) implements ShapeChange {}

    /**
     * ALTER TABLE does it.
     *
     * @param steps in the order in which they apply
     */
    record InPlace(TableMapping mapping, List<ColumnStep> steps) implements ShapeChange {
        public InPlace {
            steps = List.copyOf(steps);
        }
    }

    /** The rows that ClickHouse has suffice, but they must be copied into a new table. */
    record Beside(TableMapping mapping, String reason) implements ShapeChange {}

    /**
     * The visible rows that ClickHouse has suffice, but they must be copied into a new table in the
     * order of another key. Their tombstones carry only the old one.
     */
    record Rekeyed(TableMapping mapping, String reason) implements ShapeChange {}

    /** Only the source has the content. */
    record Load(TableMapping mapping, String reason) implements ShapeChange {}

    /** The new shape cannot be mapped. */
    record HeldBack(List<String> reasons) implements ShapeChange {
        public HeldBack {
            reasons = List.copyOf(reasons);
        }

        /** There is none. */
        @Override
        public TableMapping mapping() {
            throw new IllegalStateException("held back, so not mapped: " + reasons);
        }
    }

    /**
     * The new mapping; of {@link HeldBack} there is none. Its database and table are the ones that
     * the rules name now, also where the source table was renamed.
     */
    TableMapping mapping();

    /**
     * Decides.
     *
     * @param pinned how the table is mapped up to the change
     * @param before the shape up to the change, for which {@code pinned} was made or last confirmed
     * @param after the shape from the change on. If its storage differs ({@code locator}) and
     *     nothing else does, the answer is {@link Unchanged}: what became of the rows is not to be
     *     seen in a shape
     * @param rekeyable no update or delete of the changing commit was logged with either key
     */
    static ShapeChange decide(
            TableMapping pinned,
            RelationDescriptor before,
            RelationDescriptor after,
            MappingRules rules,
            boolean rekeyable) {
        MappingRules carried = rules.carried(pinned, before, after);
        return switch (TableMapping.derive(after, carried, pinned)) {
            case Derivation.HeldBack held -> new HeldBack(held.reasons());
            case Derivation.Mapped mapped ->
                    new ShapeDecision(
                                    new ShapeDecision.Inputs(
                                            pinned, before, after, mapped.mapping(), rekeyable),
                                    TableMapping.derive(
                                            before, rules.carried(pinned, before, before), pinned))
                            .decide();
        };
    }
}
