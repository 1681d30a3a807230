package dev.walshadow.bootstrap.reload;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationShapes;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Whether a table still is what its mapping was made for, as far as a load is concerned. */
final class LoadComparison {
    private LoadComparison() {}

    /**
     * The first difference, null if there is none. Names of the table and its columns, and missing
     * values, do not matter: columns are asked for by number.
     */
    static @Nullable String differs(RelationDescriptor mapped, RelationDescriptor now) {
        return RelationShapes.shapeDiffers(mapped, renamed(now, mapped));
    }

    private static RelationDescriptor renamed(RelationDescriptor now, RelationDescriptor as) {
        List<AttributeDescriptor> attributes = new ArrayList<>();
        for (int i = 0; i < now.attributes().size(); i++) {
            AttributeDescriptor attribute = now.attributes().get(i);
            boolean known = i < as.attributes().size();
            AttributeDescriptor other = known ? as.attributes().get(i) : attribute;
            attributes.add(
                    new AttributeDescriptor(
                            attribute.number(),
                            other.name(),
                            attribute.typeOid(),
                            attribute.typeModifier(),
                            attribute.length(),
                            attribute.byValue(),
                            attribute.alignment(),
                            attribute.storage(),
                            attribute.notNull(),
                            attribute.dropped(),
                            attribute.generated(),
                            other.missingValue(),
                            attribute.dimensions()));
        }
        return new RelationDescriptor(
                now.oid(),
                now.databaseOid(),
                as.name(),
                now.kind(),
                now.persistence(),
                now.locator(),
                now.toastRelationOid(),
                now.ownerRelationOid(),
                now.replicaIdentity(),
                now.accessMethod(),
                now.parentOid(),
                attributes,
                now.primaryKey(),
                now.identityKey(),
                now.types(),
                now.keyIndexOid());
    }
}
