package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.backup.BackupCodes;
import dev.walshadow.bootstrap.backup.BackupSource;
import dev.walshadow.bootstrap.load.BackupSnapshot;
import dev.walshadow.bootstrap.load.BackupTransactions;
import dev.walshadow.bootstrap.walg.WalgBackup;
import dev.walshadow.bootstrap.walg.WalgBackupSource;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.WalChunk;
import dev.walshadow.source.WalSource;
import dev.walshadow.source.WalStream;
import dev.walshadow.source.replication.Lineage;
import dev.walshadow.source.replication.LiveWalSource;
import dev.walshadow.source.replication.ReplicationConnection;
import dev.walshadow.source.replication.StandbyStatus;
import dev.walshadow.source.store.ArchivedWalSource;
import dev.walshadow.source.store.ObjectStore;
import dev.walshadow.source.store.ObjectStores;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The backup in the object store that the first attach loads. It is of the past, while shapes come
 * from the source as it is now; so what DDL has changed since the backup's start is found out by
 * the transactions that wrote the catalogs' rows, and is loaded from the source instead. Reasons:
 * docs/backup.md.
 */
final class StoredBackup implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StoredBackup.class);
    private static final String OBJECT_STORE = "object_store";

    /** Who wrote what a relation's shape consists of, its keys included. */
    private static final String WRITERS =
            """
            SELECT oid, xmin::text FROM pg_catalog.pg_class WHERE oid >= 16384
            UNION
            SELECT attrelid, xmin::text FROM pg_catalog.pg_attribute WHERE attrelid >= 16384
            UNION
            SELECT indrelid, xmin::text FROM pg_catalog.pg_index
            WHERE indrelid >= 16384 AND indisunique\
            """;

    /** The catalogs that were rewritten, and when the row that says so was written. */
    private static final String CATALOG_WRITERS =
            """
            SELECT oid::regclass::text, xmin::text FROM pg_catalog.pg_class
            WHERE oid < 16384 AND relfilenode >= 16384\
            """;

    private static final String DATABASE_WRITERS =
            "SELECT oid, xmin::text, datname FROM pg_catalog.pg_database";

    /**
     * 1 the tablespace, 2 the relation number of everything that is stored of these tables: their
     * indexes, too, which the planner looks at, and what is out of line.
     */
    private static final String FILES =
            """
            WITH t AS (SELECT unnest(?::oid[]) AS oid
                       UNION
                       SELECT reltoastrelid FROM pg_catalog.pg_class WHERE oid = ANY (?::oid[]))
            SELECT CASE WHEN c.reltablespace = 0 THEN d.dattablespace ELSE c.reltablespace END,
                   pg_catalog.pg_relation_filenode(c.oid)
            FROM pg_catalog.pg_class c, pg_catalog.pg_database d
            WHERE d.datname = pg_catalog.current_database()
                  AND pg_catalog.pg_relation_filenode(c.oid) IS NOT NULL
                  AND (c.oid IN (SELECT oid FROM t)
                       OR c.oid IN (SELECT indexrelid FROM pg_catalog.pg_index
                                    WHERE indrelid IN (SELECT oid FROM t)))\
            """;

    private final Prepared prepared;
    private final SourceDatabase source;
    private final ObjectStore store;
    private final WalgBackup found;
    private final BackupSnapshot snapshot;
    private final Map<Integer, Set<Integer>> changedOids = new HashMap<>();
    private List<RelationDescriptor> changed = List.of();

    private StoredBackup(
            Prepared prepared,
            SourceDatabase source,
            ObjectStore store,
            WalgBackup found,
            BackupSnapshot snapshot) {
        this.prepared = prepared;
        this.source = source;
        this.store = store;
        this.found = found;
        this.snapshot = snapshot;
    }

    /**
     * Null if the source itself makes the backup.
     *
     * @param name of the backup; null: as it is configured
     */
    static @Nullable StoredBackup of(
            Configuration configuration,
            SourceDatabase source,
            Prepared prepared,
            @Nullable String name)
            throws InterruptedException {
        if (!isWanted(configuration)) {
            return null;
        }
        ObjectStore store = open(configuration);
        try {
            WalgBackup found =
                    WalgBackup.find(
                            store, name == null ? configuration.get(Settings.BACKUP_NAME) : name);
            check(found, source, prepared);
            LOG.info("loading backup {}", found);
            return new StoredBackup(
                    prepared,
                    source,
                    store,
                    found,
                    snapshot(configuration, source, prepared, found));
        } catch (InterruptedException | RuntimeException | Error e) {
            store.close();
            throw e;
        }
    }

    static boolean isWanted(Configuration configuration) {
        return SourceDatabase.isArchive(configuration)
                || configuration.get(Settings.BACKUP_INITIAL_LOAD).equals(OBJECT_STORE);
    }

    /** Whether there is a backup to be loaded, if one is to be. */
    static void look(Configuration configuration) {
        if (isWanted(configuration)) {
            try (ObjectStore store = open(configuration)) {
                WalgBackup.find(store, configuration.get(Settings.BACKUP_NAME));
            }
        }
    }

    private static ObjectStore open(Configuration configuration) {
        String url =
                configuration
                        .find(Settings.BACKUP_URL)
                        .orElseThrow(() ->
                                new ConfigurationException(
                                        DaemonCodes.BAD_CONFIGURATION,
                                        "[backup] initial_load is object_store: set [backup] url,"
                                                + " too"));
        return ObjectStores.open(url, System::getenv);
    }

    private static void check(WalgBackup found, SourceDatabase source, Prepared prepared) {
        long expected = prepared.identity().systemIdentifier();
        if (found.systemIdentifier() != 0 && found.systemIdentifier() != expected) {
            throw unfit(
                    found,
                    "is of the cluster with system identifier "
                            + Long.toUnsignedString(found.systemIdentifier())
                            + ", the source is "
                            + Long.toUnsignedString(expected));
        }
        if (found.major() != 0 && found.major() != prepared.major()) {
            throw unfit(
                    found,
                    "is of PostgreSQL " + found.major() + ", the source of " + prepared.major());
        }
        checkTimeline(found, source, prepared.identity().timeline());
    }

    /** The source may have been promoted since, if the backup had been finished by then. */
    private static void checkTimeline(WalgBackup found, SourceDatabase source, int now) {
        if (found.timeline() == now) {
            return;
        }
        OptionalLong end = OptionalLong.empty();
        if (!source.isArchive() && now > 1) {
            try (ReplicationConnection connection =
                    ReplicationConnection.connect(source.settings())) {
                end = Lineage.readHistory(connection, now).endOf(found.timeline());
            }
        }
        if (end.isEmpty() || end.getAsLong() < found.endLsn()) {
            throw unfit(
                    found,
                    "is of timeline "
                            + Integer.toUnsignedString(found.timeline())
                            + ", and not part of timeline "
                            + Integer.toUnsignedString(now)
                            + ", which the source is on");
        }
    }

    private static ConfigurationException unfit(WalgBackup found, String why) {
        return new ConfigurationException(
                BackupCodes.UNFIT_BACKUP,
                "backup "
                        + found
                        + " "
                        + why
                        + ". Name another one in [backup] name, or make one: wal-g backup-push");
    }

    /**
     * Reads the WAL from the backup's start until it tells which transactions were open: it is read
     * once more, from the start, when shapes are known.
     */
    private static BackupSnapshot snapshot(
            Configuration configuration, SourceDatabase source, Prepared prepared, WalgBackup found)
            throws InterruptedException {
        WalPages pages =
                new WalPages(
                        prepared.major(),
                        prepared.identity().systemIdentifier(),
                        found.timeline(),
                        prepared.segmentSize());
        StreamSnapshot from = StreamSnapshot.initial(pages, found.startLsn(), List.of(), true);
        BackupTransactions open = new BackupTransactions(prepared.major(), found.startLsn());
        WalStream stream =
                new WalStream(
                        from,
                        found.startLsn(),
                        (_, _, _, _) -> {},
                        (record, _, _) -> open.onRecord(record),
                        (_, _, _, _) -> {});
        WalChunk chunk = new WalChunk();
        try (WalArchive archive = WalArchive.ofConfigured(configuration, prepared.segmentSize());
                WalSource wal = wal(configuration, source, prepared, archive)) {
            wal.start(found.timeline(), from.segmentStart());
            while (open.known().isEmpty() && wal.next(chunk)) {
                if (Thread.interrupted()) {
                    throw new InterruptedException("closed");
                }
                if (chunk.length() > 0) {
                    stream.push(chunk.startLsn(), chunk.buffer(), chunk.offset(), chunk.length());
                }
            }
        }
        return open.known().orElseThrow(() -> new InterruptedException("closed"));
    }

    private static WalSource wal(
            Configuration configuration,
            SourceDatabase source,
            Prepared prepared,
            WalArchive archive) {
        return source.isArchive()
                ? new ArchivedWalSource(archive.reader(), 0)
                : new LiveWalSource(
                        new LiveWalSource.Options(
                                source.settings(),
                                configuration.get(Settings.SOURCE_SLOT),
                                true,
                                prepared.identity().systemIdentifier()),
                        new StandbyStatus(),
                        new SourceLog(),
                        archive.reader());
    }

    /** E. */
    long endLsn() {
        return found.endLsn();
    }

    BackupSource backup() {
        return new WalgBackupSource(found);
    }

    /**
     * Finds what DDL has changed since B. What changes from now on is told by the WAL.
     *
     * @param seed shapes that the source had, asked before
     */
    void compare(Collection<RelationDescriptor> seed) {
        try (Connection session = source.open()) {
            checkDatabases(session);
            checkCatalogs(session);
        } catch (SQLException e) {
            throw failed(e);
        }
        List<RelationDescriptor> all = new ArrayList<>();
        for (DatabaseDescriptor database : prepared.databases().followed()) {
            List<RelationDescriptor> own =
                    seed.stream().filter(each -> each.databaseOid() == database.oid()).toList();
            Set<Integer> oids = withRelated(own, written(database));
            changedOids.put(database.oid(), oids);
            own.stream()
                    .filter(each -> each.kind() != 't' && oids.contains(each.oid()))
                    .forEach(all::add);
        }
        changed = List.copyOf(all);
        LOG.info(
                "{} relations were altered since the backup's start at {}",
                changed.size(),
                Lsn.format(found.startLsn()));
    }

    /**
     * A clone has the rows, and the writers of rows, of its template, but no file in the backup.
     */
    private void checkDatabases(Connection session) throws SQLException {
        Set<Integer> followed = new HashSet<>();
        prepared.databases().followed().forEach(each -> followed.add(each.oid()));
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(DATABASE_WRITERS)) {
            while (row.next()) {
                if (followed.contains((int) row.getLong(1)) && isSince(row.getString(2))) {
                    throw unfit(
                            found,
                            "is older than database "
                                    + row.getString(3)
                                    + " or a change of its definition");
                }
            }
        }
    }

    private void checkCatalogs(Connection any) throws SQLException {
        checkCatalogsOf(any);
        for (DatabaseDescriptor database : prepared.databases().followed()) {
            try (Connection session = prepared.databases().open(database.oid())) {
                checkCatalogsOf(session);
            }
        }
    }

    private void checkCatalogsOf(Connection session) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(CATALOG_WRITERS)) {
            while (row.next()) {
                if (isSince(row.getString(2))) {
                    throw unfit(
                            found,
                            "is older than a rewriting (VACUUM FULL, CLUSTER, REINDEX) of the"
                                    + " system catalog "
                                    + row.getString(1));
                }
            }
        }
    }

    private Set<Integer> written(DatabaseDescriptor database) {
        Set<Integer> written = new HashSet<>();
        try (Connection session = prepared.databases().open(database.oid());
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(WRITERS)) {
            while (row.next()) {
                if (isSince(row.getString(2))) {
                    written.add((int) row.getLong(1));
                }
            }
        } catch (SQLException e) {
            throw failed(e);
        }
        return written;
    }

    private boolean isSince(String xid) {
        return snapshot.maySinceStart(Integer.parseUnsignedInt(xid));
    }

    /** With a TOAST relation its table, and with a partition the whole tree. */
    private static Set<Integer> withRelated(
            Collection<RelationDescriptor> relations, Set<Integer> written) {
        Map<Integer, Integer> parents = new HashMap<>();
        relations.forEach(each -> parents.put(each.oid(), each.parentOid()));
        Set<Integer> roots = new HashSet<>();
        for (RelationDescriptor each : relations) {
            if (written.contains(each.oid())) {
                roots.add(root(parents, table(each)));
            }
        }
        Set<Integer> all = new HashSet<>();
        for (RelationDescriptor each : relations) {
            if (roots.contains(root(parents, table(each)))) {
                all.add(each.oid());
            }
        }
        return all;
    }

    private static int table(RelationDescriptor relation) {
        return relation.kind() == 't' ? relation.ownerRelationOid() : relation.oid();
    }

    private static int root(Map<Integer, Integer> parents, int oid) {
        int at = oid;
        for (int parent = parents.getOrDefault(at, 0);
                parent != 0;
                parent = parents.getOrDefault(at, 0)) {
            at = parent;
        }
        return at;
    }

    private static RetryException failed(SQLException cause) {
        return new RetryException(
                BootstrapCodes.SOURCE_QUERY,
                "the source's catalogs cannot be compared with the backup: " + cause.getMessage(),
                cause);
    }

    boolean hasChanged(int databaseOid, int relationOid) {
        return changedOids.getOrDefault(databaseOid, Set.of()).contains(relationOid);
    }

    /** Tables, partitions among them, that are to be loaded from the source. */
    List<RelationDescriptor> changed() {
        return changed;
    }

    /**
     * Where those of them are stored now that are selected.
     *
     * @param seed as for {@link #compare}, which comes before
     */
    Set<RelationLocator> files(Collection<RelationDescriptor> seed) {
        Set<RelationLocator> files = new HashSet<>();
        List<RelationDescriptor> selected = prepared.selection().of(seed);
        for (DatabaseDescriptor database : prepared.databases().followed()) {
            String tables =
                    selected.stream()
                            .filter(each -> each.databaseOid() == database.oid())
                            .filter(each -> hasChanged(database.oid(), each.oid()))
                            .map(each -> Integer.toUnsignedString(each.oid()))
                            .collect(Collectors.joining(",", "{", "}"));
            try (Connection session = prepared.databases().open(database.oid());
                    PreparedStatement statement = session.prepareStatement(FILES)) {
                statement.setString(1, tables);
                statement.setString(2, tables);
                try (ResultSet row = statement.executeQuery()) {
                    while (row.next()) {
                        files.add(
                                new RelationLocator(
                                        (int) row.getLong(1),
                                        database.oid(),
                                        (int) row.getLong(2)));
                    }
                }
            } catch (SQLException e) {
                throw failed(e);
            }
        }
        return files;
    }

    @Override
    public void close() {
        store.close();
    }
}
