package dev.walshadow.catalog;

import dev.walshadow.postgres.RelationLocator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A relation's shape at a position. Immutable.
 *
 * @param databaseOid the database that holds it
 * @param kind relkind: 'r' table, 'p' partitioned, 't' TOAST, 'm' materialized view, 'S' ...
 * @param persistence relpersistence: 'p', 'u' or 't'
 * @param locator null for relations without storage (partitioned tables)
 * @param toastRelationOid reltoastrelid, 0 if none
 * @param ownerRelationOid of a TOAST relation: the table it belongs to; of a sequence: the table of
 *     the column that owns it; else 0
 * @param replicaIdentity relreplident: 'd', 'n', 'f' or 'i'
 * @param accessMethod pg_am.amname; "heap", also of every other method with heap's handler, is the
 *     only one that can be decoded
 * @param parentOid of a partition: the partitioned table it is attached to; else 0
 * @param attributes by attnum from 1, dropped ones included
 * @param primaryKey attnums in index order of the valid, immediate primary key; empty if none
 * @param identityKey attnums in index order of the relreplident = 'i' index; empty if none
 * @param types every type that an attribute's decoding needs, transitively (elements, bases)
 * @param keyIndexOid the index whose columns are logged as old keys (of relreplident = 'f', the
 *     primary key, which is among all columns); 0 if none. Another index means that there was a
 *     time between, without a key, where rows may have changed
 */
public record RelationDescriptor(
        int oid,
        int databaseOid,
        RelationName name,
        char kind,
        char persistence,
        @Nullable RelationLocator locator,
        int toastRelationOid,
        int ownerRelationOid,
        char replicaIdentity,
        String accessMethod,
        int parentOid,
        List<AttributeDescriptor> attributes,
        List<Integer> primaryKey,
        List<Integer> identityKey,
        List<TypeDescriptor> types,
        int keyIndexOid) {
    public RelationDescriptor {
        attributes = List.copyOf(attributes);
        primaryKey = List.copyOf(primaryKey);
        identityKey = List.copyOf(identityKey);
        types = List.copyOf(types);
    }

    /** One whose index is not known. */
    public RelationDescriptor(
            int oid,
            int databaseOid,
            RelationName name,
            char kind,
            char persistence,
            @Nullable RelationLocator locator,
            int toastRelationOid,
            int ownerRelationOid,
            char replicaIdentity,
            String accessMethod,
            int parentOid,
            List<AttributeDescriptor> attributes,
            List<Integer> primaryKey,
            List<Integer> identityKey,
            List<TypeDescriptor> types) {
        this(
                oid,
                databaseOid,
                name,
                kind,
                persistence,
                locator,
                toastRelationOid,
                ownerRelationOid,
                replicaIdentity,
                accessMethod,
                parentOid,
                attributes,
                primaryKey,
                identityKey,
                types,
                0);
    }

    /** True if its rows are also another table's. */
    public boolean partition() {
        return parentOid != 0;
    }

    /** The same under another name. */
    public RelationDescriptor named(RelationName other) {
        return new RelationDescriptor(
                oid,
                databaseOid,
                other,
                kind,
                persistence,
                locator,
                toastRelationOid,
                ownerRelationOid,
                replicaIdentity,
                accessMethod,
                parentOid,
                attributes,
                primaryKey,
                identityKey,
                types,
                keyIndexOid);
    }

    /** What an operating failure calls this relation. */
    public String label() {
        return name.toString();
    }
}
