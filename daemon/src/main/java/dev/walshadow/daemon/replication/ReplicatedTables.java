package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationShapes;
import dev.walshadow.daemon.preflight.TableSelection;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.pipeline.RelationChange;
import dev.walshadow.pipeline.TableState;
import dev.walshadow.pipeline.TableStatus;
import dev.walshadow.pipeline.TargetTables;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Picks from what a commit changed what concerns selected tables, and hands it to the pipeline.
 * Called by the pump at a hold.
 */
final class ReplicatedTables implements CatalogCapture.Changes {
    private final Pipeline pipeline;
    private final TableSelection selection;
    private final FollowedDatabases databases;
    private final DescriptorLog log;
    private @Nullable Sequences sequences;
    private Predicate<RelationDescriptor> readOtherwise = _ -> false;

    ReplicatedTables(
            Pipeline pipeline,
            TableSelection selection,
            FollowedDatabases databases,
            DescriptorLog log) {
        this.pipeline = pipeline;
        this.selection = selection;
        this.databases = databases;
        this.log = log;
    }

    /** What is read whether it is followed or not. Before the pump starts. */
    void readOtherwise(Predicate<RelationDescriptor> tables) {
        readOtherwise = tables;
    }

    /** Told what else commits changed. Before the pump starts. */
    void tell(Sequences others) {
        sequences = others;
    }

    private void tellOthers(CatalogCapture.Occasion occasion, List<DescriptorLog.Change> changes) {
        if (sequences != null) {
            sequences.changed(occasion.position(), changes);
        }
    }

    @Override
    public void changed(CatalogCapture.Occasion occasion, List<DescriptorLog.Change> changes)
            throws InterruptedException {
        tellOthers(occasion, changes);
        long position = occasion.position();
        List<RelationChange> selected = new ArrayList<>();
        for (DescriptorLog.Change change : withPartitions(changes, position)) {
            if (isTakenLater(change.before(), position - 1)) {
                continue;
            }
            RelationDescriptor before = selected(change.before(), position - 1);
            RelationDescriptor after = selected(change.after(), position);
            if (before != null || after != null) {
                boolean older =
                        (before == null && change.before() != null)
                                || (after != null && isNewlyFollowed(after, position))
                                || (after != null && hasForeignStorage(after, position));
                boolean rewritten = after != null && hasTransientStorage(after, occasion);
                selected.add(new RelationChange(before, after, older, rewritten));
            }
        }
        hand(position, occasion.firstLsn(), selected);
    }

    /**
     * With the partitions that are selected from here on, or are not any more, because of what
     * became of a partitioned table above them: they have not changed themselves.
     */
    private List<DescriptorLog.Change> withPartitions(
            List<DescriptorLog.Change> changes, long position) {
        if (changes.stream().noneMatch(ReplicatedTables::changesPlace)) {
            return changes;
        }
        Set<Long> told = new HashSet<>();
        for (DescriptorLog.Change change : changes) {
            RelationDescriptor either = Objects.requireNonNullElse(change.after(), change.before());
            told.add(key(either.databaseOid(), either.oid()));
        }
        List<DescriptorLog.Change> all = new ArrayList<>(changes);
        for (RelationDescriptor leaf : log.active(position)) {
            if (leaf.partition()
                    && !told.contains(key(leaf.databaseOid(), leaf.oid()))
                    && selects(leaf, position) != selects(leaf, position - 1)) {
                all.add(new DescriptorLog.Change(leaf, leaf));
            }
        }
        return all;
    }

    /** A partitioned table was renamed, attached or detached. */
    private static boolean changesPlace(DescriptorLog.Change change) {
        RelationDescriptor before = change.before();
        RelationDescriptor after = change.after();
        return before != null
                && after != null
                && after.kind() == 'p'
                && (before.parentOid() != after.parentOid() || !before.name().equals(after.name()));
    }

    /**
     * The configuration has selected it since an earlier run that left it out, and its shape was
     * not known at the start: it is not this commit that selects it, but {@link #tellMissing}.
     */
    private boolean isTakenLater(@Nullable RelationDescriptor before, long position) {
        return before != null
                && isOwed(log, before, position)
                && selection.matches(before, Partitions.at(log, position));
    }

    @Override
    public boolean concern(RelationDescriptor relation, long position) {
        return relation.kind() == 'S'
                || readOtherwise.test(relation)
                || selects(relation, position);
    }

    private @Nullable RelationDescriptor selected(
            @Nullable RelationDescriptor relation, long position) {
        return relation != null && selects(relation, position) ? relation : null;
    }

    /**
     * Whether it is a table to be followed, by its shape of this position. One whose shape is owed
     * is not, nor are its partitions, before it has been read.
     */
    boolean selects(RelationDescriptor relation, long position) {
        return selects(selection, databases, log, relation, position);
    }

    /** The same as of now, and of a sequence that no table's column owns, by its name. */
    boolean selectsNow(RelationDescriptor relation) {
        if (relation.kind() != 'S') {
            return selects(relation, Long.MAX_VALUE);
        }
        DatabaseDescriptor database = log.database(relation.databaseOid(), Long.MAX_VALUE);
        return database != null && databases.wants(database) && selection.matches(relation.name());
    }

    /** For tables that an earlier process followed. */
    static TargetTables.Selected selected(
            TableSelection selection, FollowedDatabases databases, DescriptorLog log) {
        return new TargetTables.Selected() {
            @Override
            public boolean test(RelationDescriptor relation, long position) {
                return selects(selection, databases, log, relation, position);
            }

            @Override
            public boolean dropsRows(RelationDescriptor relation) {
                return selection.decisions().dropsRows(relation.name());
            }
        };
    }

    private static boolean selects(
            TableSelection selection,
            FollowedDatabases databases,
            DescriptorLog log,
            RelationDescriptor relation,
            long position) {
        DatabaseDescriptor database = log.database(relation.databaseOid(), position);
        return database != null
                && databases.wants(database)
                && selection.matches(relation, Partitions.at(log, position))
                && !isOwed(log, relation, position);
    }

    private static boolean isOwed(DescriptorLog log, RelationDescriptor relation, long position) {
        RelationDescriptor root =
                relation.partition()
                        ? Partitions.root(relation, Partitions.at(log, position))
                        : null;
        return log.isOwed(relation, position) || (root != null && log.isOwed(root, position));
    }

    /** Tables that are selected and in the log, but that the pipeline does not follow. */
    void tellMissing(long position) throws InterruptedException {
        Set<Long> known = new HashSet<>();
        pipeline.tables().stream()
                .filter(table -> table.state() != TableState.DROPPED)
                .forEach(table -> known.add(key(table.databaseOid(), table.relationOid())));
        List<RelationDescriptor> missing =
                selected(position).stream()
                        .filter(each -> !known.contains(key(each.databaseOid(), each.oid())))
                        .toList();
        if (!missing.isEmpty()) {
            pipeline.take(position, missing);
        }
    }

    /** All tables to be followed, by their shapes of this position. */
    List<RelationDescriptor> selected(long position) {
        return log.active(position).stream()
                .filter(relation -> selects(relation, position))
                .toList();
    }

    /** A table, whether selected or not; null if there is none of this name. */
    @Nullable RelationDescriptor find(String name, long position) {
        return log.active(position).stream()
                .filter(relation -> "rmp".indexOf(relation.kind()) >= 0)
                .filter(relation -> relation.name().toString().equals(name))
                .findFirst()
                .orElse(null);
    }

    /** What a partition's rows belong to; null if it is no partition, or the log lacks it. */
    @Nullable RelationDescriptor rootOf(RelationDescriptor relation, long position) {
        return relation.partition()
                ? Partitions.root(relation, Partitions.at(log, position))
                : null;
    }

    TableSelection selection() {
        return selection;
    }

    /** What the log knows ends here. */
    long knownUpTo() {
        return log.lastLsn();
    }

    private static long key(int databaseOid, int relationOid) {
        return (long) databaseOid << 32 | Integer.toUnsignedLong(relationOid);
    }

    /** A clone has its template's rows; others have been there unseen. */
    private boolean isNewlyFollowed(RelationDescriptor relation, long position) {
        DatabaseDescriptor before = log.database(relation.databaseOid(), position - 1);
        return before == null || !before.followed();
    }

    /** Storage that was filled as another relation's, whose rows nobody kept. */
    private boolean hasForeignStorage(RelationDescriptor after, long position) {
        if (after.locator() == null) {
            return false;
        }
        RelationDescriptor owner = log.find(after.locator(), position - 1);
        return owner != null && owner.oid() != after.oid();
    }

    /** Storage is numbered as the relation that it was made for: one that is gone again. */
    private boolean hasTransientStorage(
            RelationDescriptor after, CatalogCapture.Occasion occasion) {
        if (after.locator() == null || after.locator().relationNumber() == after.oid()) {
            return false;
        }
        int madeFor = after.locator().relationNumber();
        long position = occasion.position();
        return occasion.named().test(madeFor)
                && log.find(after.databaseOid(), madeFor, position) == null
                && log.find(after.databaseOid(), madeFor, position - 1) == null;
    }

    private void hand(long position, long firstLsn, List<RelationChange> selected)
            throws InterruptedException {
        if (!selected.isEmpty()) {
            pipeline.changeRelations(position, firstLsn, selected);
        }
    }

    /**
     * For what changed while the initial load ran, and what a transaction changed that began before
     * it. Commits of that time were decoded with the shapes and the storage from before it, and
     * what such a transaction did before the stream is not here, so rows in newer storage, and of
     * newer tables, are missing: such a table is loaded anew.
     */
    CatalogCapture.Changes unseenChanges() {
        return (occasion, changes) -> {
            tellOthers(occasion, changes);
            long position = occasion.position();
            List<RelationChange> selected = new ArrayList<>();
            for (DescriptorLog.Change change : withPartitions(changes, position)) {
                RelationDescriptor before = selected(change.before(), position - 1);
                RelationDescriptor after = selected(change.after(), position);
                if (after != null && (before == null || differs(before, after))) {
                    selected.add(new RelationChange(before, after, true, false));
                } else if (before != null && after == null) {
                    selected.add(new RelationChange(before, null, false, false));
                }
            }
            hand(position, occasion.firstLsn(), selected);
        };
    }

    private static boolean differs(RelationDescriptor before, RelationDescriptor after) {
        return RelationShapes.shapeDiffers(before, after) != null
                || !Objects.equals(before.locator(), after.locator());
    }

    /** Every table that is held back or quarantined, with its reason. */
    static List<String> setAside(Pipeline pipeline) {
        List<String> lines = new ArrayList<>();
        for (TableStatus table : pipeline.tables()) {
            if (table.state() == TableState.HELD || table.state() == TableState.QUARANTINED) {
                lines.add(table.name() + " is not replicated: " + table.reason());
            }
        }
        return lines;
    }
}
