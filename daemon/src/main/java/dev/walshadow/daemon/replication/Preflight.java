package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.bootstrap.backup.ShadowMarkers;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.preflight.Advice;
import dev.walshadow.daemon.preflight.ClusterCheck;
import dev.walshadow.daemon.preflight.DatabaseSelection;
import dev.walshadow.daemon.preflight.FilterCheck;
import dev.walshadow.daemon.preflight.Findings;
import dev.walshadow.daemon.preflight.HostCheck;
import dev.walshadow.daemon.preflight.SlotUse;
import dev.walshadow.daemon.preflight.SourceCheck;
import dev.walshadow.daemon.preflight.TableSelection;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.daemon.state.SourceFacts;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.daemon.state.TableDecisions;
import dev.walshadow.embedded.EmbeddedPostgresBinaries;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.DatabaseInfo;
import dev.walshadow.shadow.ScratchCluster;
import dev.walshadow.shadow.ServerUser;
import dev.walshadow.shadow.ShadowBinaries;
import dev.walshadow.source.replication.ReplicationConnection;
import dev.walshadow.source.replication.SystemIdentity;
import dev.walshadow.source.spool.WalSpool;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at source, target and state before anything is changed, and reports every fault at once.
 */
final class Preflight {
    /** Sent batches are kept for reuse, a part of those under way. */
    private static final int SPARE_SHARE = 4;

    /** Beside what is configured: WAL segments, queues, classes. */
    private static final long OTHER_BYTES = 160L << 20;

    /**
     * The part of the heap where large values go has room for so many of the largest: one that is
     * looked up or printed, one that is assembled from it, its block, one that waits, one that is
     * under way.
     */
    private static final int VALUES_IN_HEAP = 5;

    /** Of a heap for large values, the part for short-lived objects. */
    private static final int YOUNG_MEGABYTES = 256;

    private static final Logger LOG = LoggerFactory.getLogger(Preflight.class);

    /** Names the socket only, beside those of the sender and the shadow. */
    private static final int SCRATCH_PORT = 5435;

    private static final String TARGET_CLOCK = "SELECT toUnixTimestamp64Milli(now64(3))";

    private final Configuration configuration;
    private final StateDirectory state;
    private final SourceDatabase source;
    private final DatabaseSelection selectedDatabases;
    private final ScratchCluster scratch;
    private final Findings findings = new Findings();
    private final @Nullable SourceFacts facts;

    /** False: it is damaged, so whether this is a first attach is not known. */
    private boolean manifestRead;

    private @Nullable Manifest manifest;
    private @Nullable SystemIdentity identity;
    private boolean sourceFits;
    private int segmentSize;
    private int major;
    private String serverVersion = "";
    private List<DatabaseInfo> databases = List.of();
    private @Nullable FollowedDatabases followed;
    private List<RelationDescriptor> relations = List.of();
    private List<String> superusers = List.of();
    private @Nullable ClickHouseClient target;
    private @Nullable TargetTables tables;
    private @Nullable Pause pause;

    Preflight(Configuration configuration, StateDirectory state, SourceDatabase source) {
        this(configuration, state, source, null);
    }

    /**
     * @param facts of a source that cannot be asked; null: it can
     */
    Preflight(
            Configuration configuration,
            StateDirectory state,
            SourceDatabase source,
            @Nullable SourceFacts facts) {
        this.facts = facts;
        this.configuration = configuration;
        this.state = state;
        this.source = source;
        this.scratch =
                new ScratchCluster(
                        new ScratchCluster.Options(
                                state.scratch(),
                                state.run(),
                                () -> Targets.binaries(configuration, major),
                                SCRATCH_PORT,
                                configuration.find(Settings.SHADOW_USER).orElse(null)));
        this.selectedDatabases = DatabaseSelection.of(configuration, source.settings().database());
    }

    /**
     * Looks at everything, and lets go of it again.
     *
     * @return every finding
     */
    Findings look() {
        examine();
        ClickHouseClient client = target;
        if (client != null) {
            client.close();
        }
        return findings;
    }

    /**
     * @throws ConfigurationException with every finding
     */
    Prepared check() {
        TableSelection selection = examine();
        ClickHouseClient client = target;
        if (!findings.isEmpty()) {
            if (client != null) {
                client.close();
            }
            scratch.close();
            findings.throwIfAny();
        }
        findings.advice().forEach(LOG::info);
        return new Prepared(
                source.name(),
                Objects.requireNonNull(identity),
                segmentSize,
                major,
                serverVersion,
                manifest,
                Objects.requireNonNull(followed),
                databases,
                relations,
                superusers,
                selection,
                Objects.requireNonNull(client),
                Objects.requireNonNull(tables),
                scratch,
                Objects.requireNonNull(pause));
    }

    private TableSelection examine() {
        note(() -> {
            manifest = Manifest.read(state.manifest()).orElse(null);
            manifestRead = true;
        });
        checkMemory();
        if (manifestRead) {
            note(this::checkShadow);
            note(this::checkBackup);
        }
        note(this::checkReplication);
        note(this::checkServerUser);
        TableSelection selection =
                new TableSelection(
                        configuration.get(Settings.TABLES_INCLUDE),
                        configuration.get(Settings.TABLES_EXCLUDE),
                        configuration.get(Settings.TABLES_PARTITIONS).equals("leaf"));
        SystemIdentity known = identity;
        if (known != null && manifest != null) {
            note(() ->
                    selection.decide(
                            TableDecisions.read(state.tableDecisions(), known.systemIdentifier())));
        }
        if (known != null) {
            note(() -> pause = Pause.read(state.pause(), known.systemIdentifier()));
        }
        if (sourceFits) {
            note(() -> checkCatalog(selection));
        }
        note(() -> target = Targets.client(configuration));
        ClickHouseClient client = target;
        if (client != null) {
            note(() -> tables = checkTarget(client, selection));
        }
        Advice.unlogged(selection.of(relations), findings);
        Advice.disk(state.root(), findings);
        HostCheck.directories(state.root(), state.directories(), findings);
        HostCheck.memory(findings);
        return selection;
    }

    private interface Check {
        void run() throws SQLException;
    }

    private void note(Check check) {
        try {
            check.run();
        } catch (WalshadowException e) {
            findings.add(e);
        } catch (SQLException e) {
            findings.add(
                    DaemonCodes.SOURCE_UNREACHABLE,
                    "the source " + source.settings() + " answered: " + e.getMessage());
        }
    }

    /** A value is held a few times at once, beside everything else that is held. */
    private void checkMemory() {
        long heap = Runtime.getRuntime().maxMemory();
        long transactions = configuration.get(Settings.MEMORY_TRANSACTIONS);
        long batches = configuration.get(Settings.MEMORY_BATCHES);
        long recent = configuration.get(Settings.MEMORY_RECENT_VALUES);
        long needed = transactions + batches + batches / SPARE_SHARE + recent + OTHER_BYTES;
        if (needed > heap) {
            findings.add(
                    DaemonCodes.BAD_CONFIGURATION,
                    "[memory] transactions, batches and recent_values, "
                            + ((transactions + batches + recent) >> 20)
                            + " MB, need a heap of "
                            + (needed >> 20)
                            + " MB, found "
                            + (heap >> 20)
                            + " MB: start with WALSHADOW_JAVA_OPTIONS=-Xmx"
                            + (needed >> 20) * 8 / 7
                            + "m, or lower them");
        }
        checkLargestValue();
    }

    private void checkLargestValue() {
        long most = roomForLargeObjects() / VALUES_IN_HEAP;
        long value = configuration.get(Settings.MEMORY_VALUE);
        if (value > most) {
            findings.add(
                    DaemonCodes.BAD_CONFIGURATION,
                    "[memory] value is "
                            + (value >> 20)
                            + " MB, which the heap has no room for: start with"
                            + " WALSHADOW_JAVA_OPTIONS='-Xmx"
                            + (((value * VALUES_IN_HEAP) >> 20) + 2 * YOUNG_MEGABYTES)
                            + "m -XX:MaxNewSize="
                            + YOUNG_MEGABYTES
                            + "m', or set it to "
                            + (most >> 20)
                            + "MB");
        }
    }

    /** The heap without the part for short-lived objects, which a large one does not fit into. */
    private static long roomForLargeObjects() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP)
                .mapToLong(pool -> pool.getUsage().getMax())
                .max()
                .orElse(Runtime.getRuntime().maxMemory());
    }

    /** Without a manifest, a complete or foreign shadow is in the way (I12). */
    private void checkShadow() {
        ShadowMarkers.State found = ShadowMarkers.inspect(state.shadow());
        boolean fits =
                manifest != null
                        ? found != ShadowMarkers.State.EMPTY && found != ShadowMarkers.State.FOREIGN
                        : found == ShadowMarkers.State.EMPTY
                                || found == ShadowMarkers.State.INCOMPLETE;
        if (!fits) {
            findings.add(
                    DaemonCodes.STATE_TORN,
                    "the state directory is not whole: "
                            + (manifest == null ? "there is no " : "there is ")
                            + state.manifest().getFileName()
                            + ", but the shadow in "
                            + state.shadow()
                            + " is "
                            + found.name().toLowerCase(Locale.ROOT)
                            + "; restore the directory from a copy, or attach anew with an empty"
                            + " [state] dir");
        }
    }

    /** Where the state directory is not there yet, what it would lie in decides. */
    private void checkServerUser() {
        Path nearest = state.root();
        while (!Files.isDirectory(nearest) && nearest.getParent() != null) {
            nearest = nearest.getParent();
        }
        ServerUser.of(configuration.find(Settings.SHADOW_USER).orElse(null))
                .requireEnterable(nearest);
    }

    /** What a resume may need of the store, it needs when the source has recycled WAL only. */
    private void checkBackup() {
        if (manifest == null) {
            StoredBackup.look(configuration);
        }
    }

    private SlotUse slotUse() {
        if (manifest == null) {
            return SlotUse.MADE;
        }
        return configuration.find(Settings.BACKUP_URL).isPresent()
                ? SlotUse.REPLACEABLE
                : SlotUse.RESUMED;
    }

    private void checkBinaries() {
        ShadowBinaries.find(
                configuration.find(Settings.SHADOW_BINARIES).orElse(null),
                major,
                () -> EmbeddedPostgresBinaries.unpack(major));
    }

    private void checkReplication() {
        SourceFacts known = facts;
        if (known == null) {
            askReplication();
        } else {
            identity = new SystemIdentity(known.systemIdentifier(), known.timeline(), 0);
            segmentSize = known.segmentSize();
        }
        checkSpool();
        if (manifest != null) {
            manifest.requireSource(
                    Objects.requireNonNull(identity).systemIdentifier(), state.manifest());
        }
        sourceFits = true;
    }

    private void askReplication() {
        try (ReplicationConnection connection = ReplicationConnection.connect(source.settings())) {
            if (connection.isStandby()) {
                findings.add(
                        DaemonCodes.SOURCE_SETTING,
                        "the source "
                                + source.settings()
                                + " is a standby; give [source] url the"
                                + " primary");
            }
            identity = connection.identifySystem();
            segmentSize = connection.walSegmentSize();
        }
    }

    private void checkSpool() {
        long limit = configuration.get(Settings.WAL_SPOOL_MAX);
        long least = WalSpool.Options.bytesLeast(segmentSize);
        if (limit > 0 && limit < least) {
            findings.add(
                    DaemonCodes.BAD_CONFIGURATION,
                    "[wal] spool_max is "
                            + limit
                            + " bytes, but the source's segments have "
                            + (segmentSize >> 20)
                            + " MB: give it "
                            + (least >> 20)
                            + "MB or more, or 0 to do without");
        }
    }

    private void takeFacts(SourceFacts known) {
        major = known.major();
        serverVersion = known.serverVersion();
        databases = known.databases().stream().map(ArchiveSeed::info).toList();
        superusers = known.superusers();
    }

    private void askServer(CatalogReader reader) throws SQLException {
        try (Connection session = source.openOrExplain()) {
            major = session.getMetaData().getDatabaseMajorVersion();
            serverVersion = session.getMetaData().getDatabaseProductVersion();
            String slot = configuration.get(Settings.SOURCE_SLOT);
            SourceCheck.check(session, slot, slotUse(), findings);
            Advice.slotLimit(session, findings);
            long asked = System.currentTimeMillis();
            long clock = SourceCheck.clockMillis(session);
            HostCheck.clock("the source", asked, clock, System.currentTimeMillis(), findings);
            databases = reader.databases(session);
            superusers = reader.superusers(session);
        }
    }

    private void checkCatalog(TableSelection selection) throws SQLException {
        CatalogReader reader = new CatalogReader(selectedDatabases.several());
        SourceFacts of = facts;
        if (of == null) {
            askServer(reader);
        } else {
            takeFacts(of);
        }
        note(this::checkBinaries);
        checkDatabases();
        FollowedDatabases known = new FollowedDatabases(selectedDatabases, source, databases);
        followed = known;
        for (DatabaseInfo database : databases) {
            if (database.allowsConnections() && selectedDatabases.names(database.name())) {
                note(() -> SourceEncoding.named(database.encoding()));
            }
        }
        if (of != null && manifest != null) {
            return; // nobody can be asked for tables any more
        }
        List<RelationDescriptor> all = new ArrayList<>();
        for (DatabaseDescriptor database : known.followed()) {
            try (Connection session = source.open(database.name())) {
                List<RelationDescriptor> here = reader.readAll(session);
                all.addAll(here);
                Advice.rowSecurity(session, selection.of(here), findings);
                FilterCheck.check(session, configuration.nameRules(), findings);
            }
        }
        relations = all;
        for (String wrong :
                selection.withoutTable(configuration.get(Settings.TABLES_APPEND), relations)) {
            findings.add(DaemonCodes.UNKNOWN_TABLE, "[tables] append names " + wrong);
        }
        for (String unknown : selection.unknown(relations)) {
            findings.add(
                    DaemonCodes.UNKNOWN_TABLE,
                    "[tables] include names "
                            + unknown
                            + ", but the source has no such table in "
                            + (known.several()
                                    ? "the followed databases"
                                    : "the database " + source.settings().database())
                            + "; create it, or take it out");
        }
    }

    private TargetTables checkTarget(ClickHouseClient client, TableSelection selection) {
        Targets.ping(configuration);
        client.shards().forEach(this::checkShard);
        configuration
                .find(Settings.CLICKHOUSE_DISTRIBUTED_CLUSTER)
                .ifPresent(name -> ClusterCheck.distributed(client, name, findings));
        long identifier = identity == null ? 0 : identity.systemIdentifier();
        FollowedDatabases known = followed;
        TargetTables tables =
                Targets.tables(
                        configuration,
                        client,
                        identifier,
                        source.settings(),
                        oid -> known == null ? SourceEncoding.UTF8 : printing(known.encoding(oid)),
                        scratch.renderer(SourceEncoding.UTF8.name()));
        if (identity != null && sourceFits && (facts == null || manifest == null)) {
            RuleCheck.check(
                    configuration.nameRules(), tables.rules(), relations, selection, findings);
        }
        if (identity != null && manifestRead && manifest == null) {
            if (ShadowMarkers.inspect(state.shadow()) == ShadowMarkers.State.INCOMPLETE) {
                tables.leftUnfinished();
            }
            tables.problems(selection.of(relations)).forEach(findings::addLine);
        }
        return tables;
    }

    private void checkShard(ClickHouseClient shard) {
        Advice.targetVersion(String.valueOf(shard.queryValue("SELECT version()")), findings);
        ClusterCheck.check(shard, findings);
        long asked = System.currentTimeMillis();
        long clock = Long.parseLong(String.valueOf(shard.queryValue(TARGET_CLOCK)));
        HostCheck.clock("ClickHouse", asked, clock, System.currentTimeMillis(), findings);
    }

    private SourceEncoding printing(SourceEncoding encoding) {
        return encoding.withRenderer(scratch.renderer(encoding.name()));
    }

    /** A database can have gone while it was followed: that is for the stream to tell. */
    private void checkDatabases() {
        for (String problem : selectedDatabases.problems(databases)) {
            if (manifest == null || !selectedDatabases.several()) {
                findings.add(DaemonCodes.UNKNOWN_DATABASE, "[source] databases: " + problem);
            } else {
                LOG.warn("{} [source] databases: {}", DaemonCodes.UNKNOWN_DATABASE, problem);
            }
        }
    }
}
