package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.pipeline.mapping.RowFilter.Condition;
import dev.walshadow.pipeline.mapping.RowFilter.Operator;
import dev.walshadow.postgres.value.TypeOid;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Whether a {@link RowFilter} over attribute numbers is exact on a table of some shape. */
public final class RowFilterCheck {
    private RowFilterCheck() {}

    /**
     * Throws an IllegalArgumentException that says why the condition cannot be evaluated as
     * PostgreSQL does.
     */
    static void evaluable(RelationDescriptor shape, RowFilter filter) {
        evaluable(shape, filter.condition());
    }

    private static void evaluable(RelationDescriptor shape, Condition condition) {
        switch (condition) {
            case RowFilter.All(List<Condition> parts) ->
                    parts.forEach(part -> evaluable(shape, part));
            case RowFilter.Any(List<Condition> parts) ->
                    parts.forEach(part -> evaluable(shape, part));
            case RowFilter.Not(Condition part) -> evaluable(shape, part);
            case RowFilter.IsNull(String column) -> attribute(shape, column);
            case RowFilter.Comparison(String column, Operator operator, var literal) ->
                    FilterValue.of(type(shape, attribute(shape, column)), operator, literal, null);
            case RowFilter.In(String column, var literals) ->
                    literals.forEach(literal ->
                            FilterValue.of(
                                    type(shape, attribute(shape, column)),
                                    Operator.EQUAL,
                                    literal,
                                    null));
            case RowFilter.Truth(String column) -> requireBool(shape, column);
        }
    }

    /**
     * Why rows that an UPDATE moves into the filter would not arrive whole; null if they do. What
     * the UPDATE leaves unchanged of the values that are stored out of line is in the WAL with the
     * old row only, and ClickHouse never had the row. A materialized view's rows are not updated.
     *
     * @param columns the mapping's
     * @param key attnums: an old key is always logged
     */
    static @Nullable String unlogged(
            RelationDescriptor shape, List<ColumnMapping> columns, List<Integer> key) {
        if (shape.toastRelationOid() == 0
                || shape.replicaIdentity() == 'f'
                || shape.kind() == 'm') {
            return null;
        }
        List<String> names = new ArrayList<>();
        for (ColumnMapping column : columns) {
            AttributeDescriptor attribute = shape.attributes().get(column.attributeNumber() - 1);
            boolean fixed = column.transform() != null && column.transform().isFixed();
            if (attribute.length() == -1 && !fixed && !key.contains(attribute.number())) {
                names.add(attribute.name());
            }
        }
        return names.isEmpty()
                ? null
                : "an UPDATE that moves a row into it does not log what it leaves unchanged of "
                        + String.join(", ", names)
                        + " where that is stored out of line (TOAST). ALTER TABLE "
                        + shape.label()
                        + " REPLICA IDENTITY FULL on the source makes PostgreSQL log it; or set"
                        + " [toast] mode = \"clickhouse\", exclude the columns, or leave the filter"
                        + " out";
    }

    /** The column's attribute. */
    public static AttributeDescriptor attribute(RelationDescriptor shape, String column) {
        int number = RowFilter.number(column);
        if (number > shape.attributes().size() || shape.attributes().get(number - 1).dropped()) {
            throw new IllegalArgumentException("the column number " + number + " is gone");
        }
        return shape.attributes().get(number - 1);
    }

    /** The type of a column that is compared with literals. */
    public static TypeDescriptor type(RelationDescriptor shape, AttributeDescriptor attribute) {
        ResolvedType resolved = ResolvedType.of(shape, attribute);
        if (resolved == null || resolved.dimensions() > 0) {
            throw new IllegalArgumentException(
                    "the column " + attribute.name() + " cannot be compared; IS NULL can be asked");
        }
        return resolved.descriptor();
    }

    /** The attribute of a column that is a condition alone. */
    public static AttributeDescriptor requireBool(RelationDescriptor shape, String column) {
        AttributeDescriptor attribute = attribute(shape, column);
        if (type(shape, attribute).oid() != TypeOid.BOOL) {
            throw new IllegalArgumentException(
                    "the column " + attribute.name() + " is no bool, so it is no condition alone");
        }
        return attribute;
    }
}
