package dev.walshadow.pipeline.encode;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ArrayColumn;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.postgres.value.ArrayView;

/**
 * Arrays of the declared number of dimensions into that many nested Array, the innermost of
 * Nullable(T). An empty array has no dimensions in PostgreSQL and is {@code []} whatever was
 * declared.
 */
final class ArrayReader extends ValueReader {
    private final ArrayView view = new ArrayView();
    private final ValueReader element;
    private final int elementLength;
    private final char elementAlignment;
    private final int dimensions;
    private final PolicyCounts counts;

    ArrayReader(
            ValueReader element,
            int elementLength,
            char alignment,
            int dimensions,
            PolicyCounts counts) {
        this.element = element;
        this.elementLength = elementLength;
        this.elementAlignment = alignment;
        this.dimensions = dimensions;
        this.counts = counts;
    }

    @Override
    boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
        view.wrap(bytes, offset, length);
        ArrayColumn array = (ArrayColumn) out;
        if (view.elementCount() == 0) {
            array.endRow();
            return true;
        }
        if (view.dimensions() != dimensions) {
            throw new QuarantineException(
                    MappingCodes.VALUE,
                    "expected an array of "
                            + said(dimensions)
                            + " as the column is declared, found "
                            + said(view.dimensions())
                            + "; map the column to String to keep PostgreSQL's text");
        }
        if (hasOtherLowerBounds()) {
            counts.add(Policy.LOWER_BOUND);
        }
        view.start(elementLength, elementAlignment);
        appendLevel(array, 0);
        return true;
    }

    private static String said(int dimensions) {
        return dimensions + (dimensions == 1 ? " dimension" : " dimensions");
    }

    private boolean hasOtherLowerBounds() {
        for (int i = 0; i < dimensions; i++) {
            if (view.lowerBound(i) != 1) {
                return true;
            }
        }
        return false;
    }

    /** Storage order is that of nested arrays: the last dimension varies fastest. */
    private void appendLevel(ArrayColumn array, int level) {
        int size = view.dimension(level);
        if (level < dimensions - 1) {
            ArrayColumn inner = (ArrayColumn) array.elements();
            for (int i = 0; i < size; i++) {
                appendLevel(inner, level + 1);
            }
        } else {
            NullableColumn elements = (NullableColumn) array.elements();
            for (int i = 0; i < size && view.next(); i++) {
                if (!view.elementIsNull() && appendElement(elements.inner())) {
                    elements.present();
                } else {
                    elements.appendNull();
                }
            }
        }
        array.endRow();
    }

    private boolean appendElement(ColumnBuffer out) {
        return element.append(
                view.elementBuffer(), view.elementOffset(), view.elementLength(), out);
    }
}
