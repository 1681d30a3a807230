package dev.walshadow.transaction;

import dev.walshadow.base.ByteBuilder;

/**
 * Out-of-line values assembled from chunks: of the same transaction, or of the base backup. An
 * instance belongs to one thread.
 */
public interface ToastValues {
    /**
     * Appends the external datum as it is stored (va_extinfo says whether it is compressed).
     *
     * @param toastRelationOid va_toastrelid
     * @param valueId va_valueid
     * @return false, with {@code out} unchanged, if there is no chunk 0 or a gap. Whether the last
     *     chunks are here too is for the caller to see: the appended length must be va_extsize
     */
    boolean append(int toastRelationOid, int valueId, ByteBuilder out);
}
