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

    /** Besides those that are used already. */
    void use(int databaseOid, ToastValues added) {
        values.merge(databaseOid, added, Both::new);
    }

    private record Both(ToastValues first, ToastValues second) implements ToastValues {
        @Override
        public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
            return first.append(toastRelationOid, valueId, out)
                    || second.append(toastRelationOid, valueId, out);
        }

        @Override
        public boolean appendPrefix(int toastRelationOid, int valueId, int limit, ByteBuilder out) {
            return first.appendPrefix(toastRelationOid, valueId, limit, out)
                    || second.appendPrefix(toastRelationOid, valueId, limit, out);
        }

        @Override
        public int appendTail(int toastRelationOid, int valueId, ByteBuilder out) {
            int found = first.appendTail(toastRelationOid, valueId, out);
            return found >= 0 ? found : second.appendTail(toastRelationOid, valueId, out);
        }
    }

    /** There may be transactions whose beginning only the backup has. */
    boolean isHeld() {
        return !values.isEmpty();
    }

    void forget() {
        values.clear();
    }

    /** As {@link ToastValues#appendPrefix}. */
    boolean append(int databaseOid, int toastRelationOid, int valueId, int limit, ByteBuilder out) {
        ToastValues known = values.get(databaseOid);
        return known != null && known.appendPrefix(toastRelationOid, valueId, limit, out);
    }
}
