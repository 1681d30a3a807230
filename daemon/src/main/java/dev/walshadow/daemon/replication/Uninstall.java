package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.state.LoadStart;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.pipeline.TargetRemoval;
import dev.walshadow.shadow.ShadowCluster;
import dev.walshadow.source.replication.ReplicationConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Takes away what walshadow made: in ClickHouse, then the slot on the source, the state directory
 * last. So what is interrupted can be run again. No daemon may run meanwhile.
 */
public final class Uninstall implements AutoCloseable {
    private final Configuration configuration;
    private final SourceDatabase source;
    private final String slot;
    private final ClickHouseClient client;

    /** Null: there is none any more. */
    private final @Nullable StateDirectory state;

    private @Nullable TargetRemoval target;
    private boolean slotThere;

    private Uninstall(Configuration configuration) {
        this.configuration = configuration;
        this.source = SourceDatabase.orNobody(configuration);
        this.slot = configuration.get(Settings.SOURCE_SLOT);
        this.client = Targets.client(configuration);
        Path root = configuration.get(Settings.STATE_DIR);
        this.state = StateDirectory.isOne(root) ? StateDirectory.open(root) : null;
    }

    /**
     * Looks at what there is; changes nothing.
     *
     * @param withSource false: the source is not asked, its slot stays
     * @throws ConfigurationException if something belongs to another source, or a daemon runs
     */
    public static Uninstall plan(Configuration configuration, boolean withSource) {
        Uninstall plan = new Uninstall(configuration);
        try {
            plan.look(withSource);
            return plan;
        } catch (RuntimeException e) {
            plan.close();
            throw e;
        }
    }

    private void look(boolean withSource) {
        StateDirectory directory = state;
        Optional<Manifest> manifest = Optional.empty();
        Optional<Long> known = Optional.empty();
        if (directory != null) {
            manifest = Manifest.read(directory.manifest());
            known = manifest.map(Manifest::systemIdentifier);
            if (known.isEmpty()) {
                known = LoadStart.read(directory.loadStart()).map(LoadStart::systemIdentifier);
            }
        }
        long identifier;
        if (withSource && !source.isArchive()) {
            try (ReplicationConnection connection =
                    ReplicationConnection.connect(source.settings())) {
                identifier = connection.identifySystem().systemIdentifier();
                slotThere = connection.readSlot(slot) != null;
            }
            if (directory != null && manifest.isPresent()) {
                manifest.get().requireSource(identifier, directory.manifest());
            }
        } else {
            identifier =
                    known.orElseThrow(() ->
                            new ConfigurationException(
                                    DaemonCodes.UNINSTALL,
                                    "the state directory does not say which source it is of, so"
                                            + " what is in ClickHouse cannot be told apart; leave"
                                            + " --without-source out"));
        }
        target =
                TargetRemoval.look(
                        client,
                        configuration.get(Settings.CLICKHOUSE_METADATA_DATABASE),
                        identifier,
                        source.settings().toString());
    }

    /** What {@link #run} would do, a line each; none if nothing is left. */
    public List<String> steps(boolean dropTables) {
        List<String> steps = new ArrayList<>();
        TargetRemoval found = target();
        found.views().forEach(view -> steps.add("drop the view " + view + " in ClickHouse"));
        found.distributed()
                .forEach(table ->
                        steps.add("drop the Distributed table " + table + " in ClickHouse"));
        if (dropTables) {
            found.tables()
                    .forEach(table -> steps.add("drop the table " + table + " in ClickHouse"));
        }
        if (found.hasMetadata()) {
            steps.add(
                    "drop the database "
                            + configuration.get(Settings.CLICKHOUSE_METADATA_DATABASE)
                            + " in ClickHouse");
        }
        if (slotThere) {
            steps.add("drop the replication slot " + slot + " of " + source.settings());
        }
        StateDirectory directory = state;
        if (directory != null) {
            steps.add("remove the state directory " + directory.root());
        }
        return steps;
    }

    /** Replicated tables that are in ClickHouse. */
    public List<String> tables() {
        return target().tables();
    }

    /** Does it. */
    public void run(boolean dropTables) throws InterruptedException {
        TargetRemoval found = target();
        found.dropViews();
        if (dropTables) {
            found.dropTables();
        }
        if (found.hasMetadata()) {
            found.dropMetadata();
        }
        StateDirectory directory = state;
        if (directory != null) {
            ShadowCluster.stopOrphan(directory.shadow());
            ShadowCluster.stopOrphan(directory.scratch());
        }
        if (slotThere) {
            try (ReplicationConnection connection =
                    ReplicationConnection.connect(source.settings())) {
                connection.dropSlot(slot);
            }
        }
        if (directory != null) {
            try {
                directory.delete();
            } catch (IOException e) {
                throw new ConfigurationException(
                        DaemonCodes.STATE_UNUSABLE,
                        "the state directory "
                                + directory.root()
                                + " cannot be removed: "
                                + e
                                + "; everything else is done",
                        e);
            }
        }
    }

    private TargetRemoval target() {
        TargetRemoval found = target;
        if (found == null) {
            throw new IllegalStateException("nobody has looked yet");
        }
        return found;
    }

    @Override
    public void close() {
        client.close();
        StateDirectory directory = state;
        if (directory != null) {
            try {
                directory.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
