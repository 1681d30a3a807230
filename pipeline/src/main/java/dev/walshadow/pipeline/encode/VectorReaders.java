package dev.walshadow.pipeline.encode;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.clickhouse.ArrayColumn;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.postgres.value.VectorText;

/** pgvector's types into Array(Float32). */
final class VectorReaders {
    private VectorReaders() {}

    static final class Floats extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            int count = VectorText.dimensions(bytes, offset, length, Float.BYTES);
            ArrayColumn array = (ArrayColumn) out;
            FixedColumn elements = (FixedColumn) array.elements();
            int at = offset + VectorText.ELEMENTS;
            for (int i = 0; i < count; i++) {
                elements.appendInt(LittleEndian.getInt(bytes, at + Float.BYTES * i));
            }
            array.endRow();
            return true;
        }
    }

    static final class Halves extends ValueReader {
        @Override
        boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
            int count = VectorText.dimensions(bytes, offset, length, Short.BYTES);
            ArrayColumn array = (ArrayColumn) out;
            FixedColumn elements = (FixedColumn) array.elements();
            int at = offset + VectorText.ELEMENTS;
            for (int i = 0; i < count; i++) {
                float value =
                        Float.float16ToFloat(LittleEndian.getShort(bytes, at + Short.BYTES * i));
                elements.appendInt(Float.floatToRawIntBits(value));
            }
            array.endRow();
            return true;
        }
    }
}
