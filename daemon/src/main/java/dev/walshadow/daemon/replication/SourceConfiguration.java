package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.config.SourceLayer;
import dev.walshadow.daemon.preflight.TableSelection;
import dev.walshadow.daemon.state.SourceSettings;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.daemon.state.TableDecisions;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.transaction.CommitSink;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The configuration in the source, where it is enabled: what {@link ConfigurationTables} read is
 * brought to the settings and to the choice of tables. Lives as long as the replication.
 */
final class SourceConfiguration {
    private static final Logger LOG = LoggerFactory.getLogger(SourceConfiguration.class);

    private final ConfigurationTables.Place place;
    private final int database;
    private final Consumer<SourceLayer> settings;
    private volatile SourceSettings now;
    private volatile SourceLayer layer;

    private SourceConfiguration(
            ConfigurationTables.Place place,
            int database,
            SourceSettings now,
            Consumer<SourceLayer> settings) {
        this.place = place;
        this.database = database;
        this.now = now;
        this.settings = settings;
        this.layer = SourceLayer.NONE;
    }

    /**
     * As an earlier run left it, else as the tables are now. Empty if it is not enabled.
     *
     * @param settings told what the source says of settings, at once too
     * @throws ConfigurationException if the tables cannot be read
     */
    static Optional<SourceConfiguration> open(
            Configuration configuration,
            StateDirectory state,
            Prepared prepared,
            SourceDatabase source,
            Consumer<SourceLayer> settings) {
        String schema = configuration.find(Settings.SOURCE_CONFIG_SCHEMA).orElse("");
        if (schema.isEmpty()) {
            return Optional.empty();
        }
        Path file = state.sourceSettings();
        long owner = prepared.identity().systemIdentifier();
        Optional<SourceSettings> known =
                SourceSettings.read(file, owner).filter(each -> each.schema().equals(schema));
        try (Connection session = source.openOrExplain()) {
            SourceSettings now =
                    known.isPresent() ? known.get() : read(session, schema, prepared.segmentSize());
            if (known.isEmpty()) {
                now.write(file, owner);
            }
            SourceConfiguration opened =
                    new SourceConfiguration(
                            new ConfigurationTables.Place(file, owner),
                            databaseOid(session),
                            now,
                            settings);
            opened.settingsChanged(now);
            opened.decide(prepared.selection(), prepared, state.tableDecisions());
            return Optional.of(opened);
        } catch (SQLException | IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.SOURCE_CONFIGURATION,
                    "the tables of [source] config_schema = \""
                            + schema
                            + "\" cannot be taken up: "
                            + e.getMessage()
                            + "; see docs/configuration.md, or leave the setting out",
                    e);
        }
    }

    /** The position first: what commits behind it comes in the stream, and may be read already. */
    private static SourceSettings read(Connection session, String schema, int segmentSize)
            throws SQLException {
        long position = SourceDatabase.currentPosition(session, segmentSize);
        Map<String, String> settings = new TreeMap<>();
        Map<String, Boolean> tables = new TreeMap<>();
        for (String[] row : rows(session, schema, ConfigurationTables.SETTINGS, "key, value")) {
            settings.put(row[0], row[1]);
        }
        for (String[] row : rows(session, schema, ConfigurationTables.TABLES, "name, replicate")) {
            tables.put(row[0], row[1].startsWith("t"));
        }
        return new SourceSettings(schema, position, settings, tables);
    }

    private static List<String[]> rows(
            Connection session, String schema, String table, String columns) throws SQLException {
        List<String[]> rows = new ArrayList<>();
        String name = "\"" + schema.replace("\"", "\"\"") + "\"." + table;
        try (Statement statement = session.createStatement()) {
            try (ResultSet there =
                    statement.executeQuery(
                            "SELECT to_regclass('" + name.replace("'", "''") + "') IS NOT NULL")) {
                there.next();
                if (!there.getBoolean(1)) {
                    return rows;
                }
            }
            try (ResultSet row = statement.executeQuery("SELECT " + columns + " FROM " + name)) {
                while (row.next()) {
                    if (row.getString(1) != null && row.getString(2) != null) {
                        rows.add(new String[] {row.getString(1), row.getString(2)});
                    }
                }
            }
        }
        return rows;
    }

    private static int databaseOid(Connection session) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT oid::int8 FROM pg_database WHERE datname ="
                                        + " current_database()")) {
            row.next();
            return (int) row.getLong(1);
        }
    }

    /** Whether its rows are read out of the WAL, followed or not. */
    boolean reads(RelationDescriptor relation) {
        return ConfigurationTables.isOne(relation, now.schema());
    }

    /** Stands before {@code next} in one run of the stream. */
    CommitSink before(CommitSink next, DescriptorLog log, TablesChanged tablesChanged) {
        return new ConfigurationTables(
                next,
                log,
                database,
                place,
                now,
                this::settingsChanged,
                (names, position, after) -> {
                    now = after;
                    tablesChanged.changed(request(names, after), position);
                });
    }

    /** Does what tables are declared to be. */
    interface TablesChanged {
        void changed(TableRequest.Declared request, long position) throws InterruptedException;
    }

    /** What the tables say comes before what was decided by command before this start. */
    private void decide(TableSelection selection, Prepared prepared, Path file) throws IOException {
        TableDecisions decided = selection.decisions();
        for (Map.Entry<String, Boolean> each : now.tables().entrySet()) {
            RelationName name =
                    prepared.relations().stream()
                            .map(RelationDescriptor::name)
                            .filter(known -> known.toString().equals(each.getKey()))
                            .findFirst()
                            .orElseGet(
                                    () -> TableErrand.named(each.getKey(), prepared.databases()));
            if (name != null) {
                decided = TableErrand.decided(decided, selection, name, each.getValue());
            }
        }
        if (!decided.equals(selection.decisions())) {
            decided.write(file, place.systemIdentifier());
            selection.decide(decided);
        }
    }

    private static TableRequest.Declared request(Set<String> names, SourceSettings from) {
        Map<String, Boolean> wishes = new TreeMap<>(from.tables());
        wishes.keySet().retainAll(names);
        return new TableRequest.Declared(List.copyOf(names), wishes);
    }

    private void settingsChanged(SourceSettings after) {
        now = after;
        SourceLayer before = layer;
        SourceLayer next = SourceLayer.of(after.schema(), after.settings(), before);
        layer = next;
        next.faults()
                .forEach((key, fault) -> {
                    if (!fault.equals(before.faults().get(key))) {
                        LOG.warn(
                                "{} {}.{}, row {} at {} has no effect, what was set before stays:"
                                        + " {}",
                                DaemonCodes.SOURCE_CONFIGURATION,
                                after.schema(),
                                ConfigurationTables.SETTINGS,
                                key,
                                Lsn.format(after.position()),
                                fault);
                    }
                });
        settings.accept(next);
    }

    /** Adds {@code source_configuration}. */
    void write(ObjectNode status) {
        SourceSettings current = now;
        ObjectNode into =
                status.putObject("source_configuration")
                        .put("schema", current.schema())
                        .put("position", Lsn.format(current.position()));
        ObjectNode values = into.putObject("settings");
        new TreeMap<>(current.settings()).forEach(values::put);
        ObjectNode tables = into.putObject("tables");
        new TreeMap<>(current.tables()).forEach(tables::put);
        ArrayNode refused = into.putArray("refused");
        layer.faults()
                .forEach((key, fault) -> refused.addObject().put("key", key).put("reason", fault));
    }
}
