package dev.walshadow.catalog;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Which partitioned table a partition's rows are read through. */
public final class Partitions {
    /** Deeper trees do not exist; a cycle would mean a damaged catalog. */
    private static final int MAX_DEPTH = 1000;

    private Partitions() {}

    /** Finds relations at one position. */
    public interface Lookup {
        @Nullable RelationDescriptor find(int databaseOid, int oid);
    }

    /** Among these relations. */
    public static Lookup among(Collection<RelationDescriptor> relations) {
        record Key(int databaseOid, int oid) {}
        Map<Key, RelationDescriptor> byOid = new HashMap<>();
        relations.forEach(
                relation -> byOid.put(new Key(relation.databaseOid(), relation.oid()), relation));
        return (databaseOid, oid) -> byOid.get(new Key(databaseOid, oid));
    }

    /** As they are at {@code lsn}. */
    public static Lookup at(DescriptorLog log, long lsn) {
        return (databaseOid, oid) -> log.find(databaseOid, oid, lsn);
    }

    /**
     * The topmost partitioned table above a partition; the relation itself if it is no partition;
     * null if a parent is unknown.
     */
    public static @Nullable RelationDescriptor root(RelationDescriptor relation, Lookup parents) {
        RelationDescriptor at = relation;
        for (int i = 0; i < MAX_DEPTH; i++) {
            if (!at.partition()) {
                return at;
            }
            RelationDescriptor parent = parents.find(at.databaseOid(), at.parentOid());
            if (parent == null) {
                return null;
            }
            at = parent;
        }
        return null;
    }
}
