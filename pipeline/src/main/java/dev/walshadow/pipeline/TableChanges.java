package dev.walshadow.pipeline;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationShapes;
import dev.walshadow.pipeline.ddl.ShapeChange;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.transaction.CommittedChanges;
import java.util.ArrayList;
import java.util.Comparator;
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

    /** What set it aside may have been that its rows were read in a shape from before it. */
    private static final String SHAPE_UNKNOWN = "its shape changed before the stream told of it";

    private static final CatalogChange NOTHING = new CatalogChange(0, List.of());
    private static final String NOT_IN_WAL = "it has rows that are not in the WAL";

    private final TargetTables tables;
    private final DescriptorLog log;

    // of the commit at hand

    /** Generations whose openings have not begun. */
    private final List<TargetTable> opened = new ArrayList<>();

    private StorageScan scan;

    TableChanges(TargetTables tables, DescriptorLog log) {
        this.tables = tables;
        this.log = log;
        this.scan = StorageScan.of(NOTHING, new EmptyChanges(0, 0), log);
    }

    /**
     * The generations that begin here with an opening; they have taken their tables' places.
     *
     * @param records all that the commit wrote
     */
    List<TargetTable> apply(CatalogChange change, CommittedChanges records) {
        opened.clear();
        scan = StorageScan.of(change, records, log);
        boolean rooted = false;
        for (CatalogChange.Item item : rootsFirst(change.items())) {
            switch (item) {
                case CatalogChange.Resumed(TargetTable table) -> opened.add(table);
                case CatalogChange.Changed(RelationChange of) -> {
                    rooted |= isPartitioned(of);
                    changed(of, change.position());
                }
                case CatalogChange.Taken(RelationDescriptor relation) ->
                        taken(relation, change.position());
                case CatalogChange.LeftOut(RelationDescriptor relation, boolean drop) ->
                        leftOut(relation, drop, change.position());
                case CatalogChange.Reload again -> rooted |= reload(again, change.position());
            }
        }
        if (rooted) {
            followRoots(change.position());
        }
        List<TargetTable> begun = List.copyOf(opened);
        opened.clear();
        return begun;
    }

    private static List<CatalogChange.Item> rootsFirst(List<CatalogChange.Item> items) {
        return items.stream().sorted(Comparator.comparing(item -> !isOfRoot(item))).toList();
    }

    private static boolean isOfRoot(CatalogChange.Item item) {
        return switch (item) {
            case CatalogChange.Resumed(TargetTable table) -> table.isPartitioned();
            case CatalogChange.Changed(RelationChange of) -> isPartitioned(of);
            case CatalogChange.Taken(RelationDescriptor relation) -> relation.kind() == 'p';
            case CatalogChange.LeftOut(RelationDescriptor relation, boolean _) ->
                    relation.kind() == 'p';
            case CatalogChange.Reload _ -> false;
        };
    }

    private static boolean isPartitioned(RelationChange change) {
        RelationDescriptor after = change.after();
        RelationDescriptor before = change.before();
        return (after != null && after.kind() == 'p') || (before != null && before.kind() == 'p');
    }

    private void changed(RelationChange change, long position) {
        TargetTable old = tables.find(change.databaseOid(), change.relationOid());
        RelationDescriptor after = change.after();
        if (old != null && position <= old.fromPosition()) {
            if (position == old.fromPosition() && after != null && old.opening() == null) {
                resumed(old, change, after);
            }
            return; // done before a restart
        }
        if (after == null) {
            if (old != null && old.state() != TableState.DROPPED) {
                dropped(old, position);
            }
            return;
        }
        TargetTable root = tables.rootOf(after, Partitions.at(log, position));
        if (root != null) {
            partition(old, root, change, position);
        } else if (old == null || old.state() == TableState.DROPPED) {
            appeared(change, after, position);
        } else if (old.root() != null) {
            anew(old, after, position, "it is no partition any more");
        } else {
            followed(old, change, after, position);
        }
    }

    /** Its rows of this commit come again. */
    private void resumed(TargetTable table, RelationChange change, RelationDescriptor after) {
        RelationDescriptor before = change.before();
        if (before != null
                && table.root() == null
                && isRefill(change, RelationShapes.shapeDiffers(before, after))) {
            table.keepNewStorageOnly();
        }
    }

    /** All that the table has after the commit is in the records of its new storage. */
    private boolean isRefill(RelationChange change, @Nullable String difference) {
        return switch (scan.content(change)) {
            case REPLACED -> true;
            case EMPTIED -> difference != null;
            case KEPT, COPIED, UNKNOWN -> false;
        };
    }

    private void followed(
            TargetTable old, RelationChange change, RelationDescriptor after, long position) {
        switch (old.state()) {
            case QUARANTINED -> {
                if (change.hasOlderRows()) {
                    anew(old, after, position, SHAPE_UNKNOWN);
                } else {
                    take(tables.quarantinedAgain(old, after));
                }
            }
            case HELD -> {
                if (RelationShapes.shapeDiffers(old.shape(), after) != null) {
                    anew(old, after, position, "its shape changed while it waited");
                }
            }
            case LOADING -> anewIfChanged(old, change, after, position);
            case LIVE -> {
                if (old.isStaged() || (tables.loadsOnly() && !old.isPartitioned())) {
                    anewIfChanged(old, change, after, position);
                } else {
                    live(old, change, after, position);
                }
            }
            case DROPPED -> throw new IllegalStateException("it appears anew");
        }
    }

    // partitions

    private void partition(
            @Nullable TargetTable old, TargetTable root, RelationChange change, long position) {
        RelationDescriptor after = Objects.requireNonNull(change.after());
        if (old == null || old.state() == TableState.DROPPED) {
            if (scan.content(change) == StorageScan.Content.UNKNOWN) {
                joinAnew(null, root, after, position, NOT_IN_WAL);
            } else {
                join(null, root, after, position);
            }
        } else if (old.state() == TableState.QUARANTINED && change.hasOlderRows()) {
            joinAnew(old, root, after, position, SHAPE_UNKNOWN);
        } else if (old.state() == TableState.QUARANTINED) {
            take(tables.quarantinedAgain(old, after).join(root));
        } else if (old.root() == null || old.root().key() != root.key()) {
            joinAnew(old, root, after, position, "it was attached to " + root.label());
        } else {
            stays(old, root, change, position);
        }
    }

    /** Of the same partitioned table as before. */
    private void stays(TargetTable old, TargetTable root, RelationChange change, long position) {
        RelationDescriptor after = Objects.requireNonNull(change.after());
        String difference = RelationShapes.shapeDiffers(old.shape(), after);
        boolean rewritten =
                needsRows(old, change, after)
                        || (difference != null && hasMoved(before(old, change), after));
        boolean loading = old.state() != TableState.LIVE || old.isStaged() || tables.loadsOnly();
        if (rewritten || (loading && difference != null)) {
            joinAnew(
                    old,
                    root,
                    after,
                    position,
                    difference == null ? "its storage was replaced" : difference);
        } else if (difference != null && !loading) {
            join(old, root, after, position);
        }
    }

    private void join(
            @Nullable TargetTable old, TargetTable root, RelationDescriptor leaf, long position) {
        switch (tables.deriveIn(root, leaf)) {
            case Derivation.Mapped mapped ->
                    take(
                            tables.generation(
                                            leaf,
                                            mapped.mapping(),
                                            TableState.LIVE,
                                            position,
                                            new Opening.Join(old))
                                    .join(root));
            case Derivation.HeldBack held ->
                    heldBack(old, leaf, position, String.join("; ", held.reasons()));
        }
    }

    private void joinAnew(
            @Nullable TargetTable old,
            TargetTable root,
            RelationDescriptor leaf,
            long position,
            String reason) {
        switch (tables.deriveIn(root, leaf)) {
            case Derivation.Mapped mapped -> {
                LOG.info("{} is loaded into {}: {}", leaf.label(), root.label(), reason);
                take(
                        tables.generation(
                                        leaf,
                                        mapped.mapping(),
                                        TableState.LOADING,
                                        position + 1,
                                        new Opening.JoinLoad(old, reason))
                                .because(kept(reason))
                                .join(root));
            }
            case Derivation.HeldBack held ->
                    heldBack(old, leaf, position + 1, String.join("; ", held.reasons()));
        }
    }

    /** Partitions that have not changed themselves, but what they belong to has. */
    private void followRoots(long position) {
        for (TargetTable leaf : tables.partitions()) {
            RelationDescriptor shape = log.find(leaf.databaseOid(), leaf.relationOid(), position);
            if (shape == null || position < leaf.fromPosition() || opened.contains(leaf)) {
                continue;
            }
            TargetTable root = tables.rootOf(shape, Partitions.at(log, position));
            if (root == leaf.root()) {
                continue;
            }
            boolean same = root != null && root.key() == keyOf(leaf.root());
            if (root == null) {
                anew(leaf, shape, position, "it is no partition any more");
            } else if (leaf.state() == TableState.QUARANTINED && !isRemade(root)) {
                take(tables.quarantinedAgain(leaf, shape).join(root));
            } else if (!same || isRemade(root)) {
                joinAnew(leaf, root, shape, position, "its partitioned table changed");
            } else if (leaf.state() == TableState.LIVE && !leaf.isStaged() && !tables.loadsOnly()) {
                join(leaf, root, shape, position);
            } else {
                joinAnew(leaf, root, shape, position, "its partitioned table changed");
            }
        }
    }

    private static long keyOf(@Nullable TargetTable table) {
        return table == null ? 0 : table.key();
    }

    /** Its table begins empty. */
    private static boolean isRemade(TargetTable root) {
        return root.opening() instanceof Opening.Replace
                || root.opening() instanceof Opening.Create;
    }

    // tables

    /** Whether a TRUNCATE takes the table's rows away. */
    boolean empties(TargetTable table) {
        return tables.empties(table);
    }

    private void appeared(RelationChange change, RelationDescriptor after, long position) {
        if (scan.content(change) == StorageScan.Content.UNKNOWN) {
            anew(null, after, position, NOT_IN_WAL);
            return;
        }
        switch (tables.derive(after)) {
            case Derivation.Mapped mapped -> {
                LOG.info("{} was created at {}", after.label(), Lsn.format(position));
                take(
                        tables.generation(
                                after,
                                mapped.mapping(),
                                TableState.LIVE,
                                position,
                                new Opening.Create(null)));
            }
            case Derivation.HeldBack held ->
                    heldBack(null, after, position, String.join("; ", held.reasons()));
        }
    }

    private void anewIfChanged(
            TargetTable old, RelationChange change, RelationDescriptor after, long position) {
        if (RelationShapes.shapeDiffers(old.shape(), after) != null
                || needsRows(old, change, after)) {
            anew(old, after, position, whileLoading(old));
        }
    }

    /** What was passed by before it was added is still missing. */
    private static String whileLoading(TargetTable old) {
        boolean added = old.reason().equals(TargetTables.ADDED);
        return added ? TargetTables.ADDED : "its shape changed while it was loaded";
    }

    private void live(
            TargetTable old, RelationChange change, RelationDescriptor after, long position) {
        String difference = RelationShapes.shapeDiffers(old.shape(), after);
        String reason = difference == null ? "its storage was replaced" : difference;
        if (isRefill(change, difference)) {
            refilled(old, after, position, reason);
        } else if (needsRows(old, change, after)) {
            anew(old, after, position, reason);
        } else if (difference != null) {
            RelationDescriptor shape =
                    after.kind() == 'p' ? withMissing(old, after, position) : after;
            if (shape == null) {
                anew(old, after, position, "its partitions have different values in a new column");
                return;
            }
            decided(old, before(old, change), shape, position, difference);
        }
    }

    private void refilled(TargetTable old, RelationDescriptor after, long position, String reason) {
        switch (tables.derive(after, old)) {
            case Derivation.Mapped mapped ->
                    take(
                            tables.generation(
                                    after,
                                    mapped.mapping(),
                                    TableState.LIVE,
                                    position,
                                    new Opening.Refill(old, reason)));
            case Derivation.HeldBack held ->
                    heldBack(old, after, position + 1, String.join("; ", held.reasons()));
        }
    }

    private @Nullable RelationDescriptor withMissing(
            TargetTable old, RelationDescriptor after, long position) {
        List<RelationDescriptor> leaves = new ArrayList<>();
        for (TargetTable leaf : tables.partitions()) {
            RelationDescriptor shape = log.find(leaf.databaseOid(), leaf.relationOid(), position);
            if (shape != null && leaf.root() == old) {
                leaves.add(shape);
            }
        }
        return Partitions.withMissingValues(after, leaves, old.mapped().attributeNumbers());
    }

    /** No row was logged with another key than the one of before, if the key has changed. */
    private void decided(
            TargetTable old,
            RelationDescriptor before,
            RelationDescriptor after,
            long position,
            String difference) {
        boolean rekeyable = after.kind() != 'p';
        Alteration to = new Alteration(old, before, after, position);
        switch (tables.decide(old.mapped(), before, after, rekeyable)) {
            case ShapeChange.Unchanged(TableMapping mapping) -> altered(to, mapping, difference);
            case ShapeChange.InPlace inPlace -> altered(to, inPlace.mapping(), difference);
            case ShapeChange.Beside beside -> altered(to, beside.mapping(), beside.reason());
            case ShapeChange.Rekeyed rekeyed -> altered(to, rekeyed.mapping(), rekeyed.reason());
            case ShapeChange.Load load -> anew(old, after, position, load.reason());
            case ShapeChange.HeldBack held ->
                    heldBack(old, after, position + 1, String.join("; ", held.reasons()));
        }
    }

    private record Alteration(
            TargetTable old, RelationDescriptor before, RelationDescriptor after, long position) {}

    private void altered(Alteration to, TableMapping mapping, String what) {
        TargetTable old = to.old();
        LOG.info("{} changed at {}: {}", old.label(), Lsn.format(to.position()), what);
        take(
                tables.generation(
                        to.after(),
                        mapping,
                        TableState.LIVE,
                        to.position(),
                        new Opening.Alter(old, old.mapped(), to.before())));
    }

    /**
     * The generation's shape where an earlier commit has left it: storage that a TRUNCATE or VACUUM
     * FULL gave it is not this change's.
     */
    private static RelationDescriptor before(TargetTable old, RelationChange change) {
        RelationDescriptor before = change.before();
        return before != null && RelationShapes.shapeDiffers(old.shape(), before) == null
                ? before
                : old.shape();
    }

    /** Its rows have changed, or their TIDs, in a way that the records do not tell. */
    private boolean needsRows(TargetTable old, RelationChange change, RelationDescriptor after) {
        boolean byTid = old.mapping() != null && old.mapped().isKeyless();
        return switch (scan.content(change)) {
            case KEPT -> false;
            case COPIED ->
                    byTid
                            || after.kind() == 'm'
                            || (tables.rules().keepsToast() && after.toastRelationOid() != 0);
            case EMPTIED -> byTid && old.root() != null && tables.keepsDetached();
            case REPLACED, UNKNOWN -> true;
        };
    }

    private static boolean hasMoved(RelationDescriptor before, RelationDescriptor after) {
        return !Objects.equals(before.locator(), after.locator());
    }

    /** Returns whether a partitioned table is concerned. */
    private boolean reload(CatalogChange.Reload again, long position) {
        TargetTable old = tables.find(again.databaseOid(), again.relationOid());
        if (old == null || old.state() == TableState.DROPPED) {
            return false;
        }
        TargetTable root = tables.rootOf(old.shape(), Partitions.at(log, position));
        if (root != null) {
            joinAnew(old, root, old.shape(), position - 1, again.reason());
        } else {
            anew(old, old.shape(), position - 1, again.reason());
        }
        return old.isPartitioned();
    }

    /**
     * The table as the source has it, from the commit after {@code position} on; held back if its
     * shape cannot be mapped.
     */
    private void anew(
            @Nullable TargetTable old, RelationDescriptor shape, long position, String reason) {
        Derivation derivation = old == null ? tables.derive(shape) : tables.derive(shape, old);
        switch (derivation) {
            case Derivation.Mapped mapped when shape.kind() == 'p' ->
                    take(
                            tables.generation(
                                    shape,
                                    mapped.mapping(),
                                    TableState.LIVE,
                                    position + 1,
                                    old == null
                                            ? new Opening.Create(null)
                                            : new Opening.Replace(old, reason)));
            case Derivation.Mapped mapped -> {
                LOG.info("{} is loaded anew: {}", shape.label(), reason);
                take(
                        tables.generation(
                                        shape,
                                        mapped.mapping(),
                                        TableState.LOADING,
                                        position + 1,
                                        new Opening.Load(old, reason))
                                .because(kept(reason)));
            }
            case Derivation.HeldBack held ->
                    heldBack(old, shape, position + 1, String.join("; ", held.reasons()));
        }
    }

    /** What the ledger has to know of a load's reason. */
    private static String kept(String reason) {
        return reason.equals(TargetTables.ADDED) ? reason : "";
    }

    /** The same, for a table that the planner found unfit in the middle of a transaction. */
    TargetTable load(TargetTable table, long position, String reason) {
        LOG.info("{} is loaded anew: {}", table.label(), reason);
        TargetTable root = table.root();
        TargetTable next =
                tables.generation(
                        table.shape(),
                        table.mapped(),
                        TableState.LOADING,
                        position + 1,
                        root == null
                                ? new Opening.Load(table, reason)
                                : new Opening.JoinLoad(table, reason));
        return take(root == null ? next : next.join(root));
    }

    private void heldBack(
            @Nullable TargetTable old, RelationDescriptor shape, long position, String reason) {
        take(tables.heldBack(shape, position, reason, old));
    }

    private void dropped(TargetTable old, long position) {
        LOG.info("{} was dropped at {}", old.label(), Lsn.format(position));
        end(old, position, null, "");
    }

    private void end(
            TargetTable old, long position, TargetOptions.@Nullable OnDrop policy, String reason) {
        take(
                tables.generation(
                                old.shape(),
                                old.mapping(),
                                TableState.DROPPED,
                                position,
                                new Opening.Drop(old, policy))
                        .because(reason));
    }

    // tables that somebody asked for

    private void taken(RelationDescriptor relation, long position) {
        TargetTable old = tables.find(relation.databaseOid(), relation.oid());
        if (old != null && old.state() != TableState.DROPPED) {
            return;
        }
        TargetTable root = tables.rootOf(relation, Partitions.at(log, position));
        if (root != null) {
            if (tables.loadsAdded()) {
                joinAnew(old, root, relation, position, TargetTables.ADDED);
            } else {
                join(old, root, relation, position);
            }
        } else if (tables.loadsAdded()) {
            anew(old, relation, position, TargetTables.ADDED);
        } else {
            takenEmpty(old, relation, position);
        }
    }

    private void takenEmpty(@Nullable TargetTable old, RelationDescriptor relation, long position) {
        LOG.info(
                "{} is followed from {} on, without older rows",
                relation.label(),
                Lsn.format(position));
        switch (tables.derive(relation)) {
            case Derivation.Mapped mapped ->
                    take(
                            tables.generation(
                                    relation,
                                    mapped.mapping(),
                                    TableState.LIVE,
                                    position,
                                    new Opening.Create(old)));
            case Derivation.HeldBack held ->
                    heldBack(old, relation, position, String.join("; ", held.reasons()));
        }
    }

    private void leftOut(RelationDescriptor relation, boolean drop, long position) {
        TargetTable old = tables.find(relation.databaseOid(), relation.oid());
        if (old == null || old.state() == TableState.DROPPED) {
            return;
        }
        LOG.info("{} is not followed any more from {} on", old.label(), Lsn.format(position));
        end(
                old,
                position,
                drop ? TargetOptions.OnDrop.DROP : TargetOptions.OnDrop.RETAIN,
                TargetTables.LEFT_OUT);
    }

    private TargetTable take(TargetTable next) {
        TargetTable old = tables.find(next.databaseOid(), next.relationOid());
        if (old != null) {
            next.continueCounts(old);
        }
        tables.replace(next);
        TargetName name = nameOf(next);
        if (name != null && !name.equals(nameOf(old))) {
            tables.names().announce(next, name);
        }
        if (next.opening() != null) {
            opened.add(next);
            if (old != null) {
                arriveBeforeItsRoot(old);
            }
        }
        return next;
    }

    /** Under which its own table is in ClickHouse; null: it has none. */
    private static @Nullable TargetName nameOf(@Nullable TargetTable table) {
        return table == null
                        || table.root() != null
                        || table.mapping() == null
                        || table.state() == TableState.DROPPED
                ? null
                : TargetName.of(table.mapped());
    }

    /**
     * What a partition still sends arrives before the table of its partitioned table changes, if
     * this commit changes that: its opening has not begun.
     */
    private void arriveBeforeItsRoot(TargetTable old) {
        TargetTable left = old.root();
        TargetTable now = left == null ? null : tables.find(left.databaseOid(), left.relationOid());
        if (now != null && now != left && opened.contains(now)) {
            now.members().add(old);
        }
    }
}
