package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;

/** The previous version of a row, as ClickHouse has it. */
public interface OldValues {
    /**
     * Appends the value of a block column ({@link
     * dev.walshadow.pipeline.mapping.TableMapping#columns()}) in RowBinary form.
     *
     * @return false if it is not known; then nothing was appended
     */
    boolean append(int column, ByteBuilder out);
}
