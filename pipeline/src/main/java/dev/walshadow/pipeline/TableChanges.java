package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationShapes;
import dev.walshadow.pipeline.ddl.ShapeChange;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.Lsn;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the next generation of every table that a commit changed. Decides only; what follows in
 * ClickHouse is the generation's {@link Opening}. Used by the planner of transactions alone.
 */
final class TableChanges {
    private static final Logger LOG = LoggerFactory.getLogger(TableChanges.class);

    private final TargetTables tables;

    TableChanges(TargetTables tables) {
        this.tables = tables;
    }

    /** The generations that begin here with an opening; they have taken their tables' places. */
    List<TargetTable> apply(CatalogChange change) {
        List<TargetTable> opened = new ArrayList<>();
        for (CatalogChange.Item item : change.items()) {
            TargetTable next =
                    switch (item) {
                        case CatalogChange.Resumed(TargetTable table) -> table;
                        case CatalogChange.Changed(RelationChange of) ->
                                changed(of, change.position());
                        case CatalogChange.Reload again -> reload(again, change.position());
                    };
            if (next != null && next.opening() != null) {
                opened.add(next);
            }
        }
        return opened;
    }

    private @Nullable TargetTable changed(RelationChange change, long position) {
        TargetTable old = tables.find(change.databaseOid(), change.relationOid());
        if (old != null && position <= old.fromPosition()) {
            return null; // done before a restart
        }
        RelationDescriptor after = change.after();
        if (after == null) {
            return old == null ? null : dropped(old, position);
        }
        if (old == null || old.state() == TableState.DROPPED) {
            return appeared(change, after, position);
        }
        return switch (old.state()) {
            case QUARANTINED -> take(tables.quarantinedAgain(old, after));
            case HELD ->
                    RelationShapes.shapeDiffers(old.shape(), after) == null
                            ? null
                            : anew(old, after, position, "its shape changed while it waited");
            case LOADING -> anewIfChanged(old, change, after, position);
            case LIVE ->
                    old.isStaged() || tables.loadsOnly()
                            ? anewIfChanged(old, change, after, position)
                            : live(old, change, after, position);
            case DROPPED -> throw new IllegalStateException("handled above");
        };
    }

    private @Nullable TargetTable appeared(
            RelationChange change, RelationDescriptor after, long position) {
        if (change.hasOlderRows()) {
            return anew(null, after, position, "it has rows from before it was followed");
        }
        return switch (tables.derive(after)) {
            case Derivation.Mapped mapped -> {
                LOG.info("{} was created at {}", after.label(), Lsn.format(position));
                yield take(
                        tables.generation(
                                after,
                                mapped.mapping(),
                                TableState.LIVE,
                                position,
                                new Opening.Create()));
            }
            case Derivation.HeldBack held ->
                    heldBack(null, after, position, String.join("; ", held.reasons()));
        };
    }

    private @Nullable TargetTable anewIfChanged(
            TargetTable old, RelationChange change, RelationDescriptor after, long position) {
        boolean same =
                RelationShapes.shapeDiffers(old.shape(), after) == null
                        && !needsRows(old, change, after);
        return same ? null : anew(old, after, position, "its shape changed while it was loaded");
    }

    private @Nullable TargetTable live(
            TargetTable old, RelationChange change, RelationDescriptor after, long position) {
        String difference = RelationShapes.shapeDiffers(old.shape(), after);
        if (difference == null) {
            return needsRows(old, change, after)
                    ? anew(old, after, position, "its storage was replaced")
                    : null;
        }
        TableMapping from = old.mapped();
        return switch (ShapeChange.decide(from, old.shape(), after, tables.rules())) {
            case ShapeChange.Unchanged(TableMapping to) ->
                    altered(old, after, to, position, difference);
            case ShapeChange.InPlace inPlace ->
                    altered(old, after, inPlace.mapping(), position, difference);
            case ShapeChange.Beside beside ->
                    altered(old, after, beside.mapping(), position, beside.reason());
            case ShapeChange.Load load -> anew(old, after, position, load.reason());
            case ShapeChange.HeldBack held ->
                    heldBack(old, after, position + 1, String.join("; ", held.reasons()));
        };
    }

    private TargetTable altered(
            TargetTable old,
            RelationDescriptor after,
            TableMapping mapping,
            long position,
            String what) {
        LOG.info("{} changed at {}: {}", old.label(), Lsn.format(position), what);
        return take(
                tables.generation(
                        after,
                        mapping,
                        TableState.LIVE,
                        position,
                        new Opening.Alter(old, old.mapped(), old.shape())));
    }

    /** Its rows have changed, or their TIDs, in a way that the records do not tell. */
    private static boolean needsRows(
            TargetTable old, RelationChange change, RelationDescriptor after) {
        RelationDescriptor before = change.before();
        boolean moved = before != null && !Objects.equals(before.locator(), after.locator());
        boolean byTid = old.mapping() != null && old.mapped().key().isEmpty();
        return change.hasOlderRows() || (moved && (byTid || after.kind() == 'm'));
    }

    private @Nullable TargetTable reload(CatalogChange.Reload again, long position) {
        TargetTable old = tables.find(again.databaseOid(), again.relationOid());
        return old == null || old.state() == TableState.DROPPED
                ? null
                : anew(old, old.shape(), position - 1, again.reason());
    }

    /**
     * The table as the source has it, from the commit after {@code position} on; held back if its
     * shape cannot be mapped.
     */
    private TargetTable anew(
            @Nullable TargetTable old, RelationDescriptor shape, long position, String reason) {
        return switch (tables.derive(shape)) {
            case Derivation.Mapped mapped -> {
                LOG.info("{} is loaded anew: {}", shape.label(), reason);
                yield take(
                        tables.generation(
                                shape,
                                mapped.mapping(),
                                TableState.LOADING,
                                position + 1,
                                new Opening.Load(old, reason)));
            }
            case Derivation.HeldBack held ->
                    heldBack(old, shape, position + 1, String.join("; ", held.reasons()));
        };
    }

    /** The same, for a table that the planner found unfit in the middle of a transaction. */
    TargetTable load(TargetTable table, long position, String reason) {
        LOG.info("{} is loaded anew: {}", table.label(), reason);
        return take(
                tables.generation(
                        table.shape(),
                        table.mapped(),
                        TableState.LOADING,
                        position + 1,
                        new Opening.Load(table, reason)));
    }

    private TargetTable heldBack(
            @Nullable TargetTable old, RelationDescriptor shape, long position, String reason) {
        TargetTable held = tables.heldBack(shape, position, reason, old);
        return take(held);
    }

    private TargetTable dropped(TargetTable old, long position) {
        LOG.info("{} was dropped at {}", old.label(), Lsn.format(position));
        return take(
                tables.generation(
                        old.shape(),
                        old.mapping(),
                        TableState.DROPPED,
                        position,
                        new Opening.Drop(old)));
    }

    private TargetTable take(TargetTable next) {
        TargetTable old = tables.find(next.databaseOid(), next.relationOid());
        if (old != null) {
            next.continueCounts(old);
        }
        tables.replace(next);
        return next;
    }
}
