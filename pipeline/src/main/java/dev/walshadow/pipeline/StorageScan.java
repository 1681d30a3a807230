package dev.walshadow.pipeline;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a commit's records say of the content of tables that it gave new storage or another key; the
 * catalogs do not tell. One pass over the records before they are planned, of such commits only.
 *
 * <p>How new storage is filled (PostgreSQL 15-18): a rewriting ALTER TABLE and REFRESH make a
 * transient relation and insert every row into it; CLUSTER and VACUUM FULL make one and log the
 * pages that they copy as images; SET TABLESPACE copies pages without a transient relation;
 * TRUNCATE takes an empty file and is logged itself. A relation's first page is only ever
 * initialised by an insert if there is no image of it, so a transient relation whose first record
 * initialises block 0 was filled by inserts: these are its content. Storage that the transaction
 * made and left again belongs to nobody in the end; records there may have been any table's.
 */
final class StorageScan {
    /** What has become of a table's rows. */
    enum Content {
        /** The same storage as before. */
        KEPT,
        /** The same rows in new storage, at other places perhaps; then what the records change. */
        COPIED,
        /** None, since a TRUNCATE among the records; then what the records change. */
        EMPTIED,
        /** What the transaction's records write to the new storage, and nothing else. */
        REPLACED,
        /** The records do not tell. */
        UNKNOWN
    }

    /** A table at hand. */
    private static final class Seen {
        final @Nullable RelationLocator now;
        boolean started;
        boolean filled;
        boolean changedInNew;
        boolean changed;
        boolean truncated;

        Seen(@Nullable RelationLocator now) {
            this.now = now;
        }

        void record(RawRecord record, RelationLocator at) {
            boolean insert = isInsert(record);
            changed |= !insert;
            if (at.equals(now)) {
                if (!started) {
                    started = true;
                    filled =
                            insert
                                    && record.block0() == 0
                                    && (record.info() & XLOG_HEAP_INIT_PAGE) != 0;
                }
                changedInNew |= !insert;
            }
        }
    }

    /** Storage of a table that is not at hand. */
    private static final Seen OTHERS = new Seen(null);

    private final DescriptorLog log;
    private final long position;
    private final Map<Long, Seen> tables = new HashMap<>();
    private final Map<RelationLocator, Seen> storage = new HashMap<>();
    private RelationLocator last = new RelationLocator(0, 0, 0);
    private Seen lastSeen = OTHERS;

    /** There are records in storage that has no owner. */
    private boolean orphans;

    private StorageScan(DescriptorLog log, long position) {
        this.log = log;
        this.position = position;
    }

    /**
     * @param changes all of the transaction's records
     */
    static StorageScan of(CatalogChange change, CommittedChanges changes, DescriptorLog log) {
        StorageScan scan = new StorageScan(log, change.position());
        boolean wanted = false;
        for (CatalogChange.Item item : change.items()) {
            if (item instanceof CatalogChange.Changed(RelationChange of) && of.after() != null) {
                scan.expect(of.before(), of.after());
                wanted |= hasMoved(of) || rekeyed(of);
            }
        }
        if (wanted) {
            scan.read(changes.records());
        }
        return scan;
    }

    private void expect(@Nullable RelationDescriptor before, RelationDescriptor after) {
        Seen seen = new Seen(after.locator());
        tables.put(Quarantine.key(after.databaseOid(), after.oid()), seen);
        if (before != null && before.locator() != null) {
            storage.put(before.locator(), seen);
        }
        if (after.locator() != null) {
            storage.put(after.locator(), seen);
        }
    }

    private void read(RecordCursor records) {
        RawRecord record = new RawRecord();
        while (records.next(record)) {
            if (HeapChanges.isTruncate(record)) {
                truncated(record);
            } else {
                Seen seen = seen(record);
                if (seen != OTHERS) {
                    seen.record(record, last);
                }
            }
        }
    }

    private Seen seen(RawRecord record) {
        if (last.relationNumber() != record.relationNumber()
                || last.databaseOid() != record.databaseOid()
                || last.tablespaceOid() != record.tablespaceOid()) {
            last =
                    new RelationLocator(
                            record.tablespaceOid(), record.databaseOid(), record.relationNumber());
            lastSeen = storage.computeIfAbsent(last, this::other);
        }
        return lastSeen;
    }

    private Seen other(RelationLocator locator) {
        orphans |= log.find(locator, position) == null && log.find(locator, position - 1) == null;
        return OTHERS;
    }

    private void truncated(RawRecord record) {
        TruncatedTables names = TruncatedTables.of(record);
        for (int i = 0; i < names.count(); i++) {
            Seen seen = tables.get(Quarantine.key(names.databaseOid(), names.relationOid(i)));
            if (seen != null) {
                seen.truncated = true;
            }
        }
    }

    private static boolean isInsert(RawRecord record) {
        return record.resourceManager() == ResourceManager.HEAP2
                || (record.info() & XLOG_HEAP_OPMASK) == XLOG_HEAP_INSERT;
    }

    static boolean hasMoved(RelationChange change) {
        RelationDescriptor before = change.before();
        RelationLocator now = change.after() == null ? null : change.after().locator();
        if (now == null) {
            return false;
        }
        // a relation is born with its OID as file number
        return before == null
                ? now.relationNumber() != change.relationOid()
                : !now.equals(before.locator());
    }

    private static boolean rekeyed(RelationChange change) {
        RelationDescriptor before = change.before();
        RelationDescriptor after = change.after();
        return before != null
                && after != null
                && (before.keyIndexOid() != after.keyIndexOid()
                        || !before.primaryKey().equals(after.primaryKey())
                        || !before.identityKey().equals(after.identityKey())
                        || hasNothing(before) != hasNothing(after));
    }

    private static boolean hasNothing(RelationDescriptor relation) {
        return relation.replicaIdentity() == 'n';
    }

    /** Of a table that is there after the commit. */
    Content content(RelationChange change) {
        Seen seen = Objects.requireNonNull(tables.get(keyOf(change)));
        boolean moved = hasMoved(change);
        boolean filled = moved && change.rewritten() && seen.filled;
        boolean changed = filled ? seen.changedInNew : seen.changed;
        if (rekeyed(change) && changed) {
            // logged with the old key, with the new one, or without any
            return Content.UNKNOWN;
        }
        if (filled) {
            return Content.REPLACED;
        }
        if (change.hasOlderRows()) {
            return Content.UNKNOWN;
        }
        if (!moved) {
            return Content.KEPT;
        }
        if (orphans) {
            return Content.UNKNOWN;
        }
        return seen.truncated ? Content.EMPTIED : Content.COPIED;
    }

    private static long keyOf(RelationChange change) {
        return Quarantine.key(change.databaseOid(), change.relationOid());
    }
}
