package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.FileTree;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.BackupCodes;
import dev.walshadow.bootstrap.backup.BaseBackupRun;
import dev.walshadow.bootstrap.backup.LaidCatalogs;
import dev.walshadow.bootstrap.walg.WalgBackup;
import dev.walshadow.bootstrap.walg.WalgBackupSource;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.state.SourceFacts;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.cluster.ControlFile;
import dev.walshadow.postgres.wal.ParameterChangeRecord;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.DatabaseInfo;
import dev.walshadow.shadow.RewrittenCatalog;
import dev.walshadow.shadow.ServerUser;
import dev.walshadow.shadow.ShadowCluster;
import dev.walshadow.shadow.ShadowSessions;
import dev.walshadow.source.CatalogSeed;
import dev.walshadow.source.SegmentArchive;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.WalChunk;
import dev.walshadow.source.WalStream;
import dev.walshadow.source.store.ArchivedWalSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A hot standby that has the catalogs and the transactions' states of a backup at its end E, and of
 * users' rows none but those of tables that were altered since B: what the first attach to an
 * archive asks in the source's stead. Laid from the backup, recovered with filtered WAL; removed
 * when the first load is done. Not the shadow: that begins once more at B, with the shapes that are
 * then known.
 */
final class ArchiveSeed implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ArchiveSeed.class);

    /** Names the socket only, beside the others'. */
    private static final int PORT = 5436;

    private static final Duration STALL = Duration.ofMinutes(2);

    /** A map tells where pg_class is, pg_class where the others are. */
    private static final int MOST_PASSES = 4;

    /** A server that has just started to accept connections may be restarted for a locale. */
    private static final int MOST_ATTEMPTS = 10;

    private static final long RETRY_CEILING_MILLIS = 2_000;

    private final Path directory;
    private final ShadowCluster cluster;
    private final SourceDatabase source;
    private final SourceFacts facts;
    private final String backup;
    private final Set<RewrittenCatalog> rewritten;

    private ArchiveSeed(
            Path directory,
            ShadowCluster cluster,
            SourceDatabase source,
            SourceFacts facts,
            WalgBackup backup,
            Set<RewrittenCatalog> rewritten) {
        this.directory = directory;
        this.cluster = cluster;
        this.source = source;
        this.facts = facts;
        this.backup = backup.name();
        this.rewritten = rewritten;
    }

    /** Answers while this is open. */
    SourceDatabase source() {
        return source;
    }

    SourceFacts facts() {
        return facts;
    }

    /** The name of the one that it was laid from. */
    String backup() {
        return backup;
    }

    /**
     * @throws ConfigurationException if there is no backup that can be loaded
     */
    static ArchiveSeed lay(Configuration configuration, StateDirectory state)
            throws InterruptedException {
        return lay(
                configuration, state, configuration.get(Settings.BACKUP_NAME), Set.of(), Set.of());
    }

    /**
     * Another one from the same backup, once this is closed.
     *
     * @param files of users' relations that are to be readable, too, as they are at E
     */
    ArchiveSeed again(Configuration configuration, StateDirectory state, Set<RelationLocator> files)
            throws InterruptedException {
        return lay(configuration, state, backup, rewritten, files);
    }

    private static ArchiveSeed lay(
            Configuration configuration,
            StateDirectory state,
            String name,
            Set<RewrittenCatalog> known,
            Set<RelationLocator> files)
            throws InterruptedException {
        try (WalArchive archive = WalArchive.ofConfigured(configuration, 0)) {
            WalgBackup backup = WalgBackup.find(archive.store(), name);
            LOG.info("reading the catalogs of backup {}", backup);
            ServerUser.of(configuration.find(Settings.SHADOW_USER).orElse(null))
                    .ownDirectory(Files.createDirectories(state.seed()));
            Path data = state.seed().resolve("data");
            Set<RewrittenCatalog> rewritten = layCatalogs(backup, data, known, files);
            ControlFile control =
                    ControlFile.parse(Files.readAllBytes(data.resolve("global/pg_control")));
            requireLogical(backup, control);
            WalPages pages =
                    new WalPages(
                            control.majorVersion(),
                            control.systemIdentifier(),
                            backup.timeline(),
                            control.walSegmentSize());
            Path wal = Files.createDirectories(state.seed().resolve("archive"));
            filter(configuration, backup, pages, seeds(rewritten, files), wal);
            return start(configuration, state, pages, backup, rewritten);
        } catch (IOException e) {
            throw new UncheckedIOException("the backup's catalogs cannot be laid", e);
        }
    }

    private static Set<RewrittenCatalog> layCatalogs(
            WalgBackup backup, Path data, Set<RewrittenCatalog> before, Set<RelationLocator> files)
            throws InterruptedException, IOException {
        Set<RewrittenCatalog> known = before;
        for (int pass = 1; pass <= MOST_PASSES; pass++) {
            FileTree.delete(data);
            Set<RelationLocator> kept = new HashSet<>(files);
            known.forEach(each -> kept.add(each.locator()));
            WalgBackupSource.ofUnknown(backup)
                    .run(
                            new BaseBackupRun.Options(
                                    data, backup.systemIdentifier(), kept, "walshadow", 0),
                            HeapFileSink.NONE,
                            new Listener());
            Set<RewrittenCatalog> found = new LaidCatalogs(data).rewritten();
            if (known.containsAll(found)) {
                return found;
            }
            known = found;
        }
        throw new ConfigurationException(
                BackupCodes.UNFIT_BACKUP,
                "backup "
                        + backup
                        + " does not tell which files its system catalogs have. Name another one in"
                        + " [backup] name");
    }

    private static final class Listener implements BackupListener {
        @Override
        public void started(long startLsn, int timeline) {}

        @Override
        public void progress(BackupProgress now) {}
    }

    private static void requireLogical(WalgBackup backup, ControlFile control) {
        if (control.wal().walLevel() < ParameterChangeRecord.WAL_LEVEL_LOGICAL) {
            throw new ConfigurationException(
                    DaemonCodes.WAL_LEVEL,
                    "backup "
                            + backup
                            + " is of a source whose wal_level is not logical, but old keys are"
                            + " only logged with logical; run ALTER SYSTEM SET wal_level = logical"
                            + " there, restart it, and take another backup");
        }
    }

    /** What the filter is to keep the records of; users' relations are no catalog of its own. */
    private static List<CatalogSeed> seeds(
            Set<RewrittenCatalog> rewritten, Set<RelationLocator> files) {
        List<CatalogSeed> seeds = new ArrayList<>();
        rewritten.forEach(each -> seeds.add(new CatalogSeed(each.locator(), each.relationOid())));
        files.forEach(each -> seeds.add(new CatalogSeed(each, 0)));
        return seeds;
    }

    /** Whole segments, the one that has E included: pg_backup_stop has had it archived. */
    private static void filter(
            Configuration configuration,
            WalgBackup backup,
            WalPages pages,
            List<CatalogSeed> seeds,
            Path into)
            throws InterruptedException {
        StreamSnapshot from = StreamSnapshot.initial(pages, backup.startLsn(), seeds, true);
        SegmentArchive segments = new SegmentArchive(into, pages);
        segments.begin(from);
        long[] complete = {0};
        WalStream stream =
                new WalStream(
                        from,
                        backup.startLsn(),
                        (_, _, _, _) -> {},
                        (_, _, _) -> {},
                        (start, bytes, length, next) -> {
                            segments.segmentComplete(start, bytes, length, next);
                            complete[0] = start + length;
                        });
        WalChunk chunk = new WalChunk();
        try (WalArchive archive = WalArchive.ofConfigured(configuration, pages.segmentSize());
                ArchivedWalSource wal = new ArchivedWalSource(archive.reader(), 0)) {
            wal.start(pages.timeline(), from.segmentStart());
            LOG.info("reading the WAL of the backup up to {}", Lsn.format(backup.endLsn()));
            while (complete[0] < backup.endLsn() && wal.next(chunk)) {
                if (Thread.interrupted()) {
                    throw new InterruptedException("closed");
                }
                if (chunk.length() > 0) {
                    stream.push(chunk.startLsn(), chunk.buffer(), chunk.offset(), chunk.length());
                }
            }
        }
    }

    private static ArchiveSeed start(
            Configuration configuration,
            StateDirectory state,
            WalPages pages,
            WalgBackup backup,
            Set<RewrittenCatalog> rewritten)
            throws InterruptedException {
        Path data = state.seed().resolve("data");
        String role = new LaidCatalogs(data).bootstrapRole();
        ShadowCluster cluster =
                new ShadowCluster(
                        new ShadowCluster.Options(
                                data,
                                state.seedRun(),
                                Targets.binaries(configuration, pages.majorVersion()),
                                state.seed().resolve("archive"),
                                "",
                                PORT,
                                configuration.find(Settings.SHADOW_USER).orElse(null),
                                Set.of(),
                                Map.of(
                                        "recovery_target_lsn", Lsn.format(backup.endLsn()),
                                        "recovery_target_inclusive", "off",
                                        "recovery_target_action", "pause")));
        boolean ready = false;
        try {
            cluster.start();
            cluster.awaitAcceptingConnections(STALL);
            SourceDatabase source =
                    SourceDatabase.ofSeed(
                            configuration,
                            cluster.socketDirectory(),
                            PORT,
                            role == null ? "postgres" : role);
            SourceFacts facts = ask(source, pages, cluster);
            ready = true;
            return new ArchiveSeed(state.seed(), cluster, source, facts, backup, rewritten);
        } finally {
            if (!ready) {
                cluster.close();
            }
        }
    }

    /** Locales that this machine lacks are told one by one, by refused connections. */
    private static SourceFacts ask(SourceDatabase source, WalPages pages, ShadowCluster cluster)
            throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        for (int attempt = 1; ; attempt++) {
            try {
                return ask(source, pages);
            } catch (SQLException e) {
                String locale = ShadowSessions.unknownLocale(e);
                boolean another = locale != null && cluster.addLocale(locale);
                if (!another && attempt >= MOST_ATTEMPTS) {
                    throw new ConfigurationException(
                            BackupCodes.UNFIT_BACKUP,
                            "the catalogs of the backup cannot be read: " + e.getMessage(),
                            e);
                }
                backoff.pause();
            }
        }
    }

    private static SourceFacts ask(SourceDatabase source, WalPages pages) throws SQLException {
        CatalogReader reader = new CatalogReader();
        try (Connection session = source.openAny()) {
            List<DatabaseInfo> databases = reader.databases(session);
            for (DatabaseInfo each : databases) {
                if (each.allowsConnections()) {
                    source.open(each.name()).close();
                }
            }
            return new SourceFacts(
                    pages.systemIdentifier(),
                    pages.timeline(),
                    pages.segmentSize(),
                    pages.majorVersion(),
                    session.getMetaData().getDatabaseProductVersion(),
                    reader.superusers(session),
                    databases.stream().map(ArchiveSeed::row).toList());
        }
    }

    private static SourceFacts.Database row(DatabaseInfo each) {
        return new SourceFacts.Database(
                each.oid(),
                each.name(),
                each.encoding(),
                each.defaultTablespaceOid(),
                each.allowsConnections(),
                each.template(),
                each.collate(),
                each.ctype());
    }

    static DatabaseInfo info(SourceFacts.Database row) {
        return new DatabaseInfo(
                row.oid(),
                row.name(),
                row.encoding(),
                row.defaultTablespaceOid(),
                row.allowsConnections(),
                row.template(),
                row.collate(),
                row.ctype());
    }

    /** What a killed daemon may have left. */
    static void remove(StateDirectory state) throws InterruptedException {
        ShadowCluster.stopOrphan(state.seed().resolve("data"));
        delete(state.seed());
    }

    private static void delete(Path directory) {
        try {
            FileTree.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + directory, e);
        }
    }

    @Override
    public void close() {
        cluster.close();
        delete(directory);
    }
}
