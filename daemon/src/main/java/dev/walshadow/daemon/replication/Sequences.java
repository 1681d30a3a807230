package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.state.SequenceFile;
import dev.walshadow.pipeline.SequenceRow;
import dev.walshadow.pipeline.SequenceTable;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.SequenceRecord;
import dev.walshadow.postgres.wal.WalRecord;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Last values of the followed databases' sequences, from their WAL records, for {@code _sequences}
 * in ClickHouse. A sequence's value belongs to its storage, which ALTER and TRUNCATE ... RESTART
 * IDENTITY replace in their transaction: the descriptor log says whose storage it is. Values of
 * storage that is nobody's yet, or never will be, are kept like the others, as many as {@link
 * #LOOSE_LIMIT}. Used by the WAL pump, where nothing else is said.
 */
final class Sequences {
    private static final int LOOSE_LIMIT = 10_000;

    /** Whose value the source, or its backup, is asked for, and what it said. */
    record Reading(RelationDescriptor sequence, SequenceFile.Value value) {}

    private record Known(RelationDescriptor relation, boolean shown) {}

    private final Path file;
    private final long systemIdentifier;
    private final FollowedDatabases databases;
    private final DescriptorLog log;
    private final Predicate<RelationDescriptor> selected;
    private final SequenceTable target;
    private final SequenceRecord view = new SequenceRecord();

    /** What the log said at the start; changes up to it are known. */
    private final long knownFrom;

    private final Map<Long, Known> known = new HashMap<>();
    private final Map<RelationLocator, Known> byStorage = new HashMap<>();

    /** In the order of their first records. */
    private final Map<RelationLocator, SequenceFile.Value> values;

    private boolean unsaved;
    private volatile List<RelationDescriptor> unread = List.of();

    /**
     * @param resumes there may be a file of an earlier run
     * @param selected whether a table, or a sequence that no table's column owns, is followed
     */
    Sequences(
            Path file,
            boolean resumes,
            long systemIdentifier,
            FollowedDatabases databases,
            DescriptorLog log,
            Predicate<RelationDescriptor> selected,
            SequenceTable target) {
        this.file = file;
        this.systemIdentifier = systemIdentifier;
        this.databases = databases;
        this.log = log;
        this.selected = selected;
        this.target = target;
        this.knownFrom = log.lastLsn();
        this.values = resumes ? SequenceFile.read(file, systemIdentifier) : new LinkedHashMap<>();
        log.active(Long.MAX_VALUE).stream().filter(Sequences::isSequence).forEach(this::learn);
        findUnread();
        target.told();
    }

    /** Unlogged ones have no records, and are empty after a crash. */
    static boolean isSequence(@Nullable RelationDescriptor relation) {
        return relation != null && relation.kind() == 'S' && relation.persistence() == 'p';
    }

    // ---- from the stream

    void onRecord(WalRecord record) {
        if (record.resourceManager() != ResourceManager.SEQUENCE) {
            return;
        }
        view.wrap(record);
        if (!databases.keeps(view.databaseOid())) {
            return;
        }
        RelationLocator storage = view.locator();
        SequenceFile.Value before = values.get(storage);
        if (before != null && Long.compareUnsigned(before.lsn(), record.lsn()) > 0) {
            return;
        }
        unsaved = true;
        if (view.logCount() != 0) {
            // the copy of an unlogged one's tuple: values will be given that no record tells of
            values.remove(storage);
            findUnread();
        } else {
            values.put(
                    storage,
                    new SequenceFile.Value(view.lastValue(), view.isCalled(), record.lsn()));
        }
        Known owner = byStorage.get(storage);
        if (owner != null) {
            show(owner);
        } else if (values.size() > known.size() + LOOSE_LIMIT) {
            forgetEldest();
        }
    }

    private void forgetEldest() {
        Iterator<RelationLocator> storage = values.keySet().iterator();
        while (storage.hasNext() && values.size() > known.size() + LOOSE_LIMIT / 2) {
            if (!byStorage.containsKey(storage.next())) {
                storage.remove();
            }
        }
    }

    /** What commits changed; other relations are passed over. */
    void changed(long position, List<DescriptorLog.Change> changes) {
        boolean found = false;
        for (DescriptorLog.Change change : changes) {
            RelationDescriptor before = change.before();
            RelationDescriptor after = change.after();
            if (position <= knownFrom || (!isSequence(before) && !isSequence(after))) {
                continue;
            }
            found = true;
            if (before != null) {
                forget(before);
            }
            if (after != null && isSequence(after)) {
                learn(after);
            } else if (before != null) {
                target.remove(before.databaseOid(), before.oid());
            }
        }
        if (found) {
            findUnread();
        }
    }

    private void learn(RelationDescriptor relation) {
        Known one = new Known(relation, isShown(relation));
        known.put(key(relation), one);
        byStorage.put(storage(relation), one);
        show(one);
    }

    private void forget(RelationDescriptor relation) {
        Known old = known.remove(key(relation));
        if (old != null) {
            byStorage.remove(storage(old.relation()));
        }
    }

    /** What is selected may have changed. */
    void reselect() {
        boolean changed = false;
        for (Known each : List.copyOf(known.values())) {
            if (each.shown() != isShown(each.relation())) {
                changed = true;
                learn(each.relation());
            }
        }
        if (changed) {
            findUnread();
        }
    }

    private boolean isShown(RelationDescriptor sequence) {
        RelationDescriptor owner =
                sequence.ownerRelationOid() == 0
                        ? null
                        : log.find(
                                sequence.databaseOid(),
                                sequence.ownerRelationOid(),
                                Long.MAX_VALUE);
        return selected.test(owner == null ? sequence : owner);
    }

    private void show(Known each) {
        RelationDescriptor relation = each.relation();
        if (!each.shown()) {
            target.remove(relation.databaseOid(), relation.oid());
            return;
        }
        SequenceFile.Value value = values.get(storage(relation));
        String database = databases.name(relation.databaseOid());
        target.put(
                new SequenceRow(
                        relation.databaseOid(),
                        relation.oid(),
                        database == null ? "" : database,
                        relation.name().schema(),
                        relation.name().name(),
                        value == null ? null : value.lastValue(),
                        value != null && value.called(),
                        value == null ? 0 : value.lsn()));
    }

    /** Before the resume floor passes what they are of. */
    void save() throws IOException {
        if (unsaved) {
            SequenceFile.write(file, systemIdentifier, values);
            unsaved = false;
        }
    }

    // ---- from the source

    private void findUnread() {
        List<RelationDescriptor> without = new ArrayList<>();
        for (Known each : known.values()) {
            if (each.shown() && !values.containsKey(storage(each.relation()))) {
                without.add(each.relation());
            }
        }
        unread = List.copyOf(without);
    }

    /** Whose value no record has told. Any thread. */
    List<RelationDescriptor> unread() {
        return unread;
    }

    /** What the source, or its backup, has said; of storage that is the sequence's. */
    void read(List<Reading> readings) {
        for (Reading reading : readings) {
            Known one = byStorage.get(storage(reading.sequence()));
            if (one != null
                    && values.putIfAbsent(storage(reading.sequence()), reading.value()) == null) {
                unsaved = true;
                show(one);
            }
        }
        findUnread();
    }

    static RelationLocator storage(RelationDescriptor sequence) {
        return Objects.requireNonNull(sequence.locator(), "a sequence has storage");
    }

    private static long key(RelationDescriptor relation) {
        return (long) relation.databaseOid() << 32 | Integer.toUnsignedLong(relation.oid());
    }
}
