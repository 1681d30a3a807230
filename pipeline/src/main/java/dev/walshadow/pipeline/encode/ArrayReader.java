package dev.walshadow.pipeline.encode;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ArrayColumn;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.postgres.value.ArrayView;

/** One-dimensional arrays into Array(Nullable(T)). */
final class ArrayReader extends ValueReader {
    private final ArrayView view = new ArrayView();
    private final ValueReader element;
    private final int elementLength;
    private final char elementAlignment;
    private final PolicyCounts counts;

    ArrayReader(ValueReader element, int elementLength, char alignment, PolicyCounts counts) {
        this.element = element;
        this.elementLength = elementLength;
        this.elementAlignment = alignment;
        this.counts = counts;
    }

    @Override
    boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
        view.wrap(bytes, offset, length);
        if (view.dimensions() > 1) {
            throw new QuarantineException(
                    MappingCodes.VALUE,
                    "expected an array of one dimension, found "
                            + view.dimensions()
                            + " dimensions; map the column to String to keep PostgreSQL's text");
        }
        if (view.dimensions() == 1 && view.lowerBound(0) != 1) {
            counts.add(Policy.LOWER_BOUND);
        }
        ArrayColumn array = (ArrayColumn) out;
        NullableColumn elements = (NullableColumn) array.elements();
        view.start(elementLength, elementAlignment);
        while (view.next()) {
            if (!view.elementIsNull() && appendElement(elements.inner())) {
                elements.present();
            } else {
                elements.appendNull();
            }
        }
        array.endRow();
        return true;
    }

    private boolean appendElement(ColumnBuffer out) {
        return element.append(
                view.elementBuffer(), view.elementOffset(), view.elementLength(), out);
    }
}
