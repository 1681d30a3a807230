package dev.walshadow.catalog;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Makes equal descriptors, type lists and names one object: ten thousands of tables have the same
 * few types and column names. Not thread safe.
 */
public final class DescriptorPool {
    private final Map<Object, Object> pool = new HashMap<>();

    @SuppressWarnings("unchecked")
    <T> T one(T value) {
        Object known = pool.putIfAbsent(value, value);
        return known == null ? value : (T) known;
    }

    /** The relation with pooled parts. */
    RelationDescriptor pooled(RelationDescriptor relation) {
        List<AttributeDescriptor> attributes =
                relation.attributes().stream().map(this::one).toList();
        List<TypeDescriptor> types = relation.types().stream().map(this::one).toList();
        return new RelationDescriptor(
                relation.oid(),
                relation.databaseOid(),
                new RelationName(
                        one(relation.name().database()),
                        one(relation.name().schema()),
                        relation.name().name()),
                relation.kind(),
                relation.persistence(),
                relation.locator(),
                relation.toastRelationOid(),
                relation.ownerRelationOid(),
                relation.replicaIdentity(),
                one(relation.accessMethod()),
                relation.parentOid(),
                one(attributes),
                one(relation.primaryKey()),
                one(relation.identityKey()),
                one(types),
                relation.keyIndexOid());
    }

    /** Takes over the parts of a relation that another pool made. */
    void keep(RelationDescriptor relation) {
        one(relation.name().database());
        one(relation.name().schema());
        one(relation.accessMethod());
        one(relation.attributes());
        one(relation.primaryKey());
        one(relation.identityKey());
        one(relation.types());
        relation.attributes().forEach(this::one);
        relation.types().forEach(this::one);
    }
}
