package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.mapping.TableMapping;

/**
 * A table whose rows are wanted from the source: its staging table exists, and every commit after
 * {@link #position} goes there. Valid until a later generation of the table takes over.
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

    /** The table as it is at {@link #position}. */
    public RelationDescriptor shape() {
        return table.shape();
    }

    public TableMapping mapping() {
        return table.mapped();
    }

    /** The loaded rows must contain every commit up to this position. */
    public long position() {
        return table.fromPosition() - 1;
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
