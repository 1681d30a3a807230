package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;

/**
 * Values out of line that were encoded before, by what a TOAST pointer says of them. PostgreSQL
 * gives a value's id to another one only when every row version that points to the first is dead
 * and vacuumed, so in commit order a pointer means the value that was encoded last under its id.
 * Whoever keeps values must therefore be told of every new one. Belongs to one thread.
 */
public interface KnownValues {
    /**
     * Appends the value in RowBinary form.
     *
     * @param column block column
     * @return false if it is not known; then nothing was appended
     */
    boolean append(int toastRelationOid, int valueId, int column, ByteBuilder out);

    /** Larger values, in bytes, are not worth {@link #learn}. */
    int largest();

    /** A new value came with its chunks. */
    void learn(int toastRelationOid, int valueId, int column, byte[] rowBinary);

    /** A new value came that is not handed on: an earlier one of this id is not it. */
    void forget(int toastRelationOid, int valueId, int column);
}
