package dev.walshadow.daemon.config;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.encode.ValueLimit.Oversized;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import dev.walshadow.pipeline.mapping.Transform;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the file says of single schemas, tables and columns. Hashes have no salt yet.
 *
 * @param schemas ClickHouse database by source schema
 * @param tables rule by source table
 * @param oversized what becomes of values beyond the limit, by source table
 */
public record NameRules(
        Map<String, String> schemas,
        Map<RelationName, TableRule> tables,
        Map<RelationName, Oversized> oversized) {
    /**
     * A key of such a rule, for the documentation.
     *
     * @param key with upper-case words for the names of schema, table and column
     * @param fallback what holds without it
     */
    public record Key(String key, String fallback, String meaning, String form) {}

    static final String DATABASE = "database";
    static final String TABLE = "table";
    static final String OVERSIZED = "oversized";
    static final String COLUMNS = "columns";
    static final String NAME = "name";
    static final String TYPE = "type";
    static final String LOSSY = "lossy";
    static final String EXCLUDE = "exclude";
    static final String TRANSFORM = "transform";
    static final String OUT_OF_RANGE = "out_of_range";
    static final String WHERE = "where";

    static final List<String> SCHEMA_KEYS = List.of(DATABASE);
    static final List<String> TABLE_KEYS = List.of(DATABASE, TABLE, OVERSIZED, WHERE, COLUMNS);
    static final List<String> COLUMN_KEYS =
            List.of(NAME, TYPE, LOSSY, EXCLUDE, TRANSFORM, OUT_OF_RANGE);

    private static final String OF_TABLE = "tables.\"SCHEMA.TABLE\".";
    private static final String OF_COLUMN = OF_TABLE + "columns.COLUMN.";

    private static final List<Key> KEYS =
            List.of(
                    new Key(
                            "schemas.SCHEMA.database",
                            "prefix and schema",
                            "ClickHouse database of a schema's tables.",
                            "text"),
                    new Key(
                            OF_TABLE + DATABASE,
                            "the schema's",
                            "ClickHouse database of this table.",
                            "text"),
                    new Key(OF_TABLE + TABLE, "its own name", "Name of the table there.", "text"),
                    new Key(
                            OF_TABLE + OVERSIZED,
                            "`tables.oversized`",
                            "What becomes of a value of this table beyond `memory.value`.",
                            "quarantine, null or truncate"),
                    new Key(
                            OF_TABLE + WHERE,
                            "all rows",
                            "Which rows replicate: a condition over the table's columns and"
                                    + " literals.",
                            "a condition"),
                    new Key(
                            OF_COLUMN + NAME,
                            "its own name",
                            "Name of the column there; without a dot.",
                            "text"),
                    new Key(
                            OF_COLUMN + TYPE,
                            "by [types.md](types.md)",
                            "ClickHouse type, without Nullable, which is added where the column is"
                                    + " no key.",
                            "a ClickHouse type"),
                    new Key(
                            OF_COLUMN + LOSSY,
                            "`false`",
                            "Takes a type that cannot hold every value.",
                            "true or false"),
                    new Key(
                            OF_COLUMN + EXCLUDE,
                            "`false`",
                            "Leaves the column out; `verify` does not compare it.",
                            "true or false"),
                    new Key(
                            OF_COLUMN + TRANSFORM,
                            "the value itself",
                            "What is sent instead of the column's values.",
                            Transform.FORMS),
                    new Key(
                            OF_COLUMN + OUT_OF_RANGE,
                            "`clamp`; of numerics `null`",
                            "What becomes of a date or timestamp outside of ClickHouse's range, and"
                                    + " of a numeric NaN or infinity.",
                            "clamp, null or error"));

    static final NameRules NONE = new NameRules(Map.of(), Map.of(), Map.of());

    public NameRules {
        schemas = Map.copyOf(schemas);
        tables = Map.copyOf(tables);
        oversized = Map.copyOf(oversized);
    }

    /** Every key there is, for the documentation. */
    public static List<Key> keys() {
        return KEYS;
    }

    /** Plain {@code schema.table}, or with PostgreSQL's quotes; null if it is neither. */
    public static @Nullable RelationName relation(String text) {
        return NameRulesReader.relation(text);
    }

    /** Whether any column is to be hashed, which needs a salt. */
    public boolean hashes() {
        return tables.values().stream()
                .flatMap(rule -> rule.columns().values().stream())
                .anyMatch(column -> column.transform() instanceof Transform.Hash);
    }
}
