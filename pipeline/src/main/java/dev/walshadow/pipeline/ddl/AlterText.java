package dev.walshadow.pipeline.ddl;

import dev.walshadow.base.Invariant;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.encode.MissingLiteral;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.List;

/** The text of alterations. */
final class AlterText {
    private AlterText() {}

    /** All steps and {@link #mark} in one statement, which ClickHouse applies as one. */
    static String of(String table, List<ColumnStep> steps, RelationDescriptor after, String mark) {
        List<String> commands = new ArrayList<>();
        steps.forEach(step -> commands.add(command(step, after)));
        commands.add(mark);
        return "ALTER TABLE " + table + " " + String.join(", ", commands);
    }

    /** The command that leaves a {@link ShapeMarker} behind. */
    static String mark(TableMapping to, String marker) {
        return "COMMENT COLUMN " + Ddl.identifier(to.meta().version()) + " " + Ddl.literal(marker);
    }

    private static String command(ColumnStep step, RelationDescriptor after) {
        return switch (step) {
            case ColumnStep.Drop(String name) -> "DROP COLUMN " + Ddl.identifier(name);
            case ColumnStep.Rename(String from, String to) ->
                    "RENAME COLUMN " + Ddl.identifier(from) + " TO " + Ddl.identifier(to);
            case ColumnStep.Modify(ColumnMapping column) ->
                    "MODIFY COLUMN " + definition(column, after);
            case ColumnStep.Add(ColumnMapping column, String previous) ->
                    "ADD COLUMN "
                            + definition(column, after)
                            + (previous == null ? " FIRST" : " AFTER " + Ddl.identifier(previous));
        };
    }

    private static String definition(ColumnMapping column, RelationDescriptor after) {
        String value = MissingLiteral.of(column, attribute(column, after));
        return Ddl.identifier(column.name())
                + " "
                + column.type().print()
                + (value == null ? "" : " DEFAULT " + value);
    }

    /** The value of an added column in rows that are copied. */
    static String missing(ColumnMapping column, RelationDescriptor after) {
        String value = MissingLiteral.of(column, attribute(column, after));
        String type = Ddl.literal(column.type().print());
        return value == null
                ? "defaultValueOfTypeName(" + type + ")"
                : "CAST(" + value + ", " + type + ")";
    }

    /** The value of a column that both shapes have. */
    static String copied(ColumnMapping from, ColumnMapping to) {
        String expression = ColumnCopy.expression(from, to);
        Invariant.check(expression != null, "what is copied beside can be copied exactly");
        return expression == null ? "" : expression;
    }

    private static AttributeDescriptor attribute(ColumnMapping column, RelationDescriptor after) {
        return after.attributes().get(column.attributeNumber() - 1);
    }
}
