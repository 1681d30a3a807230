package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.mapping.TableMapping;

/**
 * A table whose rows are wanted from the source: its staging table exists. Changes go there as soon
 * as it is known which of them the rows contain. Valid until a later generation of the table takes
 * over.
 */
public final class LoadTicket {
    private final TargetTable table;
    private final String reason;

    LoadTicket(TargetTable table, String reason) {
        this.table = table;
        this.reason = reason;
    }

    TargetTable table() {
        return table;
    }

    /** The table as it is when the load is wanted. */
    public RelationDescriptor shape() {
        return table.shape();
    }

    public TableMapping mapping() {
        return table.mapped();
    }

    /** The rows must contain every commit up to this position, and have it. */
    public long position() {
        return filter().containedTo();
    }

    /** The rows go where those of other tables are. */
    public boolean isInPlace() {
        return filter().isInPlace();
    }

    /** Rows of a snapshot have been asked for: those of another one need another load. */
    public boolean isBegun() {
        return filter().isUsed();
    }

    /** What the rows contain cannot be told from what they do not: they are to be read anew. */
    public boolean isSpoiled() {
        return filter().isSpoiled();
    }

    private LoadFilter filter() {
        return table.requireLoadFilter();
    }

    /**
     * Records of this table may have been passed by before it was followed: the loaded rows must
     * contain every transaction that is open now.
     */
    public boolean isAdded() {
        return table.reason().equals(TargetTables.ADDED);
    }

    /** Why, for people. */
    public String reason() {
        return reason;
    }

    /** False once the load is of no use any more. */
    public boolean isWanted() {
        return !table.isAbandoned() && table.isFollowed() && table.isStaged();
    }
}
