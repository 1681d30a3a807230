package dev.walshadow.daemon.inspect;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.DescriptorHistory;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.replication.SourceDatabase;
import dev.walshadow.daemon.replication.Targets;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.pipeline.TableStatus;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import dev.walshadow.postgres.value.DatumRenderer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * How the source's tables and ClickHouse's belong together: shapes from the descriptor log, mapping
 * from the ledger, ClickHouse's own catalog beside it. The source itself is not asked; a running
 * daemon is, for what it knows better than the ledger.
 *
 * @param running whether a daemon answered
 */
public record SchemaReport(boolean running, List<TableReport> tables) {
    private static final String UNREAD = "its columns have changed and were not read since";

    public SchemaReport {
        tables = List.copyOf(tables);
    }

    /**
     * Reads everything.
     *
     * @throws ConfigurationException if the state directory holds nothing yet
     * @throws RetryException if ClickHouse does not answer
     */
    public static SchemaReport read(Configuration configuration) {
        Path state = configuration.get(Settings.STATE_DIR);
        Path log = state.resolve("desclog");
        if (!Files.exists(log)) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE,
                    "the state directory "
                            + state
                            + " knows no table yet: there is no "
                            + log
                            + "; start walshadow run, or name its [state] dir");
        }
        DescriptorHistory history = DescriptorHistory.read(log);
        try (ClickHouseClient client = Targets.client(configuration)) {
            TargetTables ledger =
                    Targets.tables(
                            configuration,
                            client,
                            history.systemIdentifier(),
                            SourceDatabase.orNobody(configuration).settings(),
                            _ -> SourceEncoding.UTF8,
                            DatumRenderer.NONE);
            return new Reading(client, ledger, history.newest(), status(state)).report();
        }
    }

    /** By {@link #place}; null if no daemon answers. */
    private static @Nullable Map<String, JsonNode> status(Path state) {
        try {
            JsonNode answer =
                    ControlClient.send(
                            StateDirectory.controlSocket(state), ControlClient.request("status"));
            Map<String, JsonNode> tables = new HashMap<>();
            for (JsonNode table : answer.path("tables")) {
                tables.put(
                        place(table.path("name").asString(""), table.path("target").asString("")),
                        table);
            }
            return tables;
        } catch (RetryException e) {
            return null;
        }
    }

    /** Two databases can have a table of the same name, but not the same target. */
    private static String place(String name, String target) {
        return name + " in " + target;
    }

    private record Reading(
            ClickHouseClient client,
            TargetTables ledger,
            List<DescriptorHistory.Change> newest,
            @Nullable Map<String, JsonNode> status) {
        SchemaReport report() {
            Map<Long, DescriptorHistory.Change> shapes = new LinkedHashMap<>();
            for (DescriptorHistory.Change change : newest) {
                RelationDescriptor relation = change.relation();
                shapes.put(key(relation.databaseOid(), relation.oid()), change);
            }
            List<TableReport> tables = new ArrayList<>();
            for (TableStatus table : ledger.ledger()) {
                tables.add(
                        table(
                                table,
                                ledger.ledgerMapping(table.databaseOid(), table.relationOid()),
                                shape(
                                        shapes.remove(
                                                key(table.databaseOid(), table.relationOid())))));
            }
            for (DescriptorHistory.Change change : shapes.values()) {
                RelationDescriptor relation = change.relation();
                if (isUserTable(relation)) {
                    tables.add(
                            new TableReport(
                                    relation.label(),
                                    database(relation.databaseOid()),
                                    relation.oid(),
                                    "not selected",
                                    change.unread() ? UNREAD : "",
                                    "",
                                    "",
                                    columns(shape(change), null, null)));
                }
            }
            tables.sort(Comparator.comparing(TableReport::source));
            return new SchemaReport(status != null, tables);
        }

        /** Null also where nobody knows it. */
        private static @Nullable RelationDescriptor shape(
                DescriptorHistory.@Nullable Change change) {
            return change == null || change.unread() ? null : change.after();
        }

        private String database(int oid) {
            for (DescriptorHistory.Change change : newest) {
                RelationDescriptor relation = change.relation();
                if (relation.kind() == DatabaseDescriptor.KIND && relation.oid() == oid) {
                    return relation.name().name();
                }
            }
            return Integer.toUnsignedString(oid);
        }

        private static long key(int databaseOid, int relationOid) {
            return (long) databaseOid << 32 | Integer.toUnsignedLong(relationOid);
        }

        private static boolean isUserTable(RelationDescriptor relation) {
            String schema = relation.name().schema();
            return (relation.kind() == 'r' || relation.kind() == 'p' || relation.kind() == 'm')
                    && relation.persistence() != 't'
                    && !schema.startsWith("pg_")
                    && !schema.equals("information_schema");
        }

        private TableReport table(
                TableStatus row,
                @Nullable TableMapping mapping,
                @Nullable RelationDescriptor shape) {
            String name = row.name().toString();
            String target = row.targetDatabase() + "." + row.targetTable();
            JsonNode live = status == null ? null : status.get(place(name, target));
            String state = row.state().name().toLowerCase(Locale.ROOT);
            String reason = row.reason();
            if (live != null) {
                state = live.path("state").asString(state);
                reason = live.path("reason").asString(reason);
            }
            TableShape there =
                    mapping == null
                            ? null
                            : TableShape.read(client, mapping.database(), mapping.table());
            return new TableReport(
                    name,
                    database(row.databaseOid()),
                    row.relationOid(),
                    state,
                    reason,
                    mapping == null ? "" : mapping.target(),
                    there == null ? "" : there.engineFull(),
                    columns(shape, mapping, there));
        }

        private static List<TableReport.Column> columns(
                @Nullable RelationDescriptor shape,
                @Nullable TableMapping mapping,
                @Nullable TableShape there) {
            Map<String, String> targetTypes = new LinkedHashMap<>();
            if (there != null) {
                there.columns().forEach(column -> targetTypes.put(column.name(), column.type()));
            }
            Map<Integer, ColumnMapping> mapped = new LinkedHashMap<>();
            if (mapping != null) {
                mapping.columns().forEach(column -> mapped.put(column.attributeNumber(), column));
            }
            List<TableReport.Column> columns = new ArrayList<>();
            Set<String> named = new HashSet<>();
            if (shape != null) {
                for (AttributeDescriptor attribute : shape.attributes()) {
                    if (!attribute.dropped()) {
                        ColumnMapping column = mapped.remove(attribute.number());
                        columns.add(
                                column(
                                        attribute.name(),
                                        type(attribute, shape),
                                        column,
                                        mapping,
                                        targetTypes,
                                        named));
                    }
                }
            }
            for (ColumnMapping column : mapped.values()) {
                columns.add(column("", "", column, mapping, targetTypes, named));
            }
            targetTypes.forEach((name, type) -> {
                if (!named.contains(name)) {
                    columns.add(new TableReport.Column("", "", name, "", type, false));
                }
            });
            return columns;
        }

        private static TableReport.Column column(
                String source,
                String sourceType,
                @Nullable ColumnMapping column,
                @Nullable TableMapping mapping,
                Map<String, String> targetTypes,
                Set<String> named) {
            if (column == null || mapping == null) {
                return new TableReport.Column(source, sourceType, "", "", "", false);
            }
            named.add(column.name());
            return new TableReport.Column(
                    source,
                    sourceType,
                    column.name(),
                    column.type().print(),
                    targetTypes.getOrDefault(column.name(), ""),
                    mapping.isKey(column));
        }

        private static String type(AttributeDescriptor attribute, RelationDescriptor shape) {
            String name = Integer.toUnsignedString(attribute.typeOid());
            for (TypeDescriptor type : shape.types()) {
                if (type.oid() == attribute.typeOid()) {
                    name = type.name();
                }
            }
            return attribute.typeModifier() < 0
                    ? name
                    : name + " (typmod " + attribute.typeModifier() + ")";
        }
    }

    /** One object; its keys are described in docs/operations.md. */
    public String toJson() {
        JsonMapper json = new JsonMapper();
        ObjectNode root = json.createObjectNode();
        root.put("running", running);
        ArrayNode all = root.putArray("tables");
        for (TableReport table : tables) {
            ObjectNode node = all.addObject();
            node.put("source", table.source());
            node.put("database", table.database());
            node.put("oid", Integer.toUnsignedLong(table.oid()));
            node.put("state", table.state());
            node.put("reason", table.reason());
            node.put("target", table.target());
            node.put("engine", table.engine());
            ArrayNode columns = node.putArray("columns");
            for (TableReport.Column column : table.columns()) {
                columns.addObject()
                        .put("source", column.source())
                        .put("source_type", column.sourceType())
                        .put("target", column.target())
                        .put("mapped_type", column.mappedType())
                        .put("target_type", column.targetType())
                        .put("key", column.key());
            }
        }
        return json.writeValueAsString(root);
    }
}
