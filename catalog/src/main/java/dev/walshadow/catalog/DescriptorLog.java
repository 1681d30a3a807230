package dev.walshadow.catalog;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Which shape each relation had at which WAL position, durably.
 *
 * <p>A shape that a commit changed and that nobody has read is <em>owed</em>: what the log has of
 * it is what it was before. Relations that are owed keep name, schema, partitioned table and
 * storage; nobody may take their columns or keys for true.
 *
 * <p>One writer, the WAL pump: {@link #append}, {@link #owe} and {@link #compact}. Any thread reads
 * without locks: the histories are immutable arrays in concurrent maps, and a reader asks only for
 * positions whose capture has returned (I2). The whole log is in memory; equal types, columns and
 * names are one object.
 */
public final class DescriptorLog implements AutoCloseable {
    static final String FILE_NAME = "descriptors.log";

    /** Compaction rewrites the file once this share (1/4) of the versions can go. */
    private static final int COMPACT_SHARE = 4;

    private final DescriptorLogFile file;
    private final ConcurrentHashMap<Key, History> byOid = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<RelationLocator, History> byLocator = new ConcurrentHashMap<>();
    private final OwedShapes owed = new OwedShapes();
    private DescriptorPool pool = new DescriptorPool();
    private volatile long lastLsn;

    private record Key(int databaseOid, int relationOid) {}

    private DescriptorLog(Path directory, long systemIdentifier, long leastLsn) {
        file =
                DescriptorLogFile.open(
                        directory.resolve(FILE_NAME),
                        systemIdentifier,
                        new DescriptorLogFile.FrameSink() {
                            @Override
                            public void frame(byte[] bytes, int offset, int length) {
                                readFrame(bytes, offset, length);
                            }

                            @Override
                            public @Nullable String missing() {
                                return lastLsn >= leastLsn
                                        ? null
                                        : "the shapes up to "
                                                + Lsn.format(leastLsn)
                                                + ", found those up to "
                                                + Lsn.format(lastLsn);
                            }
                        });
    }

    /**
     * Opens or creates the log in {@code directory}.
     *
     * @throws dev.walshadow.base.ConfigurationException if it belongs to another cluster or was
     *     written by a newer version
     * @throws dev.walshadow.base.HaltException if it is damaged anywhere but at its torn end
     */
    public static DescriptorLog open(Path directory, long systemIdentifier) {
        return new DescriptorLog(directory, systemIdentifier, 0);
    }

    /**
     * The same, of a log that has been written up to {@code leastLsn} at least: one that ends
     * before has lost more than a torn end.
     */
    public static DescriptorLog open(Path directory, long systemIdentifier, long leastLsn) {
        return new DescriptorLog(directory, systemIdentifier, leastLsn);
    }

    /** A relation that no longer exists; of database 0: a database. */
    public record Dropped(int databaseOid, int relationOid) {}

    /** The same, where all that is gone is of one database. */
    public void append(
            long validFromLsn,
            Collection<RelationDescriptor> present,
            Collection<Integer> droppedOids,
            int databaseOid) {
        append(
                validFromLsn,
                present,
                droppedOids.stream().map(oid -> new Dropped(databaseOid, oid)).toList());
    }

    /**
     * Adds what one capture found, whole or not at all; durable on return. Called by the WAL pump
     * only.
     *
     * @param validFromLsn not below {@link #lastLsn()}
     * @param present relations of any database; those that equal the newest known version cost
     *     nothing, unless they were owed
     */
    public void append(
            long validFromLsn,
            Collection<RelationDescriptor> present,
            Collection<Dropped> dropped) {
        requireInOrder(validFromLsn);
        List<RelationDescriptor> changed = new ArrayList<>();
        for (RelationDescriptor relation : present) {
            if (!relation.equals(newest(relation.databaseOid(), relation.oid()))
                    || isOwed(relation, Long.MAX_VALUE)) {
                changed.add(pool.pooled(relation));
            }
        }
        List<Dropped> gone = new ArrayList<>();
        for (Dropped each : dropped) {
            if (newest(each.databaseOid(), each.relationOid()) != null) {
                gone.add(each);
            }
        }
        ByteBuilder body = new ByteBuilder(256);
        encodeBody(validFromLsn, changed, gone, List.of(), body);
        file.append(body);
        apply(new Frame(validFromLsn, changed, gone, List.of()));
    }

    private void requireInOrder(long lsn) {
        Invariant.check(
                lsn >= lastLsn,
                "a capture at "
                        + Lsn.format(lsn)
                        + " is not older than the log's last at "
                        + Lsn.format(lastLsn));
    }

    /**
     * Notes that a commit changed the shapes of these relations and that nobody has read them;
     * durable on return. Called by the WAL pump only.
     *
     * @param relations known ones
     */
    public void owe(long lsn, int databaseOid, Collection<Integer> relations) {
        requireInOrder(lsn);
        List<OwedShapes.Debtor> unread =
                relations.stream().map(oid -> new OwedShapes.Debtor(databaseOid, oid)).toList();
        for (OwedShapes.Debtor each : unread) {
            Invariant.check(
                    newest(databaseOid, each.relationOid()) != null, "what is owed is known");
        }
        ByteBuilder body = new ByteBuilder(64);
        encodeBody(lsn, List.of(), List.of(), unread, body);
        file.append(body);
        apply(new Frame(lsn, List.of(), List.of(), unread));
    }

    /**
     * Whether the relation's columns and keys at {@code lsn} must not be taken from the log: a
     * commit changed them, and they were not read before a later position, or not at all.
     */
    public boolean isOwed(RelationDescriptor relation, long lsn) {
        return owed.isOwed(relation.databaseOid(), relation.oid(), lsn);
    }

    /** The relations of a database that are owed now. */
    public List<Integer> owed(int databaseOid) {
        return owed.of(databaseOid);
    }

    /** Whether any is. */
    public boolean owesShapes() {
        return !owed.isEmpty();
    }

    /** Whether {@link #isOwed} is true of any relation at {@code lsn}. */
    public boolean owesShapes(long lsn) {
        return owed.isAnyOwed(lsn);
    }

    private @Nullable RelationDescriptor newest(int databaseOid, int oid) {
        History history = byOid.get(new Key(databaseOid, oid));
        return history == null ? null : history.newest();
    }

    private static void encodeBody(
            long validFromLsn,
            List<RelationDescriptor> present,
            List<Dropped> dropped,
            List<OwedShapes.Debtor> unread,
            ByteBuilder out) {
        out.putLong(validFromLsn);
        out.putInt(dropped.size() * 2);
        for (Dropped each : dropped) {
            out.putInt(each.databaseOid());
            out.putInt(each.relationOid());
        }
        DescriptorFormat.encode(present, out);
        if (!unread.isEmpty()) {
            out.putInt(unread.size() * 2);
            for (OwedShapes.Debtor each : unread) {
                out.putInt(each.databaseOid());
                out.putInt(each.relationOid());
            }
        }
    }

    private void readFrame(byte[] bytes, int offset, int length) {
        apply(Frame.read(bytes, offset, length, pool));
    }

    /** What one frame holds. */
    record Frame(
            long lsn,
            List<RelationDescriptor> present,
            List<Dropped> dropped,
            List<OwedShapes.Debtor> unread) {
        static Frame read(byte[] bytes, int offset, int length, DescriptorPool pool) {
            DescriptorReader reader = new DescriptorReader(bytes, offset, length, pool);
            long lsn = reader.longNumber();
            List<Integer> numbers = reader.numbers();
            List<Dropped> dropped = new ArrayList<>();
            for (int i = 0; i + 1 < numbers.size(); i += 2) {
                dropped.add(new Dropped(numbers.get(i), numbers.get(i + 1)));
            }
            List<RelationDescriptor> present = reader.relations();
            List<OwedShapes.Debtor> unread = new ArrayList<>();
            if (!reader.isAtEnd()) {
                List<Integer> debtors = reader.numbers();
                for (int i = 0; i + 1 < debtors.size(); i += 2) {
                    unread.add(new OwedShapes.Debtor(debtors.get(i), debtors.get(i + 1)));
                }
            }
            reader.expectEnd();
            return new Frame(lsn, present, dropped, unread);
        }
    }

    private void apply(Frame frame) {
        long lsn = frame.lsn();
        List<RelationDescriptor> present = frame.present();
        for (Dropped each : frame.dropped()) {
            owed.settle(each.databaseOid(), each.relationOid(), lsn);
            leave(newest(each.databaseOid(), each.relationOid()), lsn);
            put(byOid, new Key(each.databaseOid(), each.relationOid()), lsn, null);
        }
        // first every storage that was left, then every storage that is occupied: two relations
        // can have exchanged theirs
        for (RelationDescriptor relation : present) {
            owed.settle(relation.databaseOid(), relation.oid(), lsn);
            leave(newest(relation.databaseOid(), relation.oid()), lsn);
        }
        for (RelationDescriptor relation : present) {
            put(byOid, new Key(relation.databaseOid(), relation.oid()), lsn, relation);
            if (relation.locator() != null) {
                put(byLocator, relation.locator(), lsn, relation);
            }
        }
        for (OwedShapes.Debtor each : frame.unread()) {
            owed.owe(each.databaseOid(), each.relationOid(), lsn);
        }
        lastLsn = lsn;
    }

    private void leave(@Nullable RelationDescriptor relation, long lsn) {
        if (relation != null && relation.locator() != null) {
            put(byLocator, relation.locator(), lsn, null);
        }
    }

    private static <K> void put(
            Map<K, History> histories, K key, long lsn, @Nullable RelationDescriptor relation) {
        History history = histories.get(key);
        histories.put(
                key, history == null ? History.of(lsn, relation) : history.with(lsn, relation));
    }

    /**
     * The relation whose storage {@code locator} is at {@code lsn}; null if it is unknown, dropped,
     * or the relation has other storage by then.
     */
    public @Nullable RelationDescriptor find(RelationLocator locator, long lsn) {
        History history = byLocator.get(locator);
        return history == null ? null : history.at(lsn);
    }

    /** The relation as it is at {@code lsn}; null if unknown or dropped. */
    public @Nullable RelationDescriptor find(int databaseOid, int relationOid, long lsn) {
        History history = byOid.get(new Key(databaseOid, relationOid));
        return history == null ? null : history.at(lsn);
    }

    /**
     * What one capture changed of a relation.
     *
     * @param before null: it did not exist
     * @param after null: it was dropped
     */
    public record Change(@Nullable RelationDescriptor before, @Nullable RelationDescriptor after) {}

    /**
     * What the capture at exactly this position changed of databases' relations; the same as when
     * it was appended. Walks the whole log.
     */
    public List<Change> changesAt(long lsn) {
        List<Change> changes = new ArrayList<>();
        byOid.forEach((key, history) -> {
            if (key.databaseOid() != 0 && history.changesAt(lsn)) {
                changes.add(new Change(history.at(lsn - 1), history.at(lsn)));
            }
        });
        return changes;
    }

    /** Every relation that exists at {@code lsn}, of all databases. */
    public Collection<RelationDescriptor> active(long lsn) {
        List<RelationDescriptor> active = new ArrayList<>();
        byOid.forEach((key, history) -> {
            RelationDescriptor relation = history.at(lsn);
            if (relation != null && key.databaseOid() != 0) {
                active.add(relation);
            }
        });
        return active;
    }

    /** Every database that is known to exist at {@code lsn}. */
    public List<DatabaseDescriptor> databases(long lsn) {
        List<DatabaseDescriptor> databases = new ArrayList<>();
        byOid.forEach((key, history) -> {
            RelationDescriptor database = history.at(lsn);
            if (database != null && key.databaseOid() == 0) {
                databases.add(DatabaseDescriptor.of(database));
            }
        });
        return databases;
    }

    /** The database as it is at {@code lsn}; null if unknown or dropped. */
    public @Nullable DatabaseDescriptor database(int oid, long lsn) {
        RelationDescriptor found = find(0, oid, lsn);
        return found == null ? null : DatabaseDescriptor.of(found);
    }

    /** The newest capture's position, 0 if there is none. */
    public long lastLsn() {
        return lastLsn;
    }

    /**
     * Forgets what was superseded at or before {@code floorLsn}; nobody may ask for older positions
     * from now on. Does nothing while that would free little. Called by the WAL pump only.
     */
    public void compact(long floorLsn) {
        int all = 0;
        int superseded = 0;
        for (History history : byOid.values()) {
            all += history.size();
            superseded += history.supersededAt(floorLsn);
        }
        if (superseded == 0 || superseded * COMPACT_SHARE < all) {
            return;
        }
        prune(byOid, floorLsn);
        prune(byLocator, floorLsn);
        owed.forget(floorLsn);
        rewrite();
        repool();
    }

    private static <K> void prune(ConcurrentHashMap<K, History> histories, long floorLsn) {
        for (Map.Entry<K, History> entry : histories.entrySet()) {
            History kept = entry.getValue().from(floorLsn);
            if (kept == null) {
                histories.remove(entry.getKey());
            } else {
                entry.setValue(kept);
            }
        }
    }

    /** One capture of one database, as the file is written anew. */
    private record Capture(
            List<RelationDescriptor> present,
            List<Dropped> dropped,
            List<OwedShapes.Debtor> unread) {
        Capture() {
            this(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        }
    }

    private static Capture capture(
            Map<Long, Map<Integer, Capture>> captures, long lsn, int databaseOid) {
        return captures.computeIfAbsent(lsn, _ -> new TreeMap<>())
                .computeIfAbsent(databaseOid, _ -> new Capture());
    }

    private void rewrite() {
        Map<Long, Map<Integer, Capture>> captures = new TreeMap<>();
        byOid.forEach((key, history) ->
                history.forEach((lsn, relation) -> {
                    Capture capture = capture(captures, lsn, key.databaseOid());
                    if (relation == null) {
                        capture.dropped().add(new Dropped(key.databaseOid(), key.relationOid()));
                    } else {
                        capture.present().add(relation);
                    }
                }));
        owed.forEach((debtor, from) ->
                capture(captures, from, debtor.databaseOid()).unread().add(debtor));
        // the last position stays known although nothing may have happened there
        if (lastLsn != 0) {
            Map<Integer, Capture> last = captures.computeIfAbsent(lastLsn, at -> new TreeMap<>());
            if (last.isEmpty()) {
                last.put(0, new Capture());
            }
        }
        ByteBuilder frames = new ByteBuilder(1 << 16);
        ByteBuilder body = new ByteBuilder(1 << 12);
        int count = 0;
        for (Map.Entry<Long, Map<Integer, Capture>> at : captures.entrySet()) {
            for (Map.Entry<Integer, Capture> of : at.getValue().entrySet()) {
                body.clear();
                Capture capture = of.getValue();
                encodeBody(
                        at.getKey(), capture.present(), capture.dropped(), capture.unread(), body);
                DescriptorLogFile.putFrame(body, frames, count++);
            }
        }
        file.replace(frames, count);
    }

    /** Lets go of pooled parts that no version has any more. */
    private void repool() {
        DescriptorPool fresh = new DescriptorPool();
        byOid.values()
                .forEach(history ->
                        history.forEach((lsn, relation) -> {
                            if (relation != null) {
                                fresh.keep(relation);
                            }
                        }));
        pool = fresh;
    }

    @Override
    public void close() {
        file.close();
    }
}
