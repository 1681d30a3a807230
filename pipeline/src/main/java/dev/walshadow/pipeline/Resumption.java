package dev.walshadow.pipeline;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.MetadataDatabase.LedgerRow;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Makes the generations that a later start begins with, from the ledger and the descriptor log.
 * What the ledger says may be ahead of the position that the stream begins at: changes below a
 * table's own position have arrived, and do not come again for it.
 */
final class Resumption {
    private final TargetTables tables;
    private final DescriptorLog log;
    private final long durablePosition;

    Resumption(TargetTables tables, DescriptorLog log, long durablePosition) {
        this.tables = tables;
        this.log = log;
        this.durablePosition = durablePosition;
    }

    /** Null if there is nothing to follow. */
    @Nullable TargetTable of(LedgerRow row, Predicate<RelationDescriptor> selected) {
        long since = row.sinceLsn();
        long position = Math.max(since, durablePosition);
        RelationDescriptor shape = log.find(row.databaseOid(), row.relationOid(), position);
        if (row.state() == TableState.DROPPED) {
            return since > durablePosition ? dropped(row) : null;
        }
        if (shape == null || !selected.test(shape)) {
            return null;
        }
        return switch (row.state()) {
            case LIVE -> live(row, shape);
            case LOADING -> anew(shape, position, "its load was not finished");
            case HELD ->
                    tables.derive(shape) instanceof Derivation.Mapped
                            ? anew(shape, position, "what held it back is gone")
                            : tables.heldBack(shape, since, row.reason(), null);
            case QUARANTINED -> quarantined(row, shape);
            case DROPPED -> throw new IllegalStateException("handled above");
        };
    }

    private TargetTable live(LedgerRow row, RelationDescriptor shape) {
        TableMapping mapping = TableMapping.fromJson(row.mapping());
        if (!row.pendingMapping().isEmpty()) {
            RelationDescriptor before =
                    log.find(row.databaseOid(), row.relationOid(), row.sinceLsn() - 1);
            TableMapping pending = TableMapping.fromJson(row.pendingMapping());
            TargetTable table =
                    tables.generation(
                            shape,
                            pending,
                            TableState.LIVE,
                            row.sinceLsn(),
                            new Opening.Alter(null, mapping, before == null ? shape : before));
            table.pin(new TargetTable.Pin(mapping, row.sinceLsn(), pending));
            return table;
        }
        String difference = PinnedShape.difference(mapping, shape, tables.rules());
        if (difference != null) {
            return anew(shape, Math.max(row.sinceLsn(), durablePosition), difference);
        }
        TargetTable table =
                tables.generation(shape, mapping, TableState.LIVE, row.sinceLsn(), null);
        table.setBaselineLsn(row.baselineLsn());
        return table;
    }

    private TargetTable quarantined(LedgerRow row, RelationDescriptor shape) {
        TableMapping mapping =
                row.mapping().isEmpty() ? null : TableMapping.fromJson(row.mapping());
        TargetTable table =
                tables.generation(shape, mapping, TableState.HELD, row.sinceLsn(), null);
        table.setAside(row.reason(), row.positionLsn());
        table.discardedRows.add(row.discardedRows());
        return table;
    }

    private TargetTable dropped(LedgerRow row) {
        RelationDescriptor shape =
                log.find(row.databaseOid(), row.relationOid(), row.sinceLsn() - 1);
        if (shape == null) {
            throw new IllegalStateException(
                    "the descriptor log lacks " + row.schema() + "." + row.name());
        }
        return tables.generation(shape, null, TableState.DROPPED, row.sinceLsn(), null);
    }

    /** Selected now, but not followed so far. */
    TargetTable selectedLater(RelationDescriptor shape) {
        return anew(shape, durablePosition, "it has rows from before it was followed");
    }

    private TargetTable anew(RelationDescriptor shape, long position, String reason) {
        return switch (tables.derive(shape)) {
            case Derivation.Mapped mapped ->
                    tables.generation(
                            shape,
                            mapped.mapping(),
                            TableState.LOADING,
                            Math.max(position, durablePosition + 1),
                            new Opening.Load(null, reason));
            case Derivation.HeldBack held ->
                    tables.heldBack(shape, 0, String.join("; ", held.reasons()), null);
        };
    }
}
