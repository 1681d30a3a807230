package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.transaction.ToastValues;
import org.jspecify.annotations.Nullable;

/**
 * The out-of-line values of the base backup, while the initial load has them. A change of that time
 * may refer to one whose row was not seen at the backup's start, because its page was pruned before
 * it was copied; the reference names the value exactly. Thread safe.
 */
final class BaselineToast implements ToastValues {
    private volatile @Nullable ToastValues values;

    void use(@Nullable ToastValues newValues) {
        values = newValues;
    }

    @Override
    public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
        ToastValues known = values;
        return known != null && known.append(toastRelationOid, valueId, out);
    }
}
