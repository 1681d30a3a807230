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
import dev.walshadow.daemon.preflight.DatabaseSelection;
import dev.walshadow.daemon.preflight.Findings;
import dev.walshadow.daemon.preflight.SourceCheck;
import dev.walshadow.daemon.preflight.TableSelection;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.DatabaseInfo;
import dev.walshadow.source.replication.ReplicationConnection;
import dev.walshadow.source.replication.SystemIdentity;
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
    private static final Logger LOG = LoggerFactory.getLogger(Preflight.class);

    private final Configuration configuration;
    private final StateDirectory state;
    private final SourceDatabase source;
    private final DatabaseSelection selectedDatabases;
    private final Findings findings = new Findings();

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

    Preflight(Configuration configuration, StateDirectory state, SourceDatabase source) {
        this.configuration = configuration;
        this.state = state;
        this.source = source;
        this.selectedDatabases = DatabaseSelection.of(configuration, source.settings().database());
    }

    /**
     * @throws ConfigurationException with every finding
     */
    Prepared check() {
        note(() -> manifest = Manifest.read(state.manifest()).orElse(null));
        note(this::checkShadow);
        note(this::checkReplication);
        TableSelection selection =
                new TableSelection(
                        configuration.get(Settings.TABLES_INCLUDE),
                        configuration.get(Settings.TABLES_EXCLUDE),
                        configuration.get(Settings.TABLES_PARTITIONS).equals("leaf"));
        if (sourceFits) {
            note(() -> checkCatalog(selection));
        }
        note(() -> target = Targets.client(configuration));
        ClickHouseClient client = target;
        if (client != null) {
            note(() -> tables = checkTarget(client, selection));
        }
        if (!findings.isEmpty()) {
            if (client != null) {
                client.close();
            }
            findings.throwIfAny();
        }
        return new Prepared(
                source.settings().toString(),
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
                Objects.requireNonNull(tables));
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

    private void checkReplication() {
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
        if (manifest != null) {
            manifest.requireSource(identity.systemIdentifier(), state.manifest());
        }
        sourceFits = true;
    }

    private void checkCatalog(TableSelection selection) throws SQLException {
        CatalogReader reader = new CatalogReader(selectedDatabases.several());
        try (Connection session = source.openOrExplain()) {
            major = session.getMetaData().getDatabaseMajorVersion();
            serverVersion = session.getMetaData().getDatabaseProductVersion();
            String slot = configuration.get(Settings.SOURCE_SLOT);
            SourceCheck.check(session, slot, manifest != null, findings);
            databases = reader.databases(session);
            superusers = reader.superusers(session);
        }
        checkDatabases();
        FollowedDatabases known = new FollowedDatabases(selectedDatabases, source, databases);
        followed = known;
        for (DatabaseInfo database : databases) {
            if (database.allowsConnections() && selectedDatabases.names(database.name())) {
                note(() -> SourceEncoding.named(database.encoding()));
            }
        }
        List<RelationDescriptor> all = new ArrayList<>();
        for (DatabaseDescriptor database : known.followed()) {
            try (Connection session = source.open(database.name())) {
                all.addAll(reader.readAll(session));
            }
        }
        relations = all;
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
        client.ping();
        long identifier = identity == null ? 0 : identity.systemIdentifier();
        FollowedDatabases known = followed;
        TargetTables tables =
                Targets.tables(
                        configuration,
                        client,
                        identifier,
                        source.settings(),
                        oid -> known == null ? SourceEncoding.UTF8 : known.encoding(oid));
        if (identity != null && sourceFits) {
            RuleCheck.check(
                    configuration.nameRules(), tables.rules(), relations, selection, findings);
        }
        if (identity != null && manifest == null) {
            tables.problems(selection.of(relations)).forEach(findings::addLine);
        }
        return tables;
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
