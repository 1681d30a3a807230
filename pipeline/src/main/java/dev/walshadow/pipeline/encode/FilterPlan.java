package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.pipeline.mapping.FilterValue;
import dev.walshadow.pipeline.mapping.RowFilter;
import dev.walshadow.pipeline.mapping.RowFilter.Condition;
import dev.walshadow.pipeline.mapping.RowFilter.Operator;
import dev.walshadow.pipeline.mapping.RowFilterCheck;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.transaction.ToastValues;
import java.nio.charset.Charset;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides by stored values which rows pass a {@link RowFilter}, in SQL's three-valued logic. Not
 * thread safe.
 */
final class FilterPlan {
    private static final int FALSE = 0;
    private static final int TRUE = 1;
    private static final int NULL = -1;

    private final Node root;
    private final AttributeWalker oldWalker;
    private final ByteBuilder value = ByteBuilder.onDemand(256);

    // the row at hand
    private final ExternalValues external;
    private @Nullable TupleView tuple;
    private @Nullable AttributeWalker walker;
    private @Nullable TupleView oldKey;
    private ToastValues toast = (relation, id, out) -> false;
    private boolean unseen;
    private boolean undecided;

    /** A part of the condition: TRUE, FALSE or NULL for the row at hand. */
    private interface Node {
        int evaluate();
    }

    /**
     * @param filter over attribute numbers
     * @throws IllegalArgumentException says why it cannot be evaluated exactly
     */
    FilterPlan(
            RelationDescriptor shape,
            RowFilter filter,
            @Nullable Charset charset,
            ExternalValues external,
            AttributeWalker oldWalker) {
        this.external = external;
        this.oldWalker = oldWalker;
        this.root = compile(shape, filter.condition(), charset);
    }

    private Node compile(RelationDescriptor shape, Condition condition, @Nullable Charset charset) {
        return switch (condition) {
            case RowFilter.All(List<Condition> parts) -> all(nodes(shape, parts, charset), FALSE);
            case RowFilter.Any(List<Condition> parts) -> all(nodes(shape, parts, charset), TRUE);
            case RowFilter.Not(Condition part) -> {
                Node inner = compile(shape, part, charset);
                yield () -> {
                    int value = inner.evaluate();
                    return value == NULL ? NULL : 1 - value;
                };
            }
            case RowFilter.IsNull(String column) -> {
                AttributeDescriptor attribute = RowFilterCheck.attribute(shape, column);
                int index = attribute.number() - 1;
                boolean missingIsNull = attribute.missingValue() == null;
                yield () -> {
                    int at = offset(index);
                    boolean isNull =
                            at == AttributeWalker.NULL
                                    || (at == AttributeWalker.MISSING && missingIsNull);
                    return isNull ? TRUE : FALSE;
                };
            }
            case RowFilter.Comparison(String column, Operator operator, var literal) -> {
                AttributeDescriptor attribute = RowFilterCheck.attribute(shape, column);
                TypeDescriptor type = RowFilterCheck.type(shape, attribute);
                FilterValue wanted = FilterValue.of(type, operator, literal, charset);
                yield new Leaf(attribute, operator, new FilterValue[] {wanted});
            }
            case RowFilter.In(String column, var literals) -> {
                AttributeDescriptor attribute = RowFilterCheck.attribute(shape, column);
                TypeDescriptor type = RowFilterCheck.type(shape, attribute);
                FilterValue[] wanted =
                        literals.stream()
                                .map(each -> FilterValue.of(type, Operator.EQUAL, each, charset))
                                .toArray(FilterValue[]::new);
                yield new Leaf(attribute, Operator.EQUAL, wanted);
            }
            case RowFilter.Truth(String column) -> {
                AttributeDescriptor attribute = RowFilterCheck.requireBool(shape, column);
                FilterValue isTrue =
                        FilterValue.of(
                                RowFilterCheck.type(shape, attribute),
                                Operator.EQUAL,
                                new RowFilter.Literal(RowFilter.Literal.Kind.BOOLEAN, "true"),
                                charset);
                yield new Leaf(attribute, Operator.EQUAL, new FilterValue[] {isTrue});
            }
        };
    }

    private Node[] nodes(
            RelationDescriptor shape, List<Condition> parts, @Nullable Charset charset) {
        return parts.stream().map(part -> compile(shape, part, charset)).toArray(Node[]::new);
    }

    /**
     * AND and OR.
     *
     * @param decisive what one part settles the whole with
     */
    private static Node all(Node[] parts, int decisive) {
        return () -> {
            int result = 1 - decisive;
            for (Node part : parts) {
                int value = part.evaluate();
                if (value == decisive) {
                    return decisive;
                }
                result = value == NULL ? NULL : result;
            }
            return result;
        };
    }

    /** True where any of the values compares so. */
    private final class Leaf implements Node {
        private final int index;
        private final boolean varlena;
        private final Operator operator;
        private final FilterValue[] values;
        private final int missing;

        Leaf(AttributeDescriptor attribute, Operator operator, FilterValue[] values) {
            this.index = attribute.number() - 1;
            this.varlena = attribute.length() == -1;
            this.operator = operator;
            this.values = values;
            String text = attribute.missingValue();
            int known = text == null ? NULL : FALSE;
            for (FilterValue each : values) {
                if (text != null && operator.holds(each.order(text))) {
                    known = TRUE;
                }
            }
            this.missing = known;
        }

        @Override
        public int evaluate() {
            int at = offset(index);
            if (at == AttributeWalker.NULL) {
                return NULL;
            }
            if (at == AttributeWalker.MISSING) {
                return missing;
            }
            byte[] bytes = row().buffer();
            int length = walked().length(index);
            if (!varlena) {
                return compare(bytes, at, length);
            }
            if (Varlena.isPlain(bytes, at)) {
                return compare(
                        bytes,
                        Varlena.payloadOffset(bytes, at),
                        Varlena.payloadLength(bytes, at, length));
            }
            value.clear();
            if (!Varlena.isExternal(bytes, at)) {
                Detoaster.appendInline(bytes, at, length, value);
            } else if (!external.fromChunks(bytes, at, toast, value) && !fromOldKey()) {
                unseen = true;
                return NULL;
            }
            return compare(value.array(), 0, value.length());
        }

        private int compare(byte[] bytes, int offset, int length) {
            for (FilterValue each : values) {
                if (operator.holds(each.order(bytes, offset, length))) {
                    return TRUE;
                }
            }
            return FALSE;
        }

        private boolean fromOldKey() {
            TupleView old = oldKey;
            if (old == null) {
                return false;
            }
            oldWalker.walk(old);
            int at = oldWalker.offset(index);
            if (at < 0 || Varlena.isExternal(old.buffer(), at)) {
                return false;
            }
            Detoaster.appendInline(old.buffer(), at, oldWalker.length(index), value);
            return true;
        }
    }

    private int offset(int index) {
        return walked().offset(index);
    }

    private TupleView row() {
        return java.util.Objects.requireNonNull(tuple);
    }

    private AttributeWalker walked() {
        return java.util.Objects.requireNonNull(walker);
    }

    /**
     * @param rowWalker has walked it
     * @return false also if a value that decides is not at hand, see {@link #isUndecided}
     */
    boolean passes(
            TupleView row,
            AttributeWalker rowWalker,
            @Nullable TupleView rowOldKey,
            ToastValues rowToast) {
        tuple = row;
        walker = rowWalker;
        oldKey = rowOldKey;
        toast = rowToast;
        unseen = false;
        int result = root.evaluate();
        // with NULL for what is not seen, TRUE and FALSE are certain
        undecided = result == NULL && unseen;
        return result == TRUE;
    }

    /** Whether the row that did not pass might, by a value out of line that is not at hand. */
    boolean isUndecided() {
        return undecided;
    }
}
