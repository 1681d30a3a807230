package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.pipeline.LoadTicket;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.pipeline.PipelineEvents;
import dev.walshadow.pipeline.PipelineOptions;
import dev.walshadow.pipeline.Quarantine;
import dev.walshadow.pipeline.SourceLookup;
import dev.walshadow.pipeline.Watermark;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.ShadowCluster;
import dev.walshadow.shadow.ShadowSessions;
import dev.walshadow.shadow.WalSender;
import dev.walshadow.source.SegmentArchive;
import dev.walshadow.source.SegmentSink;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.UpstreamWal;
import dev.walshadow.source.WalStream;
import dev.walshadow.source.replication.LiveWalSource;
import dev.walshadow.source.replication.StandbyStatus;
import dev.walshadow.source.spool.SpooledWalSource;
import dev.walshadow.source.spool.WalSpool;
import dev.walshadow.source.store.ArchivedWalSource;
import dev.walshadow.transaction.CommitSink;
import dev.walshadow.transaction.RecordFilter;
import dev.walshadow.transaction.TransactionBuffer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * Builds the parts of one run of the stream, from a position on, and owns them until {@link #close}
 * stops them in the order of the flow.
 */
final class Assembly implements AutoCloseable {
    /** Names the sockets only; nothing listens on TCP. */
    private static final int SENDER_PORT = 5433;

    private static final int SHADOW_PORT = 5434;
    private static final Duration IDLE_SEAL_INTERVAL = Duration.ofMillis(10);
    static final long QUEUE_BYTES = 32L << 20;
    private static final long DEFERRED_BYTES = 16L << 20;
    private static final Duration SOURCE_SILENCE = Duration.ofSeconds(60);
    private static final int FIRST_NORMAL_OBJECT_ID = 16384;

    private final Configuration configuration;
    private final StateDirectory state;
    private final Prepared prepared;

    private final List<Thread> beside = new CopyOnWriteArrayList<>();

    private boolean compactsShapes = true;
    final TombstoneSchedule tombstones;

    final WalPages pages;
    final SegmentArchive archive;
    final DescriptorLog log;
    final StandbyStatus status = new StandbyStatus();
    final Pipeline pipeline;
    final SourceValues values;
    final TransactionBuffer buffer;
    final WalSender sender;
    final ShadowCluster shadow;
    final ReplicatedTables tables;
    final TableLoads loads;
    final CatalogCapture capture;
    private final ShadowSessions sessions;
    final SourceLog sourceLog = new SourceLog();
    private final @Nullable WalArchive walArchive;
    final UpstreamWal live;

    /** The same, where there is no source but its archive; else null. */
    final @Nullable ArchivedWalSource archived;

    /** What an earlier run has read. */
    private final long reached;

    final WalSpool spool;
    final SpooledWalSource source;
    final ProgressKeeper progress;
    final WalPump pump;
    final Sequences sequences;

    /** Tables may be followed as soon as shapes that are owed have been read. */
    private volatile boolean awaitsShapes;

    /**
     * @param from where the stream begins
     * @param decodeFrom first record that is handed on
     * @param manifest how far an earlier run was durable
     * @param declared the configuration in the source, where it is enabled
     */
    Assembly(
            Configuration configuration,
            StateDirectory state,
            SourceDatabase database,
            Prepared prepared,
            DescriptorLog log,
            StreamSnapshot from,
            long decodeFrom,
            Manifest manifest,
            Observations seen,
            @Nullable SourceConfiguration declared) {
        this.configuration = configuration;
        this.state = state;
        this.prepared = prepared;
        this.log = log;
        tombstones = new TombstoneSchedule(configuration);
        pages = from.pages();
        archive = new SegmentArchive(state.archive(), pages);
        spool = WalSpool.open(spoolOptions(), from.segmentStart());
        RecentCommits commits = new RecentCommits(pages.majorVersion(), seen::committed);
        loads =
                new TableLoads(
                        database,
                        prepared.databases(),
                        pages.segmentSize(),
                        configuration.get(Settings.SOURCE_COPY_SESSIONS),
                        commits,
                        this::handedOn,
                        this::loadAnew,
                        this::stopBy);
        values = new SourceValues(prepared.databases(), Targets.valueLimits(configuration).bytes());
        pipeline =
                startPipeline(
                        manifest, new Events(seen, loads), database.isArchive() ? null : values);
        loads.use(pipeline);
        CommitSink sink =
                declared == null ? pipeline : declared.before(pipeline, log, this::declared);
        buffer = new TransactionBuffer(bufferOptions(), seen.before(sink));
        buffer.listen(
                new Signals(
                        configuration.get(Settings.SOURCE_SIGNALS),
                        prepared.databases()::keeps,
                        pipeline,
                        prepared.pause(),
                        manifest.durablePosition()));
        sender = new WalSender(senderOptions(from));
        shadow = new ShadowCluster(shadowOptions());
        tables = new ReplicatedTables(pipeline, prepared.selection(), prepared.databases(), log);
        if (declared != null) {
            tables.readOtherwise(declared::reads);
        }
        sessions = new ShadowSessions(shadow, sender, () -> superusers(database));
        capture =
                new CatalogCapture(
                        log, sessions, prepared.databases(), tables, tables.unseenChanges());
        walArchive = WalArchive.open(configuration, pages.segmentSize());
        reached = prepared.firstAttach() ? 0 : Math.max(manifest.handedOn(), log.lastLsn());
        archived =
                database.isArchive() && walArchive != null
                        ? new ArchivedWalSource(walArchive.reader(), reached)
                        : null;
        live =
                archived != null
                        ? archived
                        : new LiveWalSource(
                                sourceOptions(database, reached),
                                status,
                                sourceLog,
                                walArchive == null ? null : walArchive.reader());
        source = new SpooledWalSource(live, live::detachBuffer, spool, status::advanceFlush);
        progress =
                new ProgressKeeper(
                        state.manifest(),
                        status,
                        manifest,
                        this::floorKept,
                        log::lastLsn,
                        live::timeline);
        pump =
                new WalPump(
                        source,
                        manifest.sourceTimeline(),
                        from.segmentStart(),
                        buffer,
                        pipeline,
                        progress,
                        sender,
                        commits);
        SegmentSink segments =
                (startLsn, segment, length, next) -> {
                    archive.segmentComplete(startLsn, segment, length, next);
                    sender.segmentComplete(startLsn);
                };
        sequences =
                new Sequences(
                        state.sequences(),
                        !prepared.firstAttach(),
                        pages.systemIdentifier(),
                        prepared.databases(),
                        log,
                        tables::selectsNow,
                        pipeline.sequences());
        tables.tell(sequences);
        pump.watch(sequences);
        progress.keepBeside(sequences::save);
        pump.tidyWith(this::tidy);
        WalStream stream =
                new WalStream(
                        from,
                        decodeFrom,
                        new ShadowWire(sender, sessions),
                        pump::onRecord,
                        segments);
        capture.tellIndexes(stream::knowIndex);
        pump.use(stream);
    }

    private record Events(PipelineEvents others, TableLoads loads) implements PipelineEvents {
        @Override
        public void targetReachable(boolean reachable, String reason) {
            others.targetReachable(reachable, reason);
        }

        @Override
        public void watermark(Watermark watermark) {
            others.watermark(watermark);
        }

        @Override
        public void loadWanted(LoadTicket load) {
            loads.wanted(load);
        }
    }

    private Pipeline startPipeline(
            Manifest manifest, PipelineEvents events, @Nullable SourceLookup lookup) {
        PipelineOptions options =
                new PipelineOptions(
                        pages.systemIdentifier(),
                        state.root(),
                        manifest.durablePosition(),
                        configuration.get(Settings.PIPELINE_DECODERS),
                        configuration.get(Settings.PIPELINE_INSERTERS),
                        configuration.get(Settings.BATCH_ROWS),
                        configuration.get(Settings.BATCH_BYTES),
                        configuration.get(Settings.BATCH_AGE),
                        IDLE_SEAL_INTERVAL,
                        QUEUE_BYTES,
                        configuration.get(Settings.MEMORY_BATCHES),
                        DEFERRED_BYTES,
                        configuration.get(Settings.MEMORY_RECENT_VALUES),
                        Targets.toastMode(configuration),
                        Targets.valueLimits(configuration));
        return Pipeline.start(
                options,
                new Pipeline.Surroundings(
                        prepared.client(),
                        log,
                        prepared.tables(),
                        Quarantine.open(state.root(), pages.systemIdentifier()),
                        events,
                        lookup,
                        prepared.pause().gate()));
    }

    private TransactionBuffer.Options bufferOptions() {
        FollowedDatabases databases = prepared.databases();
        RecordFilter filter =
                new RecordFilter() {
                    @Override
                    public boolean keepsDatabase(int databaseOid) {
                        return databases.keeps(databaseOid);
                    }

                    @Override
                    public boolean keepsRelation(
                            int tablespaceOid, int databaseOid, int relationNumber) {
                        return Integer.compareUnsigned(relationNumber, FIRST_NORMAL_OBJECT_ID) >= 0;
                    }
                };
        return new TransactionBuffer.Options(
                configuration.get(Settings.MEMORY_TRANSACTIONS),
                state.spill(),
                pages.systemIdentifier(),
                pages.majorVersion(),
                filter,
                Pipeline.toastRelations(log),
                TransactionBuffer.Options.DEFAULT_PATIENCE);
    }

    /** As the source says now; as it said at the start while it is away. */
    private List<String> superusers(SourceDatabase database) {
        try (Connection session = database.open()) {
            return new CatalogReader().superusers(session);
        } catch (SQLException e) {
            return prepared.superusers();
        }
    }

    private WalSender.Options senderOptions(StreamSnapshot from) {
        return new WalSender.Options(
                pages.systemIdentifier(),
                pages.timeline(),
                pages.segmentSize(),
                from.segmentStart(),
                state.archive(),
                state.run(),
                SENDER_PORT,
                prepared.serverVersion());
    }

    private ShadowCluster.Options shadowOptions() {
        Path binaries = Targets.binaries(configuration, pages.majorVersion());
        Set<String> locales = new HashSet<>();
        prepared.databaseRows()
                .forEach(each -> locales.addAll(List.of(each.collate(), each.ctype())));
        return new ShadowCluster.Options(
                state.shadow(),
                state.run(),
                binaries,
                state.archive(),
                sender.connectionInfo(),
                SHADOW_PORT,
                configuration.find(Settings.SHADOW_USER).orElse(null),
                locales,
                Map.of());
    }

    private WalSpool.Options spoolOptions() {
        return new WalSpool.Options(
                state.spool(), pages, configuration.get(Settings.WAL_SPOOL_MAX));
    }

    /**
     * Whether the source was promoted without WAL that was received, but with every record of it
     * that was made use of. Once the pump has ended.
     */
    boolean canTakeBack() {
        return live.leftAt() >= Math.max(reached, pump.handedOn());
    }

    /** Forgets what the source has not. After {@link #close}, if that can be done. */
    void takeBack() {
        WalSpool.cut(spoolOptions(), live.leftAt());
    }

    private LiveWalSource.Options sourceOptions(SourceDatabase database, long reached) {
        return new LiveWalSource.Options(
                database.settings(),
                configuration.get(Settings.SOURCE_SLOT),
                prepared.firstAttach() || walArchive != null,
                pages.systemIdentifier(),
                reached,
                configuration.get(Settings.SOURCE_STATUS_INTERVAL),
                SOURCE_SILENCE);
    }

    /** Nothing that begins below the floor comes again. On the pump's thread. */
    private void floorKept(long floor) {
        spool.retain(floor);
        tombstones.tick(pipeline, floor);
    }

    /** Lets go of what neither the shadow nor a resume can need any more. On the pump's thread. */
    private void tidy() {
        long floor = progress.manifest().resumeFloor();
        archive.retain(Math.min(shadow.oldestNeededLsn(), floor));
        if (compactsShapes) {
            log.compact(floor);
        }
        sequences.reselect();
    }

    /** Rows of the initial load are still to come, in their shapes of then. On the pump. */
    void keepShapes() {
        compactsShapes = false;
    }

    /**
     * At the commit itself, unless what is known of tables is ahead of the stream, as after a
     * restart and while the first load runs: then when the stream is there.
     */
    private void declared(TableRequest.Declared request, long position)
            throws InterruptedException {
        TableErrand errand =
                new TableErrand(request, this, state.tableDecisions(), pages.systemIdentifier());
        if (pump.keepsProgress() && position >= caughtUp() && !log.owesShapes()) {
            errand.run(position);
        } else {
            later(errand);
        }
    }

    private void later(TableErrand errand) {
        pump.ask(handedOn -> {
            if (pump.keepsProgress()) {
                errand.run(handedOn);
            } else {
                later(errand);
            }
        });
    }

    FollowedDatabases databases() {
        return prepared.databases();
    }

    private void stopBy(Throwable fault) {
        pump.fail(fault);
    }

    private long handedOn() {
        return pump.handedOn();
    }

    private void loadAnew(LoadTicket load, String reason) {
        pump.ask(handedOn -> loadAnew(load, reason, handedOn));
    }

    private void loadAnew(LoadTicket load, String reason, long handedOn)
            throws InterruptedException {
        if (handedOn < caughtUp()) {
            loadAnew(load, reason); // after a restart: what is known is ahead of the stream
        } else if (load.isWanted()) {
            pipeline.reload(load.shape().databaseOid(), load.shape().oid(), handedOn, reason);
        }
    }

    /**
     * Reads the shapes that are owed, before anybody needs them. On the pump, between pushes.
     *
     * @return whether none is owed any more; false: it cannot be done here
     */
    boolean settle(long handedOn) throws InterruptedException {
        if (!log.owesShapes()) {
            return true;
        }
        long applied = sender.appliedLsn();
        if (applied == 0 || handedOn < Math.max(applied, caughtUp()) || !pump.isReadable()) {
            return false;
        }
        capture.settle(handedOn);
        return true;
    }

    void awaitsShapes(boolean now) {
        awaitsShapes = now;
    }

    /** Whether it is not yet known which tables are followed. Any thread. */
    boolean awaitsShapes() {
        return awaitsShapes;
    }

    /** What is known of tables, and in ClickHouse, is of this position or before. */
    long caughtUp() {
        return Math.max(tables.knownUpTo(), pipeline.watermark().durableLsn());
    }

    /** Runs work of its own until it ends or the parts are closed; its failure ends the pump. */
    void runBeside(String name, Runnable work) {
        Thread thread =
                Thread.ofPlatform()
                        .name(name)
                        .start(() -> {
                            try {
                                work.run();
                            } catch (RuntimeException | Error e) {
                                pump.fail(e);
                            }
                        });
        beside.add(thread);
    }

    /** The shadow last: it may still ask for what was published. */
    @Override
    public void close() {
        source.close();
        loads.close();
        beside.forEach(Thread::interrupt);
        pipeline.close();
        sessions.close();
        prepared.scratch().close();
        shadow.close();
        sender.close();
        buffer.close();
        log.close();
        source.awaitEnd();
        if (walArchive != null) {
            walArchive.close();
        }
        spool.close();
    }
}
