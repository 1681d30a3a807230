package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.transaction.ToastValues;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The out-of-line values of the base backup, while the initial load has them. A change of that time
 * may refer to one whose row was not seen at the backup's start, because its page was pruned before
 * it was copied; the reference names the value exactly. Thread safe.
 */
final class BaselineToast {
    /** By database: a database and its clone have the same OIDs and value ids. */
    private final Map<Integer, ToastValues> values = new ConcurrentHashMap<>();

    void use(int databaseOid, ToastValues newValues) {
        values.put(databaseOid, newValues);
    }

    void forget() {
        values.clear();
    }

    /** As {@link ToastValues#append}. */
    boolean append(int databaseOid, int toastRelationOid, int valueId, ByteBuilder out) {
        ToastValues known = values.get(databaseOid);
        return known != null && known.append(toastRelationOid, valueId, out);
    }
}
