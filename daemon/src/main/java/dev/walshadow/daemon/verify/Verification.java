package dev.walshadow.daemon.verify;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.preflight.DatabaseSelection;
import dev.walshadow.daemon.replication.SourceDatabase;
import dev.walshadow.daemon.replication.Targets;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.pipeline.TableState;
import dev.walshadow.pipeline.TableStatus;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.value.DatumRenderer;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.DatabaseInfo;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Compares every replicated table of a configuration's source with ClickHouse. */
public final class Verification {
    /**
     * What was found.
     *
     * @param setAside tables that are held back or quarantined, each with its reason
     * @param notCompared columns that the configuration leaves out, or whose values only their
     *     library can print, which is not here
     * @param loadable names of those set aside that a load from the source may bring right
     * @param repaired tables that were loaded anew because they were not equal
     */
    public record Outcome(
            List<TableResult> results,
            List<String> setAside,
            List<String> notCompared,
            List<String> loadable,
            List<Repaired> repaired) {
        public Outcome {
            results = List.copyOf(results);
            setAside = List.copyOf(setAside);
            notCompared = List.copyOf(notCompared);
            loadable = List.copyOf(loadable);
            repaired = List.copyOf(repaired);
        }

        /** What a load from the source may bring right, by name. */
        List<String> repairable() {
            List<String> names = new ArrayList<>(loadable);
            results.stream()
                    .filter(result -> !result.equal())
                    .map(result -> result.table().toString())
                    .forEach(names::add);
            return names;
        }

        /** All compared rows are equal, there are some, and no table was left out. */
        public boolean ok() {
            return reason().isEmpty();
        }

        public long rows() {
            return results.stream().mapToLong(TableResult::sourceRows).sum();
        }

        /** Why it is not ok; empty if it is. */
        public String reason() {
            long unequal = results.stream().filter(result -> !result.equal()).count();
            if (unequal > 0) {
                return unequal + " of " + results.size() + " tables differ";
            }
            if (!setAside.isEmpty()) {
                return setAside.size() + " tables are not replicated";
            }
            if (results.isEmpty()) {
                return "no table was compared";
            }
            return rows() == 0 ? "no row was compared" : "";
        }

        public String toJson() {
            JsonMapper json = new JsonMapper();
            ObjectNode root = json.createObjectNode();
            root.put("ok", ok());
            root.put("tables", results.size());
            root.put("rows", rows());
            root.put("missing", results.stream().mapToLong(TableResult::missing).sum());
            root.put("extra", results.stream().mapToLong(TableResult::extra).sum());
            root.put("different", results.stream().mapToLong(TableResult::different).sum());
            ArrayNode aside = root.putArray("set_aside");
            setAside.forEach(aside::add);
            ArrayNode left = root.putArray("not_compared");
            notCompared.forEach(left::add);
            ArrayNode mended = root.putArray("repaired");
            repaired.forEach(each -> each.write(mended.addObject()));
            if (!ok()) {
                root.put("reason", reason());
            }
            return json.writeValueAsString(root);
        }
    }

    /**
     * A table that was loaded anew.
     *
     * @param missing rows that were missing in ClickHouse before; all 0 where it was set aside
     * @param equal whether it is equal now
     */
    public record Repaired(String table, long missing, long extra, long different, boolean equal) {
        void write(ObjectNode into) {
            into.put("table", table)
                    .put("missing", missing)
                    .put("extra", extra)
                    .put("different", different)
                    .put("equal", equal);
        }
    }

    private static final int SESSION_CHECK_SECONDS = 10;

    private final Configuration configuration;
    private final Duration timeout;

    private Verification(Configuration configuration, Duration timeout) {
        this.configuration = configuration;
        this.timeout = timeout;
    }

    /**
     * @param timeout for each wait until the watermark has passed a position
     */
    public static Verification of(Configuration configuration, Duration timeout) {
        return new Verification(configuration, timeout);
    }

    /**
     * Compares.
     *
     * @param only {@code schema.table}, with several databases {@code database.schema.table}; null:
     *     all
     */
    public Outcome run(@Nullable String only, VerifyProgress progress) throws InterruptedException {
        Outcome outcome = run(name -> only == null || only.equals(name), progress);
        if (only != null && outcome.results().isEmpty() && outcome.setAside().isEmpty()) {
            throw new ConfigurationException(
                    DaemonCodes.UNKNOWN_TABLE, "no replicated table has the name " + only);
        }
        return outcome;
    }

    /** Compares tables of these names. */
    Outcome run(Predicate<String> wanted, VerifyProgress progress) throws InterruptedException {
        SourceDatabase source = SourceDatabase.of(configuration);
        try {
            return run(source, wanted, progress);
        } catch (SQLException e) {
            throw new ConfigurationException(
                    DaemonCodes.SOURCE_UNREACHABLE,
                    "the source "
                            + source.settings()
                            + " stopped answering while tables were compared: "
                            + e.getMessage()
                            + "; run verify again",
                    e);
        }
    }

    private Outcome run(SourceDatabase source, Predicate<String> wanted, VerifyProgress progress)
            throws InterruptedException, SQLException {
        awaitCurrent(); // so that the ledger has what the catalogs have
        try (Connection session = source.openOrExplain();
                ClickHouseClient client = Targets.client(configuration)) {
            Map<Integer, DatabaseInfo> databases = new HashMap<>();
            new CatalogReader()
                    .databases(session)
                    .forEach(database -> databases.put(database.oid(), database));
            TargetTables tables =
                    Targets.tables(
                            configuration,
                            client,
                            systemIdentifier(session),
                            source.settings(),
                            oid -> encoding(databases.get(oid)),
                            DatumRenderer.NONE);
            Plan plan = plan(tables, databases, source, wanted);
            return new Outcome(
                    compareAll(plan, source, client, progress),
                    plan.setAside(),
                    plan.notCompared(),
                    plan.loadable(),
                    List.of());
        }
    }

    private static SourceEncoding encoding(@Nullable DatabaseInfo database) {
        return database == null ? SourceEncoding.UTF8 : SourceEncoding.named(database.encoding());
    }

    /**
     * What is to be compared.
     *
     * @param tables by the name of their database
     */
    private record Plan(
            Map<String, List<ComparedTable>> tables,
            List<String> setAside,
            List<String> notCompared,
            List<String> loadable) {
        int count() {
            return tables.values().stream().mapToInt(List::size).sum();
        }
    }

    private Plan plan(
            TargetTables tables,
            Map<Integer, DatabaseInfo> databases,
            SourceDatabase source,
            Predicate<String> wanted)
            throws SQLException {
        Map<Integer, List<TableStatus>> byDatabase = new TreeMap<>();
        for (TableStatus table : tables.ledger()) {
            if (table.state() != TableState.DROPPED) {
                byDatabase.computeIfAbsent(table.databaseOid(), _ -> new ArrayList<>()).add(table);
            }
        }
        DatabaseSelection selection =
                DatabaseSelection.of(configuration, source.settings().database());
        Plan plan =
                new Plan(
                        new LinkedHashMap<>(),
                        new ArrayList<>(),
                        new ArrayList<>(),
                        new ArrayList<>());
        for (Map.Entry<Integer, List<TableStatus>> each : byDatabase.entrySet()) {
            DatabaseInfo database = databases.get(each.getKey());
            if (database != null && !selection.matches(database.name())) {
                continue; // another configuration followed it
            }
            if (database == null || !database.allowsConnections()) {
                for (TableStatus table : each.getValue()) {
                    plan.setAside().add(table.name() + ": its database is gone on the source");
                }
                continue;
            }
            try (Connection session = source.open(database.name())) {
                String prefix = selection.several() ? database.name() + "." : "";
                plan(tables, each.getValue(), session, prefix, wanted, plan);
            }
        }
        return plan;
    }

    /** One database's part. */
    private static void plan(
            TargetTables tables,
            List<TableStatus> ledger,
            Connection session,
            String prefix,
            Predicate<String> wanted,
            Plan into)
            throws SQLException {
        Map<Integer, RelationDescriptor> byOid = new HashMap<>();
        new CatalogReader(!prefix.isEmpty())
                .readAll(session)
                .forEach(relation -> byOid.put(relation.oid(), relation));
        List<ComparedTable> compared = new ArrayList<>();
        for (TableStatus table : ledger) {
            String name = prefix + table.name();
            if (!wanted.test(name)) {
                continue;
            }
            TableMapping mapping = tables.ledgerMapping(table.databaseOid(), table.relationOid());
            RelationDescriptor relation = byOid.get(table.relationOid());
            if (table.state() == TableState.HELD || table.state() == TableState.QUARANTINED) {
                into.setAside().add(name + ": " + table.reason());
                if (table.state() == TableState.QUARANTINED) {
                    into.loadable().add(name);
                }
            } else if (mapping == null || relation == null) {
                into.setAside().add(name + ": it is gone on the source");
            } else {
                String gap = ComparedTables.uncovered(relation, mapping, tables);
                if (gap == null) {
                    compared.add(ComparedTables.compared(relation, mapping, session));
                    into.notCompared().addAll(ComparedTables.leftOut(relation, mapping));
                } else {
                    into.setAside().add(name + ": " + gap);
                    into.loadable().add(name);
                }
            }
        }
        if (!compared.isEmpty()) {
            into.tables().put(currentDatabase(session), compared);
        }
    }

    private List<TableResult> compareAll(
            Plan plan, SourceDatabase source, ClickHouseClient client, VerifyProgress progress)
            throws InterruptedException, SQLException {
        List<TableResult> results = new ArrayList<>();
        for (Map.Entry<String, List<ComparedTable>> database : plan.tables().entrySet()) {
            try (Connection session = source.open(database.getKey())) {
                TableComparison comparison =
                        new TableComparison(
                                new SourceRows(session),
                                new TargetRows(client),
                                new Current(session),
                                progress);
                for (ComparedTable table : database.getValue()) {
                    try {
                        long rows = estimatedRows(session, table);
                        progress.tableStarted(table, results.size() + 1, plan.count(), rows * 2);
                        TableResult result = comparison.compare(table, rows);
                        progress.tableFinished(result);
                        results.add(result);
                    } catch (SQLException e) {
                        if (!session.isValid(SESSION_CHECK_SECONDS)) {
                            throw e;
                        }
                        plan.setAside()
                                .add(
                                        table.source()
                                                + ": the source cannot read it: "
                                                + e.getMessage());
                    }
                }
            }
        }
        return results;
    }

    private static long estimatedRows(Connection session, ComparedTable table) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT count(*) FROM " + table.from())) {
            row.next();
            return row.getLong(1);
        }
    }

    private static String currentDatabase(Connection session) throws SQLException {
        return text(session, "SELECT current_database()");
    }

    private static long systemIdentifier(Connection session) throws SQLException {
        return Long.parseUnsignedLong(
                text(session, "SELECT system_identifier::text FROM pg_control_system()"));
    }

    private static String text(Connection session, String sql) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    /** Waits only where the source has written anything since the last time. */
    private final class Current implements TableComparison.Positions {
        private final Connection session;
        private @Nullable String reached;

        Current(Connection session) {
            this.session = session;
        }

        @Override
        public void awaitCurrent() throws InterruptedException, SQLException {
            String now = text(session, "SELECT pg_current_wal_insert_lsn()::text");
            if (!now.equals(reached)) {
                Verification.this.awaitCurrent();
                reached = now;
            }
        }

        @Override
        public long now() throws SQLException {
            return Lsn.parse(text(session, "SELECT pg_current_wal_insert_lsn()::text"));
        }
    }

    /** Asks the daemon, which learns the source's position itself. */
    private void awaitCurrent() throws InterruptedException {
        JsonNode answer =
                ControlClient.send(
                        StateDirectory.controlSocket(configuration.get(Settings.STATE_DIR)),
                        ControlClient.request("wait").put("timeout_millis", timeout.toMillis()));
        if (!answer.path("durable").asBoolean(false)) {
            throw new RetryException(
                    DaemonCodes.WAIT_TIMED_OUT,
                    "ClickHouse did not reach the source's position within "
                            + timeout.toSeconds()
                            + " s: "
                            + answer.path("message").asString("")
                            + "; see walshadow status, or give a longer --timeout");
        }
    }
}
