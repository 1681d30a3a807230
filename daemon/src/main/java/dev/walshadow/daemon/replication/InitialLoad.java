package dev.walshadow.daemon.replication;

import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.backup.BackupOutcome;
import dev.walshadow.bootstrap.backup.BackupSource;
import dev.walshadow.bootstrap.backup.BaseBackupRun;
import dev.walshadow.bootstrap.backup.DirectBackup;
import dev.walshadow.bootstrap.backup.ShadowMarkers;
import dev.walshadow.bootstrap.load.BackupTransactions;
import dev.walshadow.bootstrap.load.BaselineLoader;
import dev.walshadow.bootstrap.load.TouchedBlocks;
import dev.walshadow.bootstrap.load.WalGate;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.state.LoadStart;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.RewrittenCatalog;
import dev.walshadow.shadow.RewrittenCatalogScan;
import dev.walshadow.source.CatalogSeed;
import dev.walshadow.source.SegmentArchive;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.replication.ReplicationConnection;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * One attempt of the initial load. Order and reasons: docs/bootstrap.md.
 *
 * <pre>
 * pump thread                           backup thread
 * slot, seed of descriptors
 *                                       BASE_BACKUP starts: B
 *                                       tables in ClickHouse, parts assembled
 * stream from B's segment               waits for the list of open transactions
 *                                       files: catalogs to the shadow, heaps to the loader
 *                                       backup ends: E
 * at P >= E: shadow started, catalogs   rows durable
 *   captured at P, holds from now on
 * manifest, marker: done
 * </pre>
 */
final class InitialLoad implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(InitialLoad.class);
    private static final long REPORT_NANOS = 10_000_000_000L;
    private static final Duration CATALOG_LOCK_PATIENCE = Duration.ofMinutes(10);

    private final Configuration configuration;
    private final StateDirectory state;
    private final SourceDatabase source;
    private final Prepared prepared;
    private final FirstAttach.Assembler assembler;
    private final FirstAttach.StandIn standIn;

    /** Null: there is no source but its archive. */
    private final @Nullable ReplicationConnection connection;

    private final @Nullable StoredBackup stored;

    /** What an earlier attempt left, to be gone on with; null: this one begins. */
    private final UnfinishedLoad.@Nullable Kept kept;

    private final Seed seed;

    /** Values that nobody could be asked for; wants none if there is a source. */
    private final SequencePages sequences;

    /** What of tables that were altered since B the stand-in has; empty if there is a source. */
    private final Set<RelationLocator> alteredFiles;

    private final Set<RelationLocator> keptFiles = new HashSet<>();
    private final CompletableFuture<Assembly> parts = new CompletableFuture<>();
    private final WalGate gate = new WalGate();
    private final Thread backup;

    private @Nullable BackupTransactions transactions;

    /** B, once the parts are there. */
    private volatile long startLsn;

    private volatile @Nullable DatabaseLoaders loader;
    private volatile @Nullable BackupProgress progress;
    private volatile @Nullable BackupOutcome outcome;
    private volatile boolean loaded;
    private volatile @Nullable Throwable failure;
    private Map<Integer, BaselineLoader.Outcome> outcomes = Map.of();
    private boolean handedOff;
    private long handedOffAt;
    private boolean outcomesTold;
    private boolean completed;

    /** Shapes before B. */
    private record Seed(
            List<DatabaseDescriptor> databases,
            List<RelationDescriptor> relations,
            boolean checksums) {}

    InitialLoad(
            Configuration configuration,
            StateDirectory state,
            SourceDatabase source,
            Prepared prepared,
            FirstAttach.Assembler assembler,
            FirstAttach.StandIn standIn)
            throws InterruptedException {
        this.configuration = configuration;
        this.state = state;
        this.source = source;
        this.prepared = prepared;
        this.assembler = assembler;
        this.standIn = standIn;
        this.kept = UnfinishedLoad.takeUp(state, prepared, !StoredBackup.isWanted(configuration));
        this.connection =
                source.isArchive() ? null : ReplicationConnection.connect(source.settings());
        try {
            if (connection != null) {
                connection.createPhysicalSlot(configuration.get(Settings.SOURCE_SLOT));
            }
            this.stored = StoredBackup.of(configuration, source, prepared, standIn.backup());
        } catch (RuntimeException | Error e) {
            closeConnection();
            throw e;
        }
        try {
            this.seed = kept == null ? readSeed() : seed(kept);
            if (stored != null) {
                stored.compare(seed.relations());
            }
            if (stored != null && source.isArchive()) {
                this.sequences =
                        sequences(SequencePages.find(prepared.databases(), seed.relations()));
                this.alteredFiles = stored.files(seed.relations());
                standIn.read(alteredFiles);
            } else {
                this.sequences = sequences(Map.of());
                this.alteredFiles = Set.of();
            }
        } catch (SQLException e) {
            closeConnections();
            throw unreadable(e);
        } catch (InterruptedException | RuntimeException | Error e) {
            closeConnections();
            throw e;
        }
        this.backup = Thread.ofPlatform().name("base-backup").unstarted(this::takeBackup);
    }

    private SequencePages sequences(Map<RelationLocator, SequencePages.Sequence> read) {
        return new SequencePages(new LateLoader(() -> loader), read, () -> startLsn);
    }

    private void closeConnection() {
        if (connection != null) {
            connection.close();
        }
    }

    private void closeConnections() {
        closeConnection();
        if (stored != null) {
            stored.close();
        }
    }

    private static Seed seed(UnfinishedLoad.Kept kept) {
        return new Seed(kept.databases(), kept.relations(), kept.start().checksums());
    }

    private Seed readSeed() {
        FollowedDatabases databases = prepared.databases();
        CatalogReader reader = new CatalogReader(databases.several());
        List<RelationDescriptor> relations = new ArrayList<>();
        boolean checksums;
        try {
            try (Connection session = source.open()) {
                checksums = SourceDatabase.hasChecksums(session);
                databases.update(
                        reader.databases(session).stream().map(databases::described).toList());
            }
            for (DatabaseDescriptor database : databases.followed()) {
                try (Connection session = databases.open(database.oid())) {
                    relations.addAll(reader.readAll(session));
                }
            }
            return new Seed(List.copyOf(databases.known()), List.copyOf(relations), checksums);
        } catch (SQLException e) {
            throw unreadable(e);
        }
    }

    private static RetryException unreadable(SQLException cause) {
        return new RetryException(
                BootstrapCodes.SOURCE_QUERY,
                "the source's catalogs cannot be read: " + cause.getMessage(),
                cause);
    }

    /** Returns when the stream ends, long after the load; throws what ended the attempt. */
    void run() throws InterruptedException {
        backup.start();
        Assembly assembly;
        try {
            assembly = parts.get();
        } catch (ExecutionException e) {
            throw rethrown(Objects.requireNonNull(e.getCause()));
        }
        assembly.pump.run();
        Throwable cause = failure;
        if (cause != null && !completed) {
            throw rethrown(cause);
        }
    }

    private static RuntimeException rethrown(Throwable cause) {
        if (cause instanceof RuntimeException e) {
            return e;
        }
        if (cause instanceof Error e) {
            throw e;
        }
        return new IllegalStateException(cause);
    }

    // ---- backup thread

    private void takeBackup() {
        BaseBackupRun.Options options =
                new BaseBackupRun.Options(
                        state.shadow(),
                        prepared.identity().systemIdentifier(),
                        keptFiles,
                        "walshadow",
                        (int) (configuration.get(Settings.BACKUP_MAX_RATE) >> 10));
        try {
            BackupOutcome received = backup().run(options, sequences, new Listener());
            outcome = received;
            DatabaseLoaders ended = Objects.requireNonNull(loader, "the backup has started");
            LOG.info("base backup received, {} rows so far", ended.rows());
            outcomes = ended.finish(received.endLsn());
            loaded = true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException | Error e) {
            failure = e;
            if (!parts.completeExceptionally(e)) {
                parts.join().source.close();
            }
        }
    }

    private BackupSource backup() {
        return stored == null
                ? new DirectBackup(Objects.requireNonNull(connection, "a source"))
                : stored.backup();
    }

    private final class Listener implements BackupListener {
        private long nextReport = System.nanoTime() + REPORT_NANOS;

        @Override
        public void started(long startLsn, int timeline) throws InterruptedException {
            begin(startLsn, timeline);
        }

        @Override
        public void progress(BackupProgress now) {
            progress = now;
            long nanos = System.nanoTime();
            if (nanos - nextReport >= 0) {
                nextReport = nanos + REPORT_NANOS;
                DatabaseLoaders walking = loader;
                LOG.info(
                        "initial load: {}, {} rows",
                        describe(),
                        walking == null ? 0 : walking.rows());
            }
        }
    }

    private void begin(long backupStart, int timeline) throws InterruptedException {
        Set<RewrittenCatalog> rewritten = rewrittenCatalogs();
        rewritten.forEach(each -> keptFiles.add(each.locator()));
        UnfinishedLoad.Kept before = kept;
        LoadStart start;
        if (before == null) {
            LOG.info("base backup begins at {}", Lsn.format(backupStart));
            start = layState(backupStart, timeline, rewritten);
        } else {
            start = before.start();
            LOG.info(
                    "another base backup begins at {}; the initial load goes on as of {}",
                    Lsn.format(backupStart),
                    Lsn.format(start.startLsn()));
            if (timeline != start.timeline()) {
                UnfinishedLoad.forget(state);
                throw new RetryException(
                        BootstrapCodes.SOURCE_QUERY,
                        "the source is on timeline %d, the load began on %d"
                                .formatted(timeline, start.timeline()));
            }
        }
        startParts(start);
    }

    /** What the load goes by, tables in ClickHouse included. */
    private LoadStart layState(long startLsn, int timeline, Set<RewrittenCatalog> rewritten)
            throws InterruptedException {
        long identifier = prepared.identity().systemIdentifier();
        LoadStart start =
                new LoadStart(
                        identifier,
                        timeline,
                        prepared.segmentSize(),
                        startLsn,
                        SourceDatabase.postgresMicrosNow(),
                        seed.checksums());
        prepared.tables()
                .attach(
                        prepared.selection().of(seed.relations()),
                        Partitions.among(seed.relations()),
                        startLsn);
        List<RelationDescriptor> first = new ArrayList<>(seed.relations());
        seed.databases().forEach(each -> first.add(each.asRelation()));
        try (DescriptorLog log = DescriptorLog.open(state.descriptorLog(), identifier)) {
            log.append(UnfinishedLoad.SEED_POSITION, first, List.of());
        }
        WalPages pages =
                new WalPages(prepared.major(), identifier, timeline, prepared.segmentSize());
        new SegmentArchive(state.archive(), pages)
                .begin(
                        StreamSnapshot.initial(
                                pages,
                                startLsn,
                                rewritten.stream()
                                        .map(each ->
                                                new CatalogSeed(each.locator(), each.relationOid()))
                                        .toList(),
                                true));
        UnfinishedLoad.begin(state, start);
        return start;
    }

    private void startParts(LoadStart start) throws InterruptedException {
        startLsn = start.startLsn();
        DescriptorLog log = DescriptorLog.open(state.descriptorLog(), start.systemIdentifier());
        Manifest manifest =
                new Manifest(
                        start.systemIdentifier(),
                        start.timeline(),
                        start.timeline(),
                        start.segmentSize(),
                        startLsn,
                        startLsn,
                        0,
                        startLsn,
                        log.lastLsn());
        Assembly assembly =
                assembler.assemble(
                        log,
                        UnfinishedLoad.beginning(state, start, prepared.major()),
                        startLsn,
                        manifest);
        if (assembly.archived != null && stored != null) {
            // nobody could be asked for what changes before the hand-off
            assembly.archived.holdAt(stored.endLsn());
        }
        // until it is known whether rows wait for transactions that are still open
        assembly.pipeline.onlyLoad(true);
        BackupTransactions open = new BackupTransactions(prepared.major(), startLsn);
        transactions = open;
        TouchedBlocks touched = new TouchedBlocks(prepared.major(), open);
        DatabaseLoaders walking;
        try {
            walking = newLoaders(assembly, start, touched, open);
        } catch (RuntimeException | Error e) {
            assembly.close();
            throw e;
        }
        loader = walking;
        if (walking.blocksKept() > 0) {
            LOG.info("{} blocks were walked before and are kept", walking.blocksKept());
        }
        assembly.pump.observe(
                record -> {
                    open.onRecord(record);
                    touched.onRecord(record);
                    sequences.onRecord(record);
                },
                this::between);
        if (!parts.complete(assembly)) {
            // aborted meanwhile: nobody else knows of the parts
            assembly.close();
            throw new InterruptedException("closed");
        }
        walking.start(open.awaitSnapshot());
    }

    /** Between the backup's start and its first file, as {@link RewrittenCatalogScan} says. */
    private Set<RewrittenCatalog> rewrittenCatalogs() throws InterruptedException {
        try {
            return RewrittenCatalogScan.run(
                    source::open, source.settings().database(), CATALOG_LOCK_PATIENCE);
        } catch (SQLException e) {
            throw new RetryException(
                    BootstrapCodes.SOURCE_QUERY,
                    "the source's rewritten catalogs cannot be read: " + e.getMessage(),
                    e);
        }
    }

    private DatabaseLoaders newLoaders(
            Assembly assembly, LoadStart start, TouchedBlocks touched, BackupTransactions open) {
        return new DatabaseLoaders(
                new DatabaseLoaders.Options(
                        state.deferred(),
                        start.systemIdentifier(),
                        start.startLsn(),
                        start.startMicros(),
                        configuration.get(Settings.MEMORY_BATCHES) / 4,
                        start.checksums()),
                prepared.databases().followed(),
                seed.relations(),
                assembly.pipeline,
                this::isLoaded,
                source::open,
                new BaselineLoader.WalSinceStart(
                        touched,
                        gate,
                        open,
                        session -> SourceDatabase.currentPosition(session, prepared.segmentSize()),
                        backup().copiedBefore()));
    }

    /** Of a stored backup only tables that are still as they were; the others are loaded anew. */
    private boolean isLoaded(int databaseOid, int relationOid) {
        return prepared.tables().wantsBaseline(databaseOid, relationOid)
                && (stored == null || !stored.hasChanged(databaseOid, relationOid));
    }

    // ---- pump thread, between records

    private void between(long position, long readTo) throws InterruptedException {
        gate.readTo(readTo);
        Assembly assembly = parts.join();
        BackupOutcome ended = outcome;
        if (ended != null && !handedOff && position >= ended.endLsn()) {
            handOff(assembly, position);
        }
        if (handedOff && loaded && !completed) {
            if (!outcomesTold) {
                outcomesTold = true;
                tellOutcomes(assembly, position);
            }
            if (!alteredFiles.isEmpty() && !assembly.pipeline.awaitLoads(System.nanoTime())) {
                return; // the stream waits for them at E, where the stand-in is
            }
            // what committed while the load ran may still need values of the backup
            if (assembly.pipeline.watermark().durableLsn() >= handedOffAt) {
                complete(assembly, position, Objects.requireNonNull(ended));
            }
        }
    }

    private void tellOutcomes(Assembly assembly, long position) throws InterruptedException {
        assembly.sequences.read(sequences.readings());
        for (Map.Entry<Integer, BaselineLoader.Outcome> each : outcomes.entrySet()) {
            int database = each.getKey();
            each.getValue()
                    .damaged()
                    .forEach((relation, what) ->
                            assembly.pipeline.quarantine(
                                    database,
                                    relation,
                                    BootstrapCodes.DAMAGED_PAGE,
                                    what,
                                    startLsn));
            for (Map.Entry<Integer, String> doubt : each.getValue().doubtful().entrySet()) {
                LOG.warn("loaded anew from the source: {}", doubt.getValue());
                assembly.pipeline.reload(database, doubt.getKey(), position, doubt.getValue());
            }
        }
        if (stored != null) {
            for (RelationDescriptor each : stored.changed()) {
                if (prepared.tables().wantsBaseline(each.databaseOid(), each.oid())) {
                    String reason = each.label() + " was altered after the backup's start";
                    LOG.info(
                            "loaded from the {}: {}",
                            source.isArchive() ? "backup's end" : "source",
                            reason);
                    assembly.pipeline.reload(each.databaseOid(), each.oid(), position, reason);
                }
            }
        }
    }

    private void handOff(Assembly assembly, long position) throws InterruptedException {
        LOG.info("starting the shadow, which recovers up to {}", Lsn.format(position));
        if (stored != null && !alteredFiles.isEmpty()) {
            assembly.loads.readStandIn(stored::hasChanged);
        }
        assembly.shadow.start();
        assembly.capture.captureAll(position, assembly.tables.unseenChanges());
        assembly.pump.holdWith(assembly.capture);
        handedOff = true;
        handedOffAt = position;
    }

    /** Beyond E, with tables that changes of shape find whole: nobody could be asked for others. */
    private void goOn(Assembly assembly) {
        assembly.loads.readStandIn(TableLoads.StandInTables.NONE);
        if (assembly.archived != null) {
            assembly.archived.holdAt(Long.MAX_VALUE);
        }
        standIn.leave();
    }

    private void complete(Assembly assembly, long position, BackupOutcome ended)
            throws InterruptedException {
        DatabaseLoaders finished = Objects.requireNonNull(loader, "the backup has started");
        new LoadRemainder(assembly, state, source, prepared)
                .begin(
                        Objects.requireNonNull(transactions, "the backup has started"),
                        finished::close,
                        () -> goOn(assembly));
        assembly.pipeline.settleLedger();
        assembly.pump.keepProgressNow();
        ShadowMarkers.complete(
                state.shadow(),
                new ShadowMarkers.Completion(
                        prepared.identity().systemIdentifier(),
                        ended.timeline(),
                        ended.startLsn(),
                        ended.endLsn()));
        completed = true;
        finished.keepValues();
        LOG.info(
                "initial load done: {} rows from {}, {} pages walked, {} kept from before, {}"
                        + " blocks by their image in the WAL; streaming from {}",
                finished.rows(),
                Lsn.format(startLsn),
                finished.pages(),
                finished.blocksKept(),
                finished.images(),
                Lsn.format(position));
        UnfinishedLoad.forget(state);
        closeConnections();
        standIn.loaded();
    }

    // ---- for others

    void progress(ObjectNode into) {
        BackupProgress now = progress;
        DatabaseLoaders current = loader;
        if (now != null) {
            into.put("bytes", now.bytesDone());
            into.put("bytes_total", now.bytesTotal());
            into.put("percent", Math.round(now.percent() * 10) / 10.0);
            into.put("eta_seconds", now.remaining().toSeconds());
        }
        if (current != null) {
            into.put("rows", current.rows());
        }
        into.put("step", describe());
    }

    String describe() {
        if (loaded) {
            return "waiting for the shadow";
        }
        if (outcome != null) {
            return "the backup is received, its last rows are on their way";
        }
        BackupProgress now = progress;
        return now == null
                ? stored == null
                        ? "waiting for the source's checkpoint"
                        : "reading the WAL since the backup's start"
                : String.format(
                        Locale.ROOT,
                        "%.1f %% of the base backup (%d of %d MB), about %d s left",
                        now.percent(),
                        now.bytesDone() >> 20,
                        now.bytesTotal() >> 20,
                        now.remaining().toSeconds());
    }

    void abort() {
        closeConnections();
        backup.interrupt();
        parts.completeExceptionally(new InterruptedException("closed"));
    }

    @Override
    public void close() {
        abort();
        try {
            backup.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        DatabaseLoaders current = loader;
        if (current != null && !completed) {
            current.leave();
        }
        if (!completed && parts.isDone() && !parts.isCompletedExceptionally()) {
            parts.join().close();
        }
    }
}
