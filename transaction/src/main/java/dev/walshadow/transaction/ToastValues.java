package dev.walshadow.transaction;

import dev.walshadow.base.ByteBuilder;

/**
 * Out-of-line values assembled from chunks: of the same transaction, or of the base backup. An
 * instance belongs to one thread.
 */
public interface ToastValues {
    /** Every chunk of a value but the last has this size. */
    int CHUNK_BYTES = ToastChunk.MAX_SIZE;

    /**
     * Appends the external datum as it is stored (va_extinfo says whether it is compressed).
     *
     * @param toastRelationOid va_toastrelid
     * @param valueId va_valueid
     * @return false if no chunk of the value is here. Whether all are is for the caller to see: the
     *     appended length must be va_extsize, and is less, perhaps 0, where a chunk is missing
     */
    boolean append(int toastRelationOid, int valueId, ByteBuilder out);

    /**
     * As {@link #append}, but only the first {@code limit} bytes where there are more; room for
     * {@code limit} bytes is made once the value is found.
     */
    default boolean appendPrefix(int toastRelationOid, int valueId, int limit, ByteBuilder out) {
        int start = out.length();
        if (!append(toastRelationOid, valueId, out)) {
            return false;
        }
        out.setLength(Math.min(out.length(), start + limit));
        return true;
    }

    /**
     * Appends a value from the first of its chunks that is here, in line: for one whose beginning
     * is elsewhere.
     *
     * @return that chunk's number, counted from 0; -1 if no chunk of the value is here
     */
    default int appendTail(int toastRelationOid, int valueId, ByteBuilder out) {
        return append(toastRelationOid, valueId, out) ? 0 : -1;
    }
}
