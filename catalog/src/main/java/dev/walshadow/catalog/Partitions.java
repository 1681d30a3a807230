package dev.walshadow.catalog;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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

    /**
     * A partitioned table has no storage, so PostgreSQL notes the value that rows from before an
     * ADD COLUMN ... DEFAULT show at the partitions only.
     *
     * @param known attnums of the columns that were there before
     * @return the table with those values of its new columns; null if the partitions do not agree
     */
    public static @Nullable RelationDescriptor withMissingValues(
            RelationDescriptor root, Collection<RelationDescriptor> leaves, Set<Integer> known) {
        List<AttributeDescriptor> attributes = new ArrayList<>();
        for (AttributeDescriptor attribute : root.attributes()) {
            Set<Optional<String>> values = new HashSet<>();
            for (RelationDescriptor leaf : leaves) {
                leaf.attributes().stream()
                        .filter(each -> !each.dropped() && each.name().equals(attribute.name()))
                        .forEach(each -> values.add(Optional.ofNullable(each.missingValue())));
            }
            boolean old = attribute.dropped() || known.contains(attribute.number());
            if (old || values.isEmpty()) {
                attributes.add(attribute);
            } else if (values.size() == 1) {
                attributes.add(attribute.withMissingValue(values.iterator().next().orElse(null)));
            } else {
                return null;
            }
        }
        return new RelationDescriptor(
                root.oid(),
                root.databaseOid(),
                root.name(),
                root.kind(),
                root.persistence(),
                root.locator(),
                root.toastRelationOid(),
                root.ownerRelationOid(),
                root.replicaIdentity(),
                root.accessMethod(),
                root.parentOid(),
                attributes,
                root.primaryKey(),
                root.identityKey(),
                root.types(),
                root.keyIndexOid());
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
