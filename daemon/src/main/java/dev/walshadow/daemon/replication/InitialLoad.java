package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.BackupOutcome;
import dev.walshadow.bootstrap.backup.BaseBackupRun;
import dev.walshadow.bootstrap.backup.ShadowMarkers;
import dev.walshadow.bootstrap.load.BackupTransactions;
import dev.walshadow.bootstrap.load.DeferredDelivery;
import dev.walshadow.bootstrap.load.DeferredRows;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
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
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
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
    private final Runnable whenDone;
    private final ReplicationConnection connection;
    private final Seed seed;
    private final Set<RelationLocator> keptFiles = new HashSet<>();
    private final CompletableFuture<Assembly> parts = new CompletableFuture<>();
    private final Thread backup;

    private @Nullable BackupTransactions transactions;
    private volatile @Nullable DatabaseLoaders loader;
    private volatile @Nullable BackupProgress progress;
    private volatile @Nullable BackupOutcome outcome;
    private volatile boolean loaded;
    private volatile @Nullable Throwable failure;
    private Map<Integer, Map<Integer, String>> damaged = Map.of();
    private boolean handedOff;
    private long handedOffAt;
    private boolean damageTold;
    private boolean completed;

    /** Shapes before B. */
    private record Seed(List<DatabaseDescriptor> databases, List<RelationDescriptor> relations) {}

    InitialLoad(
            Configuration configuration,
            StateDirectory state,
            SourceDatabase source,
            Prepared prepared,
            FirstAttach.Assembler assembler,
            Runnable whenDone) {
        this.configuration = configuration;
        this.state = state;
        this.source = source;
        this.prepared = prepared;
        this.assembler = assembler;
        this.whenDone = whenDone;
        clear();
        this.connection = ReplicationConnection.connect(source.settings());
        try {
            connection.createPhysicalSlot(configuration.get(Settings.SOURCE_SLOT));
            this.seed = readSeed();
        } catch (RuntimeException | Error e) {
            connection.close();
            throw e;
        }
        this.backup = Thread.ofPlatform().name("base-backup").unstarted(this::takeBackup);
    }

    /** Removes what an unfinished attempt left; a completed shadow is never touched (I12). */
    private void clear() {
        if (ShadowMarkers.inspect(state.shadow()) == ShadowMarkers.State.INCOMPLETE) {
            ShadowMarkers.discard(state.shadow());
        }
        for (Path directory :
                List.of(state.descriptorLog(), state.archive(), state.deferred(), state.spill())) {
            try (Stream<Path> files = Files.walk(directory)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    if (!file.equals(directory)) {
                        Files.deleteIfExists(file);
                    }
                }
            } catch (IOException e) {
                throw new ConfigurationException(
                        DaemonCodes.STATE_UNUSABLE,
                        "what an unfinished initial load left in "
                                + directory
                                + " cannot be removed: "
                                + e,
                        e);
            }
        }
        try {
            Files.deleteIfExists(state.root().resolve("quarantine"));
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE, "the quarantine file cannot be removed: " + e, e);
        }
    }

    private Seed readSeed() {
        FollowedDatabases databases = prepared.databases();
        CatalogReader reader = new CatalogReader(databases.several());
        List<RelationDescriptor> relations = new ArrayList<>();
        try {
            try (Connection session = source.open()) {
                databases.update(
                        reader.databases(session).stream().map(databases::described).toList());
            }
            for (DatabaseDescriptor database : databases.followed()) {
                try (Connection session = databases.open(database.oid())) {
                    relations.addAll(reader.readAll(session));
                }
            }
            return new Seed(List.copyOf(databases.known()), List.copyOf(relations));
        } catch (SQLException e) {
            throw new RetryException(
                    BootstrapCodes.SOURCE_QUERY,
                    "the source's catalogs cannot be read: " + e.getMessage(),
                    e);
        }
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
                        0);
        try {
            outcome = BaseBackupRun.run(connection, options, new LateLoader(), new Listener());
            DatabaseLoaders ended = Objects.requireNonNull(loader, "the backup has started");
            LOG.info("base backup received, {} rows so far", ended.rows());
            damaged = ended.finish();
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

    /** The loader exists once the backup has started, before the first file. */
    private final class LateLoader implements HeapFileSink {
        private HeapFileSink sink() {
            return Objects.requireNonNull(loader, "files come after the start");
        }

        @Override
        public boolean wants(RelationLocator locator) {
            return sink().wants(locator);
        }

        @Override
        public void begin(RelationLocator locator, int segmentNumber, long fileSize)
                throws InterruptedException {
            sink().begin(locator, segmentNumber, fileSize);
        }

        @Override
        public void data(byte[] bytes, int offset, int length) throws InterruptedException {
            sink().data(bytes, offset, length);
        }

        @Override
        public void end() throws InterruptedException {
            sink().end();
        }
    }

    private void begin(long startLsn, int timeline) throws InterruptedException {
        LOG.info("base backup begins at {}", Lsn.format(startLsn));
        long identifier = prepared.identity().systemIdentifier();
        WalPages pages =
                new WalPages(prepared.major(), identifier, timeline, prepared.segmentSize());
        prepared.tables()
                .attach(
                        prepared.selection().of(seed.relations()),
                        Partitions.among(seed.relations()),
                        startLsn);
        Set<RewrittenCatalog> rewritten = rewrittenCatalogs();
        rewritten.forEach(each -> keptFiles.add(each.locator()));
        DescriptorLog log = DescriptorLog.open(state.descriptorLog(), identifier);
        List<RelationDescriptor> first = new ArrayList<>(seed.relations());
        seed.databases().forEach(each -> first.add(each.asRelation()));
        log.append(1, first, List.of());
        StreamSnapshot from =
                StreamSnapshot.initial(
                        pages,
                        startLsn,
                        rewritten.stream()
                                .map(each -> new CatalogSeed(each.locator(), each.relationOid()))
                                .toList(),
                        true);
        new SegmentArchive(state.archive(), pages).begin(from);
        Manifest manifest =
                new Manifest(
                        identifier,
                        timeline,
                        prepared.segmentSize(),
                        startLsn,
                        startLsn,
                        0,
                        startLsn);
        Assembly assembly = assembler.assemble(log, from, startLsn, manifest);
        BackupTransactions open = new BackupTransactions(prepared.major(), startLsn);
        transactions = open;
        DatabaseLoaders walking;
        try {
            walking = newLoaders(assembly);
        } catch (RuntimeException | Error e) {
            assembly.close();
            throw e;
        }
        loader = walking;
        assembly.pump.observe(open::onRecord, this::between);
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

    private DatabaseLoaders newLoaders(Assembly assembly) {
        return new DatabaseLoaders(
                new DatabaseLoaders.Options(
                        state.deferred(),
                        prepared.identity().systemIdentifier(),
                        SourceDatabase.postgresMicrosNow(),
                        configuration.get(Settings.MEMORY_BATCHES) / 4),
                prepared.databases().followed(),
                seed.relations(),
                assembly.pipeline,
                prepared.tables()::wantsBaseline,
                source::open);
    }

    // ---- pump thread, between records

    private void between(long position) throws InterruptedException {
        Assembly assembly = parts.join();
        BackupOutcome ended = outcome;
        if (ended != null && !handedOff && position >= ended.endLsn()) {
            handOff(assembly, position);
        }
        if (handedOff && loaded && !completed) {
            if (!damageTold) {
                damageTold = true;
                setDamagedAside(assembly, Objects.requireNonNull(ended));
            }
            // what committed while the load ran may still need values of the backup
            if (assembly.pipeline.watermark().durableLsn() >= handedOffAt) {
                complete(assembly, position, Objects.requireNonNull(ended));
            }
        }
    }

    private void setDamagedAside(Assembly assembly, BackupOutcome ended) {
        damaged.forEach((database, tables) ->
                tables.forEach((relation, what) ->
                        assembly.pipeline.quarantine(
                                database,
                                relation,
                                BootstrapCodes.DAMAGED_PAGE,
                                what,
                                ended.startLsn())));
    }

    private void handOff(Assembly assembly, long position) throws InterruptedException {
        LOG.info("starting the shadow, which recovers up to {}", Lsn.format(position));
        assembly.shadow.start();
        assembly.capture.captureAll(position, assembly.tables.duringInitialLoad());
        assembly.pump.holdWith(assembly.capture);
        handedOff = true;
        handedOffAt = position;
    }

    private void complete(Assembly assembly, long position, BackupOutcome ended)
            throws InterruptedException {
        deliverDeferred(
                assembly,
                state,
                source,
                prepared,
                Objects.requireNonNull(transactions, "the backup has started"));
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
        assembly.pipeline.forgetBaselineToast();
        DatabaseLoaders finished = Objects.requireNonNull(loader, "the backup has started");
        LOG.info(
                "initial load done: {} rows from {}; streaming from {}",
                finished.rows(),
                Lsn.format(ended.startLsn()),
                Lsn.format(position));
        finished.close();
        connection.close();
        whenDone.run();
    }

    /**
     * Starts the delivery of rows that wait for open transactions, if there are any. Called on the
     * pump's thread or before it runs.
     */
    static void deliverDeferred(
            Assembly assembly,
            StateDirectory state,
            SourceDatabase source,
            Prepared prepared,
            @Nullable BackupTransactions known)
            throws InterruptedException {
        List<DeferredRows> rows =
                DatabaseLoaders.deferred(
                        state.deferred(),
                        prepared.identity().systemIdentifier(),
                        assembly.pipeline);
        if (rows.isEmpty()) {
            assembly.pump.observe(null, null);
            return;
        }
        BackupTransactions transactions =
                known != null
                        ? known
                        : new BackupTransactions(prepared.major(), rows.getFirst().snapshot());
        LOG.info("rows of transactions that are still open wait for their end");
        assembly.pump.observe(transactions::onRecord, null);
        assembly.pump.holdFloorAt(transactions::floor);
        assembly.keepShapes();
        assembly.pipeline.onlyLoad(true);
        DeferredDelivery delivery =
                new DeferredDelivery(
                        rows,
                        transactions,
                        source::open,
                        session -> SourceDatabase.currentPosition(session, prepared.segmentSize()));
        assembly.runBeside(
                "deferred-rows",
                () -> {
                    delivery.run();
                    assembly.pipeline.onlyLoad(false);
                });
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
                ? "waiting for the source's checkpoint"
                : String.format(
                        Locale.ROOT,
                        "%.1f %% of the base backup (%d of %d MB), about %d s left",
                        now.percent(),
                        now.bytesDone() >> 20,
                        now.bytesTotal() >> 20,
                        now.remaining().toSeconds());
    }

    void abort() {
        connection.close();
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
            current.close();
        }
        if (!completed && parts.isDone() && !parts.isCompletedExceptionally()) {
            parts.join().close();
        }
    }
}
