package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.postgres.value.DatumRenderer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
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
 * @param hashKey the salt of hashed columns; null if none is configured
 * @param renderer says which types of extensions can be printed
 * @param keepsToast whether copies of the TOAST relations are kept, so that a filter needs no old
 *     rows in the WAL
 * @param append tables that keep every version
 */
public record MappingRules(
        String databasePrefix,
        String metadataDatabase,
        Map<String, String> schemas,
        Map<RelationName, TableRule> tables,
        boolean time64,
        SortedMap<String, String> settings,
        @Nullable HashKey hashKey,
        DatumRenderer renderer,
        boolean keepsToast,
        List<TablePattern> append) {

    /**
     * Of rows wider than 128 bytes a granule has fewer than ClickHouse's 8,192: reading one row's
     * large value reads the whole granule, of which ClickHouse's default is ten times as large.
     */
    private static final int GRANULE_BYTES = 1 << 20;

    public MappingRules {
        schemas = Map.copyOf(schemas);
        tables = Map.copyOf(tables);
        settings = new TreeMap<>(settings);
        append = List.copyOf(append);
    }

    /**
     * One rule per table; null and empty leave the default.
     *
     * @param where which rows replicate; over names, or over attribute numbers where it is carried
     *     on from a pinned mapping
     * @param append whether every version stays, where that is carried on; null: by the patterns
     */
    public record TableRule(
            @Nullable String database,
            @Nullable String table,
            Map<String, ColumnRule> columns,
            @Nullable RowFilter where,
            @Nullable Boolean append) {
        public static final TableRule NONE = new TableRule(null, null, Map.of());

        public TableRule {
            columns = Map.copyOf(columns);
        }

        /** All rows. */
        public TableRule(
                @Nullable String database,
                @Nullable String table,
                Map<String, ColumnRule> columns) {
            this(database, table, columns, null);
        }

        public TableRule(
                @Nullable String database,
                @Nullable String table,
                Map<String, ColumnRule> columns,
                @Nullable RowFilter where) {
            this(database, table, columns, where, null);
        }

        private TableRule withHashKey(HashKey key) {
            Map<String, ColumnRule> salted = new HashMap<>(columns);
            salted.replaceAll((_, rule) ->
                    rule.transform() instanceof Transform.Hash
                            ? rule.withTransform(new Transform.Hash(key))
                            : rule);
            return new TableRule(database, table, salted, where, append);
        }
    }

    /**
     * One rule per column, found by the source column's name.
     *
     * @param name its name in ClickHouse; null for the default
     * @param type String (PostgreSQL's text) for any type, or one that {@link TypeOverride} takes;
     *     null for the default
     * @param lossy takes a type that cannot hold every value
     * @param exclude leaves the column out
     * @param transform what is sent instead of the values; null for the values themselves
     * @param outOfRange what becomes of values that the type cannot hold; null for the default
     */
    public record ColumnRule(
            @Nullable String name,
            @Nullable ClickHouseType type,
            boolean lossy,
            boolean exclude,
            @Nullable Transform transform,
            @Nullable OutOfRange outOfRange) {
        public static final ColumnRule NONE = new ColumnRule(null, null);

        public ColumnRule(@Nullable String name, @Nullable ClickHouseType type) {
            this(name, type, false, false, null, null);
        }

        public ColumnRule(
                @Nullable String name,
                @Nullable ClickHouseType type,
                boolean lossy,
                boolean exclude,
                @Nullable Transform transform) {
            this(name, type, lossy, exclude, transform, null);
        }

        ColumnRule withTransform(Transform other) {
            return new ColumnRule(name, type, lossy, exclude, other, outOfRange);
        }

        ColumnRule excluded() {
            return new ColumnRule(name, type, lossy, true, transform, outOfRange);
        }

        ColumnRule withOutOfRange(OutOfRange other) {
            return new ColumnRule(name, type, lossy, exclude, transform, other);
        }
    }

    /** Schema to database, table to table, no override. */
    public static MappingRules defaults() {
        TreeMap<String, String> settings = new TreeMap<>();
        settings.put("index_granularity_bytes", Integer.toString(GRANULE_BYTES));
        return new MappingRules(
                "",
                "walshadow",
                Map.of(),
                Map.of(),
                true,
                settings,
                null,
                DatumRenderer.NONE,
                false,
                List.of());
    }

    public MappingRules withTime64(boolean available) {
        return new MappingRules(
                databasePrefix,
                metadataDatabase,
                schemas,
                tables,
                available,
                settings,
                hashKey,
                renderer,
                keepsToast,
                append);
    }

    public MappingRules withNames(
            String newPrefix, String newMetadataDatabase, Map<String, String> newSchemas) {
        return new MappingRules(
                newPrefix,
                newMetadataDatabase,
                newSchemas,
                tables,
                time64,
                settings,
                hashKey,
                renderer,
                keepsToast,
                append);
    }

    public MappingRules withTables(Map<RelationName, TableRule> newTables) {
        return new MappingRules(
                databasePrefix,
                metadataDatabase,
                schemas,
                newTables,
                time64,
                settings,
                hashKey,
                renderer,
                keepsToast,
                append);
    }

    /** The salt of all hashed columns. */
    public MappingRules withHashKey(HashKey key) {
        Map<RelationName, TableRule> salted = new HashMap<>();
        tables.forEach((name, rule) -> salted.put(name, rule.withHashKey(key)));
        return new MappingRules(
                databasePrefix,
                metadataDatabase,
                schemas,
                salted,
                time64,
                settings,
                key,
                renderer,
                keepsToast,
                append);
    }

    public MappingRules withRenderer(DatumRenderer newRenderer) {
        return new MappingRules(
                databasePrefix,
                metadataDatabase,
                schemas,
                tables,
                time64,
                settings,
                hashKey,
                newRenderer,
                keepsToast,
                append);
    }

    public MappingRules withKeptToast(boolean kept) {
        return new MappingRules(
                databasePrefix,
                metadataDatabase,
                schemas,
                tables,
                time64,
                settings,
                hashKey,
                renderer,
                kept,
                append);
    }

    /** Tables of these names keep every version. */
    public MappingRules withAppend(List<TablePattern> patterns) {
        return new MappingRules(
                databasePrefix,
                metadataDatabase,
                schemas,
                tables,
                time64,
                settings,
                hashKey,
                renderer,
                keepsToast,
                patterns);
    }

    /** Whether a table of this name keeps every version. */
    public boolean appends(RelationName name) {
        Boolean own = table(name).append();
        return own != null ? own : append.stream().anyMatch(pattern -> pattern.matches(name));
    }

    /** A mapping as the metadata database has it. */
    public TableMapping pinned(String json) {
        return TableMapping.fromJson(json).withHashKey(hashKey);
    }

    /**
     * The rules for a table as it is now, where what was pinned of it is not undone by new names: a
     * column that was left out stays out, one that was transformed stays so, and so do the rows
     * that replicate, and whether every version stays.
     *
     * @param before the shape that {@code pinned} maps
     */
    public MappingRules carried(
            TableMapping pinned, RelationDescriptor before, RelationDescriptor now) {
        Map<Integer, ColumnMapping> mapped = new HashMap<>();
        pinned.columns().forEach(column -> mapped.put(column.attributeNumber(), column));
        TableRule own = table(now.name());
        Map<String, ColumnRule> columns = new HashMap<>(own.columns());
        for (int i = 0; i < Math.min(before.attributes().size(), now.attributes().size()); i++) {
            AttributeDescriptor old = before.attributes().get(i);
            AttributeDescriptor attribute = now.attributes().get(i);
            if (old.dropped() || attribute.dropped() || old.generated() == 'v') {
                continue;
            }
            ColumnRule rule = columns.getOrDefault(attribute.name(), ColumnRule.NONE);
            ColumnMapping column = mapped.get(attribute.number());
            if (column == null) {
                columns.put(attribute.name(), rule.excluded());
            } else if (column.transform() != null && rule.transform() == null) {
                rule = rule.withTransform(column.transform());
                columns.put(attribute.name(), rule);
            }
            if (column != null && column.outOfRange() != null && rule.outOfRange() == null) {
                columns.put(attribute.name(), rule.withOutOfRange(column.outOfRange()));
            }
        }
        if (columns.equals(own.columns())
                && own.where() == null
                && pinned.filter() == null
                && appends(now.name()) == pinned.append()) {
            return this;
        }
        Map<RelationName, TableRule> others = new HashMap<>(tables);
        others.put(
                now.name(),
                new TableRule(
                        own.database(), own.table(), columns, pinned.filter(), pinned.append()));
        return withTables(others);
    }

    /** Columns that the rules for a table name and that it has not, in order. */
    public List<String> unknownColumns(RelationDescriptor shape) {
        Set<String> unknown = new TreeSet<>(table(shape.name()).columns().keySet());
        shape.attributes().stream()
                .filter(attribute -> !attribute.dropped())
                .forEach(attribute -> unknown.remove(attribute.name()));
        return List.copyOf(unknown);
    }

    public TableRule table(RelationName name) {
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
