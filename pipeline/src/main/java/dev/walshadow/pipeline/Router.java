package dev.walshadow.pipeline;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationShapes;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.transaction.RawRecord;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * From a record's storage to its table, as of the transaction's commit. A small open-addressing
 * cache by locator spares the descriptor log; it is emptied when the log or a table has changed,
 * and kept for one transaction only while the log is ahead of the commits that are planned. Belongs
 * to one planner.
 */
final class Router {
    private static final int CAPACITY = 4096;
    private static final int MAX_ENTRIES = CAPACITY / 2;

    private final DescriptorLog descriptors;
    private final TargetTables tables;
    private final PipelineEvents events;
    private final boolean keepsChunks;

    private final int[] tablespaces = new int[CAPACITY];
    private final int[] databases = new int[CAPACITY];
    private final int[] relations = new int[CAPACITY];
    private final boolean[] used = new boolean[CAPACITY];
    private final @Nullable TargetTable[] routes = new @Nullable TargetTable[CAPACITY];
    private int entries;
    private long cachedLogLsn = -1;
    private long cachedRevision = -1;
    private boolean cacheIsOfOneTransaction;
    private long commitPosition;

    /** By the storage of a TOAST relation. */
    private final Map<RelationLocator, Optional<TargetTable>> owners = new HashMap<>();

    private final Map<TargetTable, String> unfit = new HashMap<>();
    private final Set<Long> settled = new HashSet<>();

    /**
     * @param keepsChunks the chunks of a followed table's TOAST relation are wanted
     */
    Router(
            DescriptorLog descriptors,
            TargetTables tables,
            PipelineEvents events,
            boolean keepsChunks) {
        this.descriptors = descriptors;
        this.tables = tables;
        this.events = events;
        this.keepsChunks = keepsChunks;
    }

    /** The records that follow belong to a transaction with this commit position. */
    void begin(long position) {
        long logLsn = descriptors.lastLsn();
        boolean logIsAhead = logLsn > position;
        long revision = tables.revision();
        if (logLsn != cachedLogLsn
                || revision != cachedRevision
                || logIsAhead
                || cacheIsOfOneTransaction) {
            clear();
            cachedLogLsn = logLsn;
            cachedRevision = revision;
        }
        cacheIsOfOneTransaction = logIsAhead;
        commitPosition = position;
        unfit.clear();
        settled.clear();
    }

    /** Tables have changed. */
    void forget() {
        clear();
        unfit.clear();
    }

    private void clear() {
        Arrays.fill(used, false);
        Arrays.fill(routes, null);
        entries = 0;
        owners.clear();
    }

    /** The followed table whose TOAST relation a chunk was inserted into; null: none, drop it. */
    @Nullable TargetTable owner(RawRecord chunk) {
        if (!keepsChunks) {
            return null;
        }
        RelationLocator locator =
                new RelationLocator(
                        chunk.tablespaceOid(), chunk.databaseOid(), chunk.relationNumber());
        return owners.computeIfAbsent(locator, this::ownerOf).orElse(null);
    }

    private Optional<TargetTable> ownerOf(RelationLocator locator) {
        RelationDescriptor toast = descriptors.find(locator, commitPosition);
        if (toast == null) {
            // left behind in this transaction, for a copy of the same values or for good
            toast = descriptors.find(locator, commitPosition - 1);
        }
        return toast == null || toast.kind() != 't'
                ? Optional.empty()
                : Optional.ofNullable(byOid(toast.databaseOid(), toast.ownerRelationOid()));
    }

    /** The followed table that the record belongs to; null: none, drop it. */
    @Nullable TargetTable route(RawRecord record) {
        int tablespace = record.tablespaceOid();
        int database = record.databaseOid();
        int relation = record.relationNumber();
        int at = (relation * 0x9E3779B9 ^ database * 0x85EBCA6B ^ tablespace) >>> 20;
        while (used[at]) {
            if (relations[at] == relation
                    && databases[at] == database
                    && tablespaces[at] == tablespace) {
                return routes[at];
            }
            at = (at + 1) & (CAPACITY - 1);
        }
        TargetTable found = resolve(new RelationLocator(tablespace, database, relation));
        if (entries >= MAX_ENTRIES) {
            clear();
            return found;
        }
        entries++;
        used[at] = true;
        tablespaces[at] = tablespace;
        databases[at] = database;
        relations[at] = relation;
        routes[at] = found;
        return found;
    }

    /** The followed table of a TRUNCATE's relation OID; null: none, or it has that behind it. */
    @Nullable TargetTable byOid(int databaseOid, int relationOid) {
        return reached(tables.find(databaseOid, relationOid));
    }

    private @Nullable TargetTable reached(@Nullable TargetTable table) {
        return table != null && table.fromPosition() > commitPosition ? null : table;
    }

    private @Nullable TargetTable resolve(RelationLocator locator) {
        RelationDescriptor now = descriptors.find(locator, commitPosition);
        boolean moved = false;
        if (now == null) {
            // left behind in this transaction, for a copy or for good
            RelationDescriptor before = descriptors.find(locator, commitPosition - 1);
            if (before == null) {
                return null;
            }
            now = descriptors.find(before.databaseOid(), before.oid(), commitPosition);
            if (now == null) {
                return null;
            }
            moved = true;
        }
        TargetTable table = tables.find(now.databaseOid(), now.oid());
        if (table == null) {
            reportUnknown(now);
            return null;
        }
        if (reached(table) == null || (moved && isRefilled(table))) {
            return null;
        }
        if (table.follows(commitPosition)) {
            checkShape(table, now, moved ? null : locator);
        }
        return table;
    }

    /** What this transaction wrote to the table's earlier storage is of no interest any more. */
    private boolean isRefilled(TargetTable table) {
        return table.hasNewStorageOnly() && table.fromPosition() == commitPosition;
    }

    /** What only the source can tell now: the records are not enough. */
    private void checkShape(
            TargetTable table, RelationDescriptor now, @Nullable RelationLocator locator) {
        String difference = RelationShapes.shapeDiffers(table.shape(), now);
        if (difference != null) {
            unfit.put(table, "its shape changed: " + difference);
            cacheIsOfOneTransaction = true;
        } else if (locator != null && !settled.contains(table.key())) {
            checkStorage(table, now, locator);
        }
    }

    /** Whether this transaction gave the table new storage. */
    private void checkStorage(TargetTable table, RelationDescriptor now, RelationLocator locator) {
        RelationDescriptor before =
                descriptors.find(now.databaseOid(), now.oid(), commitPosition - 1);
        if (before != null && before.locator() != null && !locator.equals(before.locator())) {
            // rows in it may replace the old ones or join copied ones; the records do not say
            unfit.put(table, "it was rewritten");
            cacheIsOfOneTransaction = true;
        }
    }

    /** What the transaction's records mean to this table has been decided. */
    void settled(int databaseOid, int relationOid) {
        settled.add(Quarantine.key(databaseOid, relationOid));
    }

    /** Why this transaction's records do not tell the table's content; null: they do. */
    @Nullable String unfit(TargetTable table) {
        return unfit.isEmpty() ? null : unfit.get(table);
    }

    private void reportUnknown(RelationDescriptor relation) {
        if (relation.kind() == 'r' && relation.persistence() == 'p' && tables.firstSeen(relation)) {
            events.unknownTable(relation, commitPosition);
        }
    }
}
