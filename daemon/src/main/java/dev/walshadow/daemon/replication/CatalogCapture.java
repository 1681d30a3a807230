package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.RetryException;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.ShadowSessions;
import dev.walshadow.source.CatalogBoundary;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The boundary hold (I2): at a catalog-changing commit the WAL pump waits here until the shadow
 * shows exactly that commit, and what changed is durable in the descriptor log. Nothing further is
 * published meanwhile, since the pump is the only publisher (I14). Used by the pump alone.
 */
final class CatalogCapture {
    /** Told what a capture found, before the commit is handed on. */
    interface Changes {
        /**
         * @param position of the commit; from there on the changes hold
         * @param firstLsn where a restart must begin so that this is told again
         */
        void changed(long position, long firstLsn, List<DescriptorLog.Change> changes)
                throws InterruptedException;
    }

    private static final Logger LOG = LoggerFactory.getLogger(CatalogCapture.class);
    private static final Duration STALL = Duration.ofSeconds(30);
    private static final long RETRY_CEILING_MILLIS = 2_000;

    private final DescriptorLog log;
    private final ShadowSessions sessions;
    private final CatalogReader reader = new CatalogReader();
    private final int databaseOid;
    private final String database;
    private final Changes changes;

    /** Null: to be found anew. */
    private @Nullable Set<Integer> rowTypes;

    private long holds;
    private long holdNanos;

    CatalogCapture(
            DescriptorLog log,
            ShadowSessions sessions,
            int databaseOid,
            String database,
            Changes changes) {
        this.log = log;
        this.sessions = sessions;
        this.databaseOid = databaseOid;
        this.database = database;
        this.changes = changes;
    }

    long holds() {
        return holds;
    }

    long holdNanos() {
        return holdNanos;
    }

    /**
     * Captures what a boundary changed; returns when it is durable. A boundary that an earlier
     * process has captured is told again from the log.
     */
    void hold(CatalogBoundary boundary) throws InterruptedException {
        long position = boundary.nextLsn();
        if (position <= log.lastLsn()) {
            tell(position, boundary.commitLsn(), log.changesAt(position, databaseOid), changes);
            return;
        }
        if (!concernsUs(boundary)) {
            return;
        }
        boolean all = boundary.allRelations() || boundary.allTypes() || boundary.allNames();
        int[] named = new int[boundary.relationCount()];
        for (int i = 0; i < named.length; i++) {
            named[i] = boundary.relation(i);
        }
        long started = System.nanoTime();
        List<RelationDescriptor> found =
                read(boundary.replayLsn(), c -> all ? reader.readAll(c) : reader.read(c, named));
        List<DescriptorLog.Change> news = record(position, found, all ? null : named);
        tell(position, boundary.commitLsn(), news, changes);
        holds++;
        holdNanos += System.nanoTime() - started;
    }

    private boolean concernsUs(CatalogBoundary boundary) {
        if (boundary.databaseOid() != databaseOid && boundary.databaseOid() != 0) {
            return false;
        }
        if (!boundary.mayBeTemporaryOnly()) {
            return true;
        }
        for (int i = 0; i < boundary.relationCount(); i++) {
            int oid = boundary.relation(i);
            if (log.find(databaseOid, oid, boundary.nextLsn()) != null
                    || rowTypes(boundary.nextLsn()).contains(oid)) {
                return true;
            }
        }
        return false;
    }

    /** Relations of the composites that known columns are made of: ALTER TYPE names these only. */
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
        tell(
                position,
                position,
                record(position, read(position, reader::readAll), null),
                sinceSeed);
    }

    private static void tell(
            long position, long firstLsn, List<DescriptorLog.Change> news, Changes told)
            throws InterruptedException {
        if (!news.isEmpty()) {
            told.changed(position, firstLsn, news);
        }
    }

    private interface CatalogRead {
        List<RelationDescriptor> read(Connection session) throws SQLException;
    }

    private List<RelationDescriptor> read(long position, CatalogRead reading)
            throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        while (true) {
            try {
                return sessions.read(position, database, STALL, reading::read);
            } catch (RetryException e) {
                LOG.warn(
                        "the shadow does not answer at {}: {}; waiting for it",
                        Lsn.format(position),
                        e.getMessage());
                backoff.pause();
            }
        }
    }

    /**
     * Makes durable what was found.
     *
     * @param named the relations that were asked for; null: all were
     */
    private List<DescriptorLog.Change> record(
            long position, List<RelationDescriptor> found, int @Nullable [] named) {
        Map<Integer, RelationDescriptor> before = new HashMap<>();
        if (named == null) {
            log.active(position).stream()
                    .filter(relation -> relation.databaseOid() == databaseOid)
                    .forEach(relation -> before.put(relation.oid(), relation));
        } else {
            for (int oid : named) {
                RelationDescriptor known = log.find(databaseOid, oid, position);
                if (known != null) {
                    before.put(oid, known);
                }
            }
        }
        List<RelationDescriptor> present = new ArrayList<>();
        List<DescriptorLog.Change> news = new ArrayList<>();
        for (RelationDescriptor relation : found) {
            RelationDescriptor known = log.find(databaseOid, relation.oid(), position);
            before.remove(relation.oid());
            if (!relation.equals(known)) {
                present.add(relation);
                news.add(new DescriptorLog.Change(known, relation));
            }
        }
        List<Integer> dropped = new ArrayList<>();
        for (RelationDescriptor known : before.values()) {
            dropped.add(known.oid());
            news.add(new DescriptorLog.Change(known, null));
        }
        if (!news.isEmpty()) {
            rowTypes = null;
            log.append(position, present, dropped, databaseOid);
        }
        return news;
    }
}
