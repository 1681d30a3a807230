package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.ReconnectException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.bootstrap.backup.ShadowMarkers;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.config.SourceLayer;
import dev.walshadow.daemon.monitor.CommitLatency;
import dev.walshadow.daemon.monitor.TransactionTraces;
import dev.walshadow.daemon.preflight.Findings;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.daemon.verify.BackgroundVerification;
import dev.walshadow.pipeline.BatchLimits;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.pipeline.TargetGate;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.source.SegmentArchive;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.replication.ReplicationConnection;
import dev.walshadow.source.store.ArchivedWalSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A replication from its start to its end: preflight, then either the first attach or the resume of
 * an earlier one, then the stream until it is closed or fails.
 */
public final class Replication implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Replication.class);

    private static final long POLL_NANOS = 20_000_000L;
    private static final long TOLERANCE_NANOS = 100_000_000L;

    private volatile Configuration configuration;
    private final StateDirectory state;
    private final SourceDatabase source;

    /** Null: there is a source. */
    private final @Nullable ArchivedSource archived;

    private final Prepared prepared;
    private final @Nullable SourceConfiguration declared;
    private final CountDownLatch ended = new CountDownLatch(1);
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final FirstAttach firstAttach;
    private final Thread worker;
    private final Observations seen;
    private final SourceWatch watch;
    private final BackgroundVerification verification;

    private volatile @Nullable Assembly assembly;
    private volatile boolean closing;
    private volatile boolean cutOff;

    private Replication(
            Configuration configuration,
            StateDirectory state,
            SourceDatabase source,
            Prepared prepared,
            @Nullable SourceConfiguration declared,
            @Nullable ArchivedSource archived) {
        this.declared = declared;
        this.archived = archived;
        this.configuration = configuration;
        this.state = state;
        this.source = source;
        this.prepared = prepared;
        this.seen = new Observations(traces(configuration, source));
        this.firstAttach =
                new FirstAttach(
                        configuration,
                        state,
                        source,
                        prepared,
                        this::assemble,
                        archived == null ? FirstAttach.StandIn.NONE : archived);
        this.watch =
                new SourceWatch(
                        source,
                        configuration.get(Settings.SOURCE_SLOT),
                        configuration.get(Settings.SOURCE_POLL_INTERVAL),
                        seen.clock,
                        this::sourceEnd);
        this.verification =
                new BackgroundVerification(
                        pace(configuration),
                        this::comparable,
                        new SplittableRandom(),
                        InstantSource.system());
        this.worker = Thread.ofPlatform().name("wal-pump").unstarted(this::work);
    }

    /**
     * Checks everything, then goes on in threads of its own.
     *
     * @param settings told what the source says of settings, on the pump's thread or before it runs
     * @throws ConfigurationException with every finding; nothing was changed
     */
    public static Replication start(
            Configuration configuration, StateDirectory state, Consumer<SourceLayer> settings) {
        if (SourceDatabase.isArchive(configuration)) {
            return startFromArchive(configuration, state);
        }
        SourceDatabase source = OfflineCheck.source(configuration);
        Prepared prepared = new Preflight(configuration, state, source).check();
        SourceConfiguration declared =
                SourceConfiguration.open(configuration, state, prepared, source, settings)
                        .orElse(null);
        return start(configuration, state, source, prepared, declared, null);
    }

    /** The first attach asks the backup's catalogs, a resume what was kept of them. */
    private static Replication startFromArchive(Configuration configuration, StateDirectory state) {
        ArchivedSource archived = ArchivedSource.find(configuration, state);
        boolean started = false;
        try {
            Prepared prepared =
                    new Preflight(configuration, state, archived.source(), archived.facts())
                            .check();
            Replication replication =
                    start(configuration, state, archived.source(), prepared, null, archived);
            started = true;
            return replication;
        } finally {
            if (!started) {
                archived.close();
            }
        }
    }

    private static Replication start(
            Configuration configuration,
            StateDirectory state,
            SourceDatabase source,
            Prepared prepared,
            @Nullable SourceConfiguration declared,
            @Nullable ArchivedSource archived) {
        if (!prepared.pause().describe().isEmpty()) {
            LOG.warn("{}", prepared.pause().describe());
        }
        Replication replication =
                new Replication(configuration, state, source, prepared, declared, archived);
        replication.worker.start();
        replication.watch.start();
        replication.verification.start();
        return replication;
    }

    private static @Nullable TransactionTraces traces(
            Configuration configuration, SourceDatabase source) {
        return configuration
                .find(Settings.TRACES_URL)
                .map(url ->
                        new TransactionTraces(
                                url,
                                configuration.get(Settings.TRACES_PER_MINUTE),
                                source.settings().toString()))
                .orElse(null);
    }

    private static BackgroundVerification.Pace pace(Configuration configuration) {
        return new BackgroundVerification.Pace(
                configuration.get(Settings.VERIFY_INTERVAL),
                configuration.get(Settings.VERIFY_ROWS));
    }

    /** Null while tables cannot be compared. */
    private BackgroundVerification.@Nullable Surroundings comparable() {
        Assembly parts = assembly;
        boolean can =
                archived == null
                        && firstAttach.isDone()
                        && prepared.pause().describe().isEmpty()
                        && seen.targetReachable()
                        && ended.getCount() > 0;
        return can && parts != null ? new Compared(parts, prepared) : null;
    }

    private record Compared(Assembly parts, Prepared prepared)
            implements BackgroundVerification.Surroundings {
        @Override
        public TargetTables tables() {
            return prepared.tables();
        }

        @Override
        public Pipeline pipeline() {
            return parts.pipeline;
        }

        @Override
        public ClickHouseClient client() {
            return prepared.client();
        }

        @Override
        public TargetGate gate() {
            return prepared.pause().gate();
        }

        @Override
        public Connection open(int databaseOid) throws SQLException {
            return prepared.databases().open(databaseOid);
        }

        @Override
        public long position(Connection session) throws SQLException {
            return SourceDatabase.currentPosition(session, prepared.segmentSize());
        }
    }

    /** Looks at everything as {@link #start} does, and changes nothing; also beside a daemon. */
    public static Findings check(Configuration configuration) {
        StateDirectory state = StateDirectory.unlocked(configuration.get(Settings.STATE_DIR));
        if (SourceDatabase.isArchive(configuration)) {
            return ArchivedSource.look(configuration);
        }
        SourceDatabase source = OfflineCheck.source(configuration);
        return new Preflight(configuration, state, source).look();
    }

    private long sourceEnd() {
        Assembly parts = assembly;
        return parts == null ? 0 : Math.max(parts.live.serverEnd(), parts.pump.received());
    }

    private void work() {
        try {
            Manifest manifest = prepared.manifest();
            if (manifest == null) {
                firstAttach.run();
            } else {
                resume(manifest);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException | Error e) {
            if (!closing) {
                Assembly parts = assembly;
                cutOff = parts != null && firstAttach.isDone() && parts.canTakeBack();
                failure.compareAndSet(null, e);
                if (!cutOff) {
                    logEnd(e);
                }
            }
        } finally {
            ended.countDown();
        }
    }

    /** A failure of the known tree is its message; anything else is a fault, told in full. */
    private static void logEnd(Throwable e) {
        if (e instanceof WalshadowException) {
            LOG.error("replication ends: {}", e.getMessage());
            LOG.debug("replication ends", e);
        } else {
            LOG.error("replication ends by a fault in walshadow", e);
        }
    }

    private void resume(Manifest manifest) throws InterruptedException {
        WalPages pages =
                new WalPages(
                        prepared.major(),
                        manifest.systemIdentifier(),
                        manifest.timeline(),
                        manifest.segmentSize());
        StreamSnapshot from =
                new SegmentArchive(state.archive(), pages).resumeAt(manifest.resumeFloor());
        DescriptorLog log =
                DescriptorLog.open(
                        state.descriptorLog(),
                        manifest.systemIdentifier(),
                        manifest.shapesPosition());
        prepared.databases().resume(log, manifest.durablePosition());
        prepared.tables()
                .resume(
                        log,
                        manifest.durablePosition(),
                        ReplicatedTables.selected(prepared.selection(), prepared.databases(), log));
        UnfinishedLoad.forget(state);
        Assembly parts = assemble(log, from, manifest.resumeFloor(), manifest);
        LOG.info(
                "resuming at {}; durable up to {}",
                Lsn.format(manifest.resumeFloor()),
                Lsn.format(manifest.durablePosition()));
        if (ShadowMarkers.inspect(state.shadow()) == ShadowMarkers.State.INCOMPLETE) {
            // the manifest was written, the marker not any more
            ShadowMarkers.complete(
                    state.shadow(),
                    new ShadowMarkers.Completion(
                            manifest.systemIdentifier(),
                            manifest.timeline(),
                            manifest.bootstrapStart(),
                            manifest.handedOn()));
        }
        parts.pump.holdWith(parts.capture);
        parts.pump.keepProgress();
        boolean differ = prepared.databases().differFromConfiguration();
        boolean owes = log.owesShapes(manifest.durablePosition());
        if (differ || owes || log.lastLsn() > manifest.durablePosition()) {
            parts.awaitsShapes(owes);
            parts.pump.ask(new Reconfiguration(parts, manifest, differ, owes));
        }
        new LoadRemainder(parts, state, source, prepared).goOn();
        parts.shadow.start();
        parts.pump.run();
    }

    /**
     * Takes up the databases that the configuration names and the log does not have, and gives up
     * others: once the stream has reached what the shadow has, so that its catalogs are those of
     * the position. No commit stands for that, so after a kill it is not told again: what of it had
     * not arrived is looked for. Shapes that are owed are read: the configuration may select tables
     * that were left out when they changed.
     */
    private record Reconfiguration(Assembly parts, Manifest resumed, boolean differ, boolean owes)
            implements WalPump.Errand {
        @Override
        public void run(long handedOn) throws InterruptedException {
            long applied = parts.sender.appliedLsn();
            boolean ahead = applied == 0 || handedOn < Math.max(applied, resumed.handedOn());
            long told = Math.max(parts.log.lastLsn(), resumed.durablePosition());
            boolean tooEarly = ahead || handedOn < told || (handedOn == told && !owes);
            if (tooEarly || !parts.settle(handedOn)) {
                parts.pump.ask(this);
                return;
            }
            if (differ) {
                parts.capture.captureConfiguration(handedOn);
            }
            parts.sequences.reselect();
            parts.tables.tellMissing(handedOn);
            parts.awaitsShapes(false);
        }
    }

    /** Builds the parts and makes them those that status and close see. */
    private Assembly assemble(
            DescriptorLog log, StreamSnapshot from, long decodeFrom, Manifest manifest) {
        Assembly parts =
                new Assembly(
                        configuration,
                        state,
                        source,
                        prepared,
                        log,
                        from,
                        decodeFrom,
                        manifest,
                        seen,
                        declared);
        assembly = parts;
        if (archived != null) {
            return parts;
        }
        parts.runBeside(
                "sequences",
                new SequenceReader(
                        prepared.databases(),
                        parts.sequences,
                        found -> parts.pump.ask(_ -> parts.sequences.read(found))));
        return parts;
    }

    /** Returns after {@link #close}; throws what ended the replication. */
    public void awaitEnd() throws InterruptedException {
        ended.await();
        switch (failure.get()) {
            case null -> {}
            case WalshadowException known -> throw known;
            case Error error -> throw error;
            case Throwable other -> throw new IllegalStateException(other);
        }
    }

    /**
     * Whether it has ended because the source was promoted in the middle of a record that had been
     * received in part. Nothing of that was used: after {@link #close}, a new start goes on behind
     * the record before.
     */
    public boolean wasCutOff() {
        return cutOff;
    }

    /** Waits until what is committed on the source now is durable, the initial load included. */
    public ObjectNode await(JsonMapper json, long deadline) throws InterruptedException {
        ObjectNode answer = json.createObjectNode();
        long target;
        try {
            target = archived == null ? sourcePosition(deadline) : archivedPosition(deadline);
        } catch (SQLException e) {
            String reason = "the source's position cannot be asked for: " + e.getMessage();
            if (deadline - System.nanoTime() > TOLERANCE_NANOS) {
                throw new ConfigurationException(DaemonCodes.SOURCE_UNREACHABLE, reason, e);
            }
            return answer.put("durable", false).put("message", reason);
        }
        answer.put("lsn", Lsn.format(Math.max(0, target)));
        boolean durable =
                target >= 0
                        && firstAttach.awaitDone(deadline)
                        && awaitDurable(target, deadline)
                        && awaitLoads(deadline)
                        && settleLedger();
        answer.put("durable", durable);
        if (!durable) {
            answer.put("message", Status.explain(prepared, firstAttach, assembly, failure.get()));
        }
        Assembly parts = assembly;
        List<String> aside = parts == null ? List.of() : ReplicatedTables.setAside(parts.pipeline);
        var lines = answer.putArray("set_aside");
        aside.forEach(lines::add);
        return answer;
    }

    /** Whoever has waited finds held and quarantined tables in the ledger. */
    private boolean settleLedger() throws InterruptedException {
        Assembly parts = assembly;
        if (parts != null) {
            parts.pipeline.settleLedger();
        }
        return true;
    }

    private boolean awaitDurable(long target, long deadline) throws InterruptedException {
        while (failure.get() == null) {
            long left = deadline - System.nanoTime();
            Assembly parts = assembly;
            if (parts != null) {
                return parts.pipeline.awaitDurable(target, Duration.ofNanos(left));
            }
            if (left <= 0 || ended.await(Math.min(left, POLL_NANOS), TimeUnit.NANOSECONDS)) {
                return false;
            }
        }
        return false;
    }

    private boolean awaitLoads(long deadline) throws InterruptedException {
        Assembly parts = assembly;
        while (parts != null && parts.awaitsShapes()) {
            if (deadline - System.nanoTime() <= 0
                    || ended.await(POLL_NANOS, TimeUnit.NANOSECONDS)) {
                return false;
            }
        }
        return parts != null && parts.pipeline.awaitLoads(deadline);
    }

    /** Where the last whole record ends that the archive has by now; -1 after the deadline. */
    private long archivedPosition(long deadline) throws InterruptedException {
        while (failure.get() == null && firstAttach.awaitDone(deadline)) {
            Assembly parts = assembly;
            ArchivedWalSource wal = parts == null ? null : parts.archived;
            if (parts == null || wal == null) {
                ended.await(POLL_NANOS, TimeUnit.NANOSECONDS);
                continue;
            }
            long end = wal.awaitEnd(deadline);
            while (end >= 0 && parts.pump.received() < end) {
                if (deadline - System.nanoTime() <= 0
                        || ended.await(POLL_NANOS, TimeUnit.NANOSECONDS)) {
                    return -1;
                }
            }
            return end < 0 ? -1 : parts.pump.handedOn();
        }
        return -1;
    }

    private long sourcePosition(long deadline) throws SQLException {
        try (Connection session = source.openUntil(deadline)) {
            return SourceDatabase.currentPosition(session, prepared.segmentSize());
        }
    }

    /**
     * Does what somebody asks of single tables; returns when it is durable or has begun.
     *
     * @throws IllegalArgumentException if it cannot be done; nothing was changed
     */
    public ObjectNode tables(JsonMapper json, TableRequest request) throws InterruptedException {
        Assembly parts = assembly;
        if (parts == null || !firstAttach.isDone()) {
            throw new IllegalArgumentException(
                    "the initial load is not finished: " + firstAttach.describe());
        }
        prepared.pause().requireRunning();
        TableErrand errand =
                new TableErrand(
                        request,
                        parts,
                        state.tableDecisions(),
                        prepared.identity().systemIdentifier());
        parts.pump.ask(errand);
        while (true) {
            try {
                ObjectNode answer = json.createObjectNode().put("ok", true);
                var names = answer.putArray("tables");
                errand.result().get(POLL_NANOS, TimeUnit.NANOSECONDS).forEach(names::add);
                return answer;
            } catch (TimeoutException e) {
                if (ended.getCount() == 0) {
                    throw new IllegalStateException("the replication has ended", e);
                }
            } catch (ExecutionException e) {
                throw new IllegalArgumentException(
                        Objects.requireNonNull(e.getCause()).getMessage(), e);
            }
        }
    }

    /** What {@code walshadow prepared --json} prints. */
    public ObjectNode preparedTransactions(JsonMapper json) {
        Assembly parts = assembly;
        return new PreparedReport(source, prepared.databases())
                .of(
                        json,
                        parts == null ? List.of() : parts.buffer.prepared(),
                        parts == null ? 0 : parts.pump.handedOn());
    }

    /**
     * From now on the settings that can change while it runs are those.
     *
     * @throws dev.walshadow.base.WalshadowException if ClickHouse cannot be reached by them;
     *     nothing was changed
     */
    public void use(Configuration wanted) {
        TombstoneSchedule.check(wanted);
        if (archived != null) {
            ArchivedSource.check(wanted);
        }
        Assembly parts = assembly;
        LiveTarget target = new LiveTarget(wanted, prepared.client());
        target.check(
                prepared.identity().systemIdentifier(),
                parts == null ? 0 : parts.pipeline.writtenWatermark());
        target.use();
        configuration = wanted;
        watch.askEvery(wanted.get(Settings.SOURCE_POLL_INTERVAL));
        verification.use(pace(wanted));
        if (parts != null) {
            parts.tombstones.use(wanted);
            parts.pipeline.limitBatches(
                    new BatchLimits(
                            wanted.get(Settings.BATCH_ROWS),
                            wanted.get(Settings.BATCH_BYTES),
                            wanted.get(Settings.BATCH_AGE)));
        }
    }

    /** Leaves ClickHouse alone until {@link #resume}, over restarts too. */
    public ObjectNode pause(JsonMapper json, String reason) throws InterruptedException {
        ObjectNode answer = json.createObjectNode().put("ok", true);
        prepared.pause().pause(reason, answer);
        return answer;
    }

    public ObjectNode resume(JsonMapper json) {
        ObjectNode answer = json.createObjectNode().put("ok", true);
        prepared.pause().resume(answer);
        return answer;
    }

    /** How long commits took to arrive. */
    public CommitLatency latency() {
        return seen.latency;
    }

    /** What {@code walshadow status --json} prints, with or without its tables. */
    public ObjectNode status(JsonMapper json, boolean withTables) {
        Assembly parts = assembly;
        ObjectNode status = Status.of(json, prepared, firstAttach, parts, failure.get());
        if (parts != null && withTables) {
            Status.addTables(status, parts.pipeline);
        }
        if (declared != null) {
            declared.write(status);
        }
        if (parts != null) {
            Stages.write(status, configuration, parts, seen, watch);
            verification.write(status);
        }
        return status;
    }

    /** On the new primary, as is done where the stream goes on there without another start. */
    private void makeSlot() {
        try (ReplicationConnection primary = ReplicationConnection.connect(source.settings())) {
            if (primary.createPhysicalSlot(configuration.get(Settings.SOURCE_SLOT)).created()) {
                LOG.warn("the replication slot is missing on the new primary and is made again");
            }
        } catch (ReconnectException | RetryException e) {
            LOG.warn("the replication slot cannot be looked for: {}", e.getMessage());
        }
    }

    @Override
    public void close() {
        closing = true;
        watch.close();
        verification.close();
        Assembly parts = assembly;
        firstAttach.close();
        if (parts != null) {
            parts.source.close();
        }
        worker.interrupt();
        try {
            worker.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (parts != null) {
            parts.close();
            if (cutOff) {
                parts.takeBack();
                makeSlot();
            }
        }
        prepared.client().close();
        seen.close();
        if (archived != null) {
            archived.close();
        }
    }
}
