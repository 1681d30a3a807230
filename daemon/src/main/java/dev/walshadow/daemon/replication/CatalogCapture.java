package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.RetryException;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.DatabaseInfo;
import dev.walshadow.shadow.IndexInfo;
import dev.walshadow.shadow.ShadowSessions;
import dev.walshadow.source.CatalogBoundary;
import dev.walshadow.source.Catalogs;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The boundary hold (I2): at a catalog-changing commit the WAL pump waits here until the shadow
 * shows exactly that commit, and what changed is durable in the descriptor log. Nothing further is
 * published meanwhile, since the pump is the only publisher (I14). Used by the pump alone.
 *
 * <p>A transaction changes relations of its own database only; besides, it may create, drop, rename
 * or move others. What one commit did is one entry of the log, durable whole or not at all.
 */
final class CatalogCapture {
    /**
     * What changed.
     *
     * @param position of the commit; from there on the changes hold
     * @param firstLsn where a restart must begin so that this is told again
     * @param named whether the commit's messages name a relation; also one that it made and dropped
     */
    record Occasion(long position, long firstLsn, IntPredicate named) {
        static Occasion of(CatalogBoundary boundary) {
            return new Occasion(boundary.nextLsn(), boundary.commitLsn(), boundary::names);
        }
    }

    /** Told what a capture found, before the commit is handed on. */
    interface Changes {
        /**
         * @param occasion valid during the call
         */
        void changed(Occasion occasion, List<DescriptorLog.Change> changes)
                throws InterruptedException;

        /** Whether this relation's changes may matter; a shape of this position. */
        default boolean concern(RelationDescriptor relation, long position) {
            return true;
        }
    }

    /** Told which indexes tables that are left out have, as of the last record handed on. */
    interface IndexSink {
        void index(int databaseOid, int indexOid, int tableOid);
    }

    private static final Logger LOG = LoggerFactory.getLogger(CatalogCapture.class);
    private static final Duration STALL = Duration.ofSeconds(30);
    private static final long RETRY_CEILING_MILLIS = 2_000;

    private final DescriptorLog log;
    private final ShadowSessions sessions;
    private final CatalogReader reader;
    private final FollowedDatabases databases;
    private final Changes changes;

    /** Told what transactions changed that began before the stream. */
    private final Changes unseenChanges;

    private IndexSink indexes = (_, _, _) -> {};

    /** Null: to be found anew. */
    private @Nullable Set<Integer> rowTypes;

    /** The next read of a boundary's relations tells all indexes too. */
    private boolean readsIndexes;

    private long holds;
    private long holdNanos;

    CatalogCapture(
            DescriptorLog log,
            ShadowSessions sessions,
            FollowedDatabases databases,
            Changes changes,
            Changes unseenChanges) {
        this.unseenChanges = unseenChanges;
        this.log = log;
        this.sessions = sessions;
        this.databases = databases;
        this.changes = changes;
        this.reader = new CatalogReader(databases.several());
    }

    void tellIndexes(IndexSink sink) {
        indexes = sink;
    }

    long holds() {
        return holds;
    }

    long holdNanos() {
        return holdNanos;
    }

    /** What one capture finds. */
    private static final class Found {
        final long position;
        final List<RelationDescriptor> present = new ArrayList<>();
        final List<DescriptorLog.Dropped> dropped = new ArrayList<>();
        final List<DescriptorLog.Change> news = new ArrayList<>();
        @Nullable List<DatabaseDescriptor> databases;

        Found(long position) {
            this.position = position;
        }
    }

    /**
     * Captures what a boundary changed; returns when it is durable. A boundary that an earlier
     * process has captured is told again from the log.
     */
    void hold(CatalogBoundary boundary) throws InterruptedException {
        long position = boundary.nextLsn();
        Changes told = boundary.isUnseen() ? unseenChanges : changes;
        if (position <= log.lastLsn()) {
            tell(Occasion.of(boundary), log.changesAt(position), told);
            return;
        }
        boolean relations = concernsRelations(boundary);
        if (relations && owes(boundary)) {
            return;
        }
        if (!relations && !boundary.databases()) {
            return;
        }
        long started = System.nanoTime();
        Found found = new Found(position);
        if (relations) {
            findRelations(boundary, found);
        }
        if (boundary.databases()) {
            findDatabases(boundary.replayLsn(), found);
        }
        keep(found);
        tell(Occasion.of(boundary), found.news, told);
        holds++;
        holdNanos += System.nanoTime() - started;
    }

    private boolean concernsRelations(CatalogBoundary boundary) {
        int database = boundary.databaseOid();
        if (boundary.onlyDatabases() || !databases.follows(database)) {
            return false;
        }
        boolean temporary = boundary.mayBeTemporaryOnly();
        if (!temporary && !boundary.mayBeIndexesOnly()) {
            return true;
        }
        long position = boundary.nextLsn();
        for (int i = 0; i < boundary.relationCount(); i++) {
            int oid = boundary.relation(i);
            RelationDescriptor known = log.find(database, oid, position);
            boolean matters =
                    known == null
                            ? Integer.compareUnsigned(oid, Catalogs.FIRST_NORMAL_OID) < 0
                                    || rowTypes(position).contains(oid)
                            : temporary || changes.concern(known, position);
            if (matters) {
                return true;
            }
        }
        return false;
    }

    /**
     * Whether nothing needs to be read now: only tables changed that are left out, in what is of no
     * interest as long as they are. The log notes it, so that it is read before it is of interest.
     */
    private boolean owes(CatalogBoundary boundary) {
        readsIndexes = false;
        if (!boundary.mayBeInPlaceOnly()) {
            return false;
        }
        int database = boundary.databaseOid();
        Set<Integer> owed = new TreeSet<>();
        for (int i = 0; i < boundary.relationCount(); i++) {
            int oid = boundary.relation(i);
            RelationDescriptor changed = tableOf(boundary, i);
            if (Integer.compareUnsigned(oid, Catalogs.FIRST_NORMAL_OID) < 0
                    || rowTypes(boundary.nextLsn()).contains(oid)
                    || (changed != null && changes.concern(changed, boundary.nextLsn()))) {
                return false;
            }
            if (changed != null) {
                owed.add(changed.oid());
            } else if (boundary.updatesIndexes()) {
                readsIndexes = true; // so that it is known the next time
            }
        }
        if (readsIndexes) {
            return false;
        }
        if (!owed.isEmpty()) {
            log.owe(boundary.nextLsn(), database, owed);
        }
        return true;
    }

    /**
     * What changes if a named relation does: itself, the table of an index or of a TOAST relation.
     * Null: nothing that is known. An index that is dropped is named with its table.
     */
    private @Nullable RelationDescriptor tableOf(CatalogBoundary boundary, int i) {
        int database = boundary.databaseOid();
        long position = boundary.nextLsn();
        RelationDescriptor known = log.find(database, boundary.relation(i), position);
        if (known == null && boundary.tableOf(i) != 0) {
            known = log.find(database, boundary.tableOf(i), position);
        }
        return known != null && known.kind() == 't'
                ? log.find(database, known.ownerRelationOid(), position)
                : known;
    }

    /** Whether the log has it; true where the log need not have what is there. */
    boolean mayHave(int database, int relationOid) {
        return !databases.follows(database)
                || log.find(database, relationOid, Long.MAX_VALUE) != null;
    }

    /**
     * Relations of the composites that known columns are made of, in any database: ALTER TYPE names
     * these only.
     */
    private Set<Integer> rowTypes(long position) {
        Set<Integer> relations = rowTypes;
        if (relations == null) {
            relations = new HashSet<>();
            Set<List<TypeDescriptor>> seen = Collections.newSetFromMap(new IdentityHashMap<>());
            for (RelationDescriptor relation : log.active(position)) {
                // tables with equal types share one list
                if (seen.add(relation.types())) {
                    for (TypeDescriptor type : relation.types()) {
                        if (type.structure() instanceof TypeStructure.Composite row) {
                            relations.add(row.relationOid());
                        }
                    }
                }
            }
            rowTypes = relations;
        }
        return relations;
    }

    /**
     * The first capture: everything, at the hand-off of the initial load. What changed since the
     * seed changed without a hold, so commits in between were decoded with the seed.
     */
    void captureAll(long position, Changes sinceSeed) throws InterruptedException {
        captureEverything(position, sinceSeed);
    }

    /** After a restart with another configuration: takes up and gives up databases. */
    void captureConfiguration(long position) throws InterruptedException {
        captureEverything(position, changes);
    }

    private void captureEverything(long position, Changes told) throws InterruptedException {
        Found found = new Found(position);
        for (DatabaseDescriptor now : findDatabases(position, found)) {
            if (now.followed()) {
                found.present.removeIf(each -> each.databaseOid() == now.oid());
                found.news.removeIf(each -> isOf(each, now.oid()));
                findAll(position, now, found);
            }
        }
        keep(found);
        for (DatabaseDescriptor now : databases.known()) {
            if (now.followed() && leavesOut(now.oid(), position)) {
                readIndexes(position, now.oid(), position);
            }
        }
        tell(new Occasion(position, position, _ -> false), found.news, told);
    }

    private boolean leavesOut(int databaseOid, long position) {
        return active(databaseOid, position).values().stream()
                .anyMatch(each -> each.kind() != 't' && !changes.concern(each, position));
    }

    /** Of a database's tables that are left out, all indexes. */
    private void readIndexes(long replayLsn, int databaseOid, long position)
            throws InterruptedException {
        List<String> name = List.of(String.valueOf(databases.name(databaseOid)));
        for (IndexInfo each : read(replayLsn, name, reader::indexes)) {
            RelationDescriptor table = log.find(databaseOid, each.tableOid(), position);
            if (table != null && !changes.concern(table, position)) {
                indexes.index(databaseOid, each.oid(), each.tableOid());
            }
        }
    }

    /**
     * Reads every shape that is owed, so that it is known from {@code position} on. Between pushes,
     * where the shadow has what the stream has handed on, and can be read.
     */
    void settle(long position) throws InterruptedException {
        Found found = new Found(position);
        for (DatabaseDescriptor each : databases.known()) {
            List<Integer> owed = log.owed(each.oid());
            if (each.followed() && !owed.isEmpty()) {
                findNamed(position, each.oid(), owed, found);
            }
        }
        keep(found);
    }

    private static boolean isOf(DescriptorLog.Change change, int databaseOid) {
        RelationDescriptor either = change.after() != null ? change.after() : change.before();
        return either != null && either.databaseOid() == databaseOid;
    }

    private static void tell(Occasion occasion, List<DescriptorLog.Change> news, Changes told)
            throws InterruptedException {
        if (!news.isEmpty()) {
            told.changed(occasion, news);
        }
    }

    /** Durable first; then for everybody to see. */
    private void keep(Found found) {
        if (!found.present.isEmpty() || !found.dropped.isEmpty()) {
            rowTypes = null;
            log.append(found.position, found.present, found.dropped);
        }
        if (found.databases != null) {
            databases.update(found.databases);
        }
    }

    // ---- databases

    private List<DatabaseDescriptor> findDatabases(long replayLsn, Found into)
            throws InterruptedException {
        List<DatabaseInfo> rows = read(replayLsn, databases.names(), reader::databases);
        List<DatabaseDescriptor> now = rows.stream().map(databases::described).toList();
        Map<Integer, DatabaseDescriptor> before = new HashMap<>();
        databases.known().forEach(each -> before.put(each.oid(), each));
        for (DatabaseDescriptor each : now) {
            DatabaseDescriptor old = before.remove(each.oid());
            if (log.database(each.oid(), into.position) == null || !each.equals(old)) {
                into.present.add(each.asRelation());
                findChange(replayLsn, old, each, into);
            }
        }
        for (DatabaseDescriptor gone : before.values()) {
            into.dropped.add(new DescriptorLog.Dropped(0, gone.oid()));
            if (gone.followed()) {
                LOG.info("the database {} was dropped", gone.name());
                findNothing(gone, into);
            }
        }
        into.databases = now;
        return now;
    }

    private void findChange(
            long replayLsn, @Nullable DatabaseDescriptor old, DatabaseDescriptor now, Found into)
            throws InterruptedException {
        if (old == null || !old.followed()) {
            if (now.followed()) {
                LOG.info("following the database {} from now on", now.name());
                findAll(replayLsn, now, into);
            }
        } else if (!now.followed()) {
            LOG.warn(
                    "the database {}, now {}, is not followed any more: its name is not selected,"
                            + " or it allows no connections",
                    old.name(),
                    now.name());
            findNothing(now, into);
        } else if (old.tablespaceOid() != now.tablespaceOid() || !log.owed(now.oid()).isEmpty()) {
            findAll(replayLsn, now, into);
        } else if (databases.several() && !old.name().equals(now.name())) {
            LOG.info("the database {} was renamed to {}", old.name(), now.name());
            for (RelationDescriptor relation : active(now.oid(), into.position).values()) {
                RelationDescriptor renamed = relation.named(relation.name().in(now.name()));
                into.present.add(renamed);
                into.news.add(new DescriptorLog.Change(relation, renamed));
            }
        }
    }

    private void findAll(long replayLsn, DatabaseDescriptor database, Found into)
            throws InterruptedException {
        add(
                database.oid(),
                read(replayLsn, List.of(database.name()), reader::readAll),
                active(database.oid(), into.position),
                into);
    }

    private void findNothing(DatabaseDescriptor database, Found into) {
        add(database.oid(), List.of(), active(database.oid(), into.position), into);
    }

    private Map<Integer, RelationDescriptor> active(int databaseOid, long position) {
        Map<Integer, RelationDescriptor> active = new HashMap<>();
        log.active(position).stream()
                .filter(relation -> relation.databaseOid() == databaseOid)
                .forEach(relation -> active.put(relation.oid(), relation));
        return active;
    }

    // ---- relations of the committing transaction's database

    private void findRelations(CatalogBoundary boundary, Found into) throws InterruptedException {
        int database = boundary.databaseOid();
        List<String> name = List.of(String.valueOf(databases.name(database)));
        if (boundary.allRelations() || boundary.allTypes() || boundary.allNames()) {
            add(
                    database,
                    read(boundary.replayLsn(), name, reader::readAll),
                    active(database, into.position),
                    into);
            return;
        }
        Set<Integer> named = new LinkedHashSet<>(log.owed(database));
        for (int i = 0; i < boundary.relationCount(); i++) {
            named.add(boundary.relation(i));
        }
        findNamed(boundary.replayLsn(), database, named, into);
        if (readsIndexes) {
            readIndexes(boundary.replayLsn(), database, into.position);
        }
    }

    private void findNamed(long replayLsn, int database, Collection<Integer> oids, Found into)
            throws InterruptedException {
        int[] named = oids.stream().mapToInt(Integer::intValue).toArray();
        Map<Integer, RelationDescriptor> before = new HashMap<>();
        for (int oid : named) {
            RelationDescriptor known = log.find(database, oid, into.position);
            if (known != null) {
                before.put(oid, known);
            }
        }
        List<String> name = List.of(String.valueOf(databases.name(database)));
        add(database, read(replayLsn, name, session -> reader.read(session, named)), before, into);
    }

    /**
     * @param before those that are known of what was asked for; what is not found of them is gone
     */
    private void add(
            int database,
            List<RelationDescriptor> found,
            Map<Integer, RelationDescriptor> before,
            Found into) {
        for (RelationDescriptor relation : found) {
            RelationDescriptor known = log.find(database, relation.oid(), into.position);
            before.remove(relation.oid());
            if (!relation.equals(known) || log.isOwed(relation, into.position)) {
                into.present.add(relation);
                into.news.add(new DescriptorLog.Change(known, relation));
            }
        }
        for (RelationDescriptor known : before.values()) {
            into.dropped.add(new DescriptorLog.Dropped(database, known.oid()));
            into.news.add(new DescriptorLog.Change(known, null));
        }
    }

    /**
     * @param names of databases, any of which will do
     */
    private <T> T read(long position, List<String> names, ShadowSessions.Reading<T> reading)
            throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        while (true) {
            try {
                return sessions.read(position, names, STALL, reading);
            } catch (RetryException e) {
                LOG.warn(
                        "the shadow does not answer at {}: {}; waiting for it",
                        Lsn.format(position),
                        e.getMessage());
                backoff.pause();
            }
        }
    }
}
