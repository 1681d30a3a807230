package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import java.util.List;

/**
 * Changes of tables, in their place between the transactions.
 *
 * @param position the commit's position; changes of rows from there on belong to what comes of it
 */
record CatalogChange(long position, List<Item> items) {
    CatalogChange {
        items = List.copyOf(items);
    }

    /** One table's. */
    sealed interface Item {}

    /** A commit changed it on the source. */
    record Changed(RelationChange change) implements Item {}

    /** It is followed from here on, because somebody asked. */
    record Taken(RelationDescriptor relation) implements Item {}

    /**
     * It is not followed any more, because somebody asked.
     *
     * @param drop its rows go too
     */
    record LeftOut(RelationDescriptor relation, boolean drop) implements Item {}

    /** Its rows are to be loaded again, at whatever position is reached. */
    record Reload(int databaseOid, int relationOid, String reason) implements Item {}

    /** A generation that was made before the pipeline started. */
    record Resumed(TargetTable table) implements Item {}
}
