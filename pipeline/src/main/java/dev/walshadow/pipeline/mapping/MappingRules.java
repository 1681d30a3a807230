package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseType;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The operator's say in how tables arrive.
 *
 * @param databasePrefix in front of the schema's name, behind {@code <database>_} where several
 *     source databases are followed
 * @param metadataDatabase walshadow's own database in ClickHouse, refused as a target
 * @param schemas ClickHouse database per source schema, where it is not prefix + schema
 * @param tables per-table rules
 * @param time64 whether the server has the type Time64
 * @param settings table settings for every created table, printed form
 */
public record MappingRules(
        String databasePrefix,
        String metadataDatabase,
        Map<String, String> schemas,
        Map<RelationName, TableRule> tables,
        boolean time64,
        SortedMap<String, String> settings) {

    /** The setting without which MergeTree tables ignore deduplication tokens. */
    public static final String DEDUPLICATION_WINDOW = "non_replicated_deduplication_window";

    /** How many inserts back a repeated token is recognised. */
    public static final int DEDUPLICATION_INSERTS = 1000;

    public MappingRules {
        schemas = Map.copyOf(schemas);
        tables = Map.copyOf(tables);
        settings = new TreeMap<>(settings);
    }

    /** One rule per table; null and empty leave the default. */
    public record TableRule(
            @Nullable String database, @Nullable String table, Map<String, ColumnRule> columns) {
        public static final TableRule NONE = new TableRule(null, null, Map.of());

        public TableRule {
            columns = Map.copyOf(columns);
        }
    }

    /**
     * One rule per column, found by the source column's name.
     *
     * @param type String (PostgreSQL's text) for any type; null for the default
     */
    public record ColumnRule(@Nullable String name, @Nullable ClickHouseType type) {
        public static final ColumnRule NONE = new ColumnRule(null, null);
    }

    /** Schema to database, table to table, no override. */
    public static MappingRules defaults() {
        TreeMap<String, String> settings = new TreeMap<>();
        settings.put(DEDUPLICATION_WINDOW, Integer.toString(DEDUPLICATION_INSERTS));
        return new MappingRules("", "walshadow", Map.of(), Map.of(), true, settings);
    }

    public MappingRules withTime64(boolean available) {
        return new MappingRules(
                databasePrefix, metadataDatabase, schemas, tables, available, settings);
    }

    public MappingRules withNames(
            String newPrefix, String newMetadataDatabase, Map<String, String> newSchemas) {
        return new MappingRules(
                newPrefix, newMetadataDatabase, newSchemas, tables, time64, settings);
    }

    public MappingRules withTables(Map<RelationName, TableRule> newTables) {
        return new MappingRules(
                databasePrefix, metadataDatabase, schemas, newTables, time64, settings);
    }

    TableRule table(RelationName name) {
        TableRule own = tables.get(name);
        return own != null ? own : tables.getOrDefault(name.in(""), TableRule.NONE);
    }

    String database(RelationName name) {
        String own = table(name).database();
        if (own != null) {
            return own;
        }
        String prefix = name.database().isEmpty() ? "" : name.database() + "_";
        return prefix + schemas.getOrDefault(name.schema(), databasePrefix + name.schema());
    }
}
