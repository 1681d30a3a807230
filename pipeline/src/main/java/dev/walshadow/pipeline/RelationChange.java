package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import org.jspecify.annotations.Nullable;

/**
 * What one commit made of one selected table.
 *
 * @param before null: it did not exist, or was not selected
 * @param after null: it is gone, or is not selected any more
 * @param hasOlderRows it may have rows that were not read from the WAL, or that another table's
 *     storage brought: what is known of it does not do, its rows are loaded from the source
 * @param rewritten its storage was made as that of a transient relation, which was filled and is
 *     gone: by a rewriting ALTER TABLE, REFRESH, CLUSTER or VACUUM FULL
 */
public record RelationChange(
        @Nullable RelationDescriptor before,
        @Nullable RelationDescriptor after,
        boolean hasOlderRows,
        boolean rewritten) {

    int databaseOid() {
        return present().databaseOid();
    }

    int relationOid() {
        return present().oid();
    }

    private RelationDescriptor present() {
        if (after != null) {
            return after;
        }
        if (before != null) {
            return before;
        }
        throw new IllegalArgumentException("a change has a before or an after");
    }
}
