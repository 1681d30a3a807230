package dev.walshadow.pipeline;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.MetadataDatabase.LedgerRow;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.TableMapping;
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
    @Nullable TargetTable of(LedgerRow row, TargetTables.Selected selected) {
        long since = row.sinceLsn();
        long position = Math.max(since, durablePosition);
        RelationDescriptor shape = log.find(row.databaseOid(), row.relationOid(), position);
        boolean wanted = shape != null && selected.test(shape, position);
        if (row.state() == TableState.DROPPED) {
            return since > durablePosition && !wanted ? dropped(row) : null;
        }
        if (shape == null) {
            return null;
        }
        if (!wanted) {
            return leftOut(row, shape, selected.dropsRows(shape));
        }
        TargetTable root = tables.rootOf(shape, Partitions.at(log, position));
        if (root != null) {
            return partition(row, shape, root, position);
        }
        return switch (row.state()) {
            case LIVE -> live(row, shape);
            case LOADING -> anew(shape, position, unfinished(row));
            case HELD ->
                    tables.derive(shape) instanceof Derivation.Mapped
                            ? anew(shape, position, "what held it back is gone")
                            : tables.heldBack(shape, since, row.reason(), null);
            case QUARANTINED -> quarantined(row, shape);
            case DROPPED -> throw new IllegalStateException("handled above");
        };
    }

    private static String unfinished(LedgerRow row) {
        return row.reason().equals(TargetTables.ADDED)
                ? TargetTables.ADDED
                : "its load was not finished";
    }

    private static String kept(String reason) {
        return reason.equals(TargetTables.ADDED) ? reason : "";
    }

    private TargetTable partition(
            LedgerRow row, RelationDescriptor shape, TargetTable root, long position) {
        return switch (row.state()) {
            case QUARANTINED -> quarantined(row, shape).join(root);
            case LIVE ->
                    row.rootOid() == root.relationOid() && !isRemade(root)
                            ? joined(row, shape, root)
                            : joinAnew(shape, root, position, "its partitioned table changed");
            case LOADING, HELD, DROPPED -> {
                // as the partitioned table has it: its own changes come again
                long at = Math.max(root.fromPosition(), durablePosition);
                RelationDescriptor then = log.find(row.databaseOid(), row.relationOid(), at);
                yield then == null || !then.partition()
                        ? left(row, shape, then, root)
                        : joinAnew(then, root, at, unfinished(row));
            }
        };
    }

    /** Its table begins empty, by other rules than before. */
    private static boolean isRemade(TargetTable root) {
        return root.opening() instanceof Opening.Create;
    }

    /** What is below the partitioned table's own position has arrived for its partitions too. */
    private TargetTable joined(LedgerRow row, RelationDescriptor shape, TargetTable root) {
        long from = Math.max(row.sinceLsn(), root.fromPosition());
        RelationDescriptor then =
                log.find(row.databaseOid(), row.relationOid(), Math.max(from, durablePosition));
        if (then == null || !then.partition()) {
            return left(row, shape, then, root);
        }
        RelationDescriptor known = then;
        return switch (tables.deriveIn(root, known)) {
            case Derivation.Mapped mapped ->
                    tables.generation(
                                    known,
                                    mapped.mapping(),
                                    TableState.LIVE,
                                    from,
                                    root.opening() == null ? null : new Opening.Join(null))
                            .join(root);
            case Derivation.HeldBack held ->
                    tables.heldBack(known, from, String.join("; ", held.reasons()), null);
        };
    }

    /**
     * It was a partition, and is none any more at the position that the partitioned table has
     * reached: that it left does not come again.
     *
     * @param now null: it was dropped
     */
    private TargetTable left(
            LedgerRow row,
            RelationDescriptor shape,
            @Nullable RelationDescriptor now,
            TargetTable root) {
        TargetTable before =
                tables.generation(shape, root.mapping(), TableState.LIVE, row.sinceLsn(), null)
                        .join(root);
        long from = Math.max(root.fromPosition(), durablePosition + 1);
        if (now == null) {
            return tables.generation(
                    shape, null, TableState.DROPPED, from, new Opening.Drop(before, null));
        }
        return switch (tables.derive(now)) {
            case Derivation.Mapped mapped ->
                    tables.generation(
                            now,
                            mapped.mapping(),
                            TableState.LOADING,
                            from,
                            new Opening.Load(before, "it is no partition any more"));
            case Derivation.HeldBack held ->
                    tables.heldBack(now, from, String.join("; ", held.reasons()), null);
        };
    }

    private TargetTable joinAnew(
            RelationDescriptor shape, TargetTable root, long position, String reason) {
        return switch (tables.deriveIn(root, shape)) {
            case Derivation.Mapped mapped ->
                    tables.generation(
                                    shape,
                                    mapped.mapping(),
                                    TableState.LOADING,
                                    Math.max(position, durablePosition + 1),
                                    new Opening.JoinLoad(null, reason))
                            .because(kept(reason))
                            .join(root);
            case Derivation.HeldBack held ->
                    tables.heldBack(shape, 0, String.join("; ", held.reasons()), null);
        };
    }

    private TargetTable live(LedgerRow row, RelationDescriptor shape) {
        TableMapping mapping = tables.rules().pinned(row.mapping());
        if (!row.pendingMapping().isEmpty()) {
            RelationDescriptor before =
                    log.find(row.databaseOid(), row.relationOid(), row.sinceLsn() - 1);
            TableMapping pending = tables.rules().pinned(row.pendingMapping());
            RelationDescriptor whole =
                    shape.kind() == 'p' ? withMissing(shape, mapping, row.sinceLsn()) : shape;
            if (whole == null) {
                return anew(shape, row.sinceLsn(), "its partitions have different values");
            }
            TargetTable table =
                    tables.generation(
                            whole,
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

    private @Nullable RelationDescriptor withMissing(
            RelationDescriptor root, TableMapping applied, long position) {
        Partitions.Lookup parents = Partitions.at(log, position);
        return Partitions.withMissingValues(
                root,
                log.active(position).stream()
                        .filter(leaf -> leaf.partition() && leaf.kind() == 'r')
                        .filter(leaf -> root.equals(Partitions.root(leaf, parents)))
                        .toList(),
                applied.attributeNumbers());
    }

    private TargetTable quarantined(LedgerRow row, RelationDescriptor shape) {
        TableMapping mapping =
                row.mapping().isEmpty() ? null : tables.rules().pinned(row.mapping());
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

    /**
     * Not selected any more. The ledger must say so: selected again some day, the table has missed
     * changes.
     *
     * @param drop its rows go too
     */
    private TargetTable leftOut(LedgerRow row, RelationDescriptor shape, boolean drop) {
        return tables.generation(
                        shape,
                        row.mapping().isEmpty() ? null : tables.rules().pinned(row.mapping()),
                        TableState.DROPPED,
                        Math.max(row.sinceLsn(), durablePosition + 1),
                        new Opening.Drop(
                                null,
                                drop ? TargetOptions.OnDrop.DROP : TargetOptions.OnDrop.RETAIN))
                .because(TargetTables.LEFT_OUT);
    }

    /** Selected now, but not followed so far. */
    TargetTable selectedLater(RelationDescriptor shape) {
        TargetTable root = tables.rootOf(shape, Partitions.at(log, durablePosition));
        String reason = TargetTables.ADDED;
        if (root != null) {
            return tables.loadsAdded()
                    ? joinAnew(shape, root, durablePosition, reason)
                    : joinEmpty(shape, root);
        }
        return tables.loadsAdded() ? anew(shape, durablePosition, reason) : empty(shape);
    }

    private TargetTable empty(RelationDescriptor shape) {
        return switch (tables.derive(shape)) {
            case Derivation.Mapped mapped ->
                    tables.generation(
                            shape,
                            mapped.mapping(),
                            TableState.LIVE,
                            durablePosition + 1,
                            new Opening.Create(null));
            case Derivation.HeldBack held ->
                    tables.heldBack(shape, 0, String.join("; ", held.reasons()), null);
        };
    }

    private TargetTable joinEmpty(RelationDescriptor shape, TargetTable root) {
        return switch (tables.deriveIn(root, shape)) {
            case Derivation.Mapped mapped ->
                    tables.generation(
                                    shape,
                                    mapped.mapping(),
                                    TableState.LIVE,
                                    durablePosition + 1,
                                    new Opening.Join(null))
                            .join(root);
            case Derivation.HeldBack held ->
                    tables.heldBack(shape, 0, String.join("; ", held.reasons()), null);
        };
    }

    private TargetTable anew(RelationDescriptor shape, long position, String reason) {
        return switch (tables.derive(shape)) {
            case Derivation.Mapped mapped when shape.kind() == 'p' ->
                    tables.generation(
                            shape,
                            mapped.mapping(),
                            TableState.LIVE,
                            Math.max(position, durablePosition + 1),
                            new Opening.Create(null));
            case Derivation.Mapped mapped ->
                    tables.generation(
                                    shape,
                                    mapped.mapping(),
                                    TableState.LOADING,
                                    Math.max(position, durablePosition + 1),
                                    new Opening.Load(null, reason))
                            .because(kept(reason));
            case Derivation.HeldBack held ->
                    tables.heldBack(shape, 0, String.join("; ", held.reasons()), null);
        };
    }
}
