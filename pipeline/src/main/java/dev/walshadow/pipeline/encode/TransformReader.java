package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.StringColumn;
import dev.walshadow.pipeline.mapping.Transform;
import dev.walshadow.pipeline.mapping.TransformedText;

/** Sends something else instead of a value's text. */
final class TransformReader extends ValueReader {
    private final TransformedText transform;
    private final ValueReader text;
    private final StringColumn plain = new StringColumn();
    private final ByteBuilder value = ByteBuilder.onDemand(256);
    private final ByteBuilder transformed = ByteBuilder.onDemand(256);

    /**
     * @param text gives PostgreSQL's text
     */
    TransformReader(Transform transform, ValueReader text) {
        this.transform = new TransformedText(transform);
        this.text = text;
    }

    @Override
    boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
        plain.clear();
        if (!text.append(bytes, offset, length, plain)) {
            return false;
        }
        value.clear();
        plain.rowBinary(0, value);
        int start = 0;
        while (value.array()[start++] < 0) {
            // the length, a varint
        }
        transformed.clear();
        if (!transform.append(value.array(), start, value.length() - start, transformed)) {
            return false;
        }
        ((StringColumn) out).append(transformed);
        return true;
    }
}
