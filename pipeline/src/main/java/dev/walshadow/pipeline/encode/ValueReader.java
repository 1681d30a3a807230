package dev.walshadow.pipeline.encode;

import dev.walshadow.clickhouse.ColumnBuffer;

/**
 * Converts one kind of datum. Of a varlena it gets the detoasted payload behind the header. May
 * keep scratch memory: not thread safe.
 */
abstract class ValueReader {
    /**
     * Appends the value.
     *
     * @param out the column's buffer inside Nullable
     * @return false if the policy makes the value NULL; then nothing was appended
     */
    abstract boolean append(byte[] bytes, int offset, int length, ColumnBuffer out);
}
