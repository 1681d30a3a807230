package dev.walshadow.daemon.config;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.pipeline.encode.ValueLimit.Oversized;
import dev.walshadow.pipeline.mapping.HashKey;
import dev.walshadow.pipeline.mapping.MappingRules.ColumnRule;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import dev.walshadow.pipeline.mapping.OutOfRange;
import dev.walshadow.pipeline.mapping.RowFilter;
import dev.walshadow.pipeline.mapping.Transform;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads {@link NameRules} from the file's tree; each fault with its place. */
final class NameRulesReader {
    private static final String SCHEMAS = "schemas";

    private final List<String> faults;
    private final Map<String, String> schemas = new HashMap<>();
    private final Map<RelationName, TableRule> tables = new HashMap<>();
    private final Map<RelationName, Oversized> oversized = new HashMap<>();
    private final Set<RelationName> ofThisFile = new HashSet<>();
    private String file = "";

    /**
     * @param faults where to put them
     */
    NameRulesReader(List<String> faults) {
        this.faults = faults;
    }

    /** What comes now is in this file; what it says of a table comes before other files. */
    void readsFrom(Path newFile) {
        file = newFile.toString();
        ofThisFile.clear();
    }

    private void tell(String fault) {
        faults.add(fault + " (" + file + ")");
    }

    NameRules rules() {
        return new NameRules(schemas, tables, oversized);
    }

    /** The sections {@code [schemas.NAME]}. */
    void schemas(JsonNode section) {
        if (!isSection(section, SCHEMAS)) {
            return;
        }
        for (Map.Entry<String, JsonNode> schema : section.properties()) {
            String place = SCHEMAS + "." + key(schema.getKey());
            if (!isSection(schema.getValue(), place)) {
                continue;
            }
            checkKeys(schema.getValue(), place, NameRules.SCHEMA_KEYS);
            String database = text(schema.getValue(), place, NameRules.DATABASE);
            if (database != null) {
                schemas.put(schema.getKey(), database);
            }
        }
    }

    /** A section {@code [tables."schema.table"]}. */
    void table(String name, JsonNode section) {
        String place = "tables." + key(name);
        RelationName relation = relation(name);
        if (relation == null) {
            tell(
                    "["
                            + place
                            + "] names no table: expected \"schema.table\", or"
                            + " '\"schema\".\"table\"' where a name has a dot or a quote");
            return;
        }
        checkKeys(section, place, NameRules.TABLE_KEYS);
        Map<String, ColumnRule> columns = new HashMap<>();
        JsonNode all = section.path(NameRules.COLUMNS);
        String columnsPlace = place + "." + NameRules.COLUMNS;
        if (section.has(NameRules.COLUMNS) && isSection(all, columnsPlace)) {
            for (Map.Entry<String, JsonNode> column : all.properties()) {
                String columnPlace = columnsPlace + "." + key(column.getKey());
                if (isSection(column.getValue(), columnPlace)) {
                    columns.put(column.getKey(), column(column.getValue(), columnPlace));
                }
            }
        }
        if (!ofThisFile.add(relation)) {
            tell("[" + place + "] is the second section for the table " + relation);
        }
        oversized.remove(relation);
        String policy = text(section, place, NameRules.OVERSIZED);
        if (policy != null) {
            try {
                oversized.put(relation, Oversized.valueOf(policy.toUpperCase(Locale.ROOT)));
            } catch (IllegalArgumentException e) {
                tell(fault(place, NameRules.OVERSIZED, policy, "quarantine, null or truncate"));
            }
        }
        TableRule rule =
                new TableRule(
                        text(section, place, NameRules.DATABASE),
                        text(section, place, NameRules.TABLE),
                        columns,
                        where(section, place));
        tables.put(relation, rule);
    }

    private ColumnRule column(JsonNode section, String place) {
        checkKeys(section, place, NameRules.COLUMN_KEYS);
        return new ColumnRule(
                text(section, place, NameRules.NAME),
                type(section, place),
                flag(section, place, NameRules.LOSSY),
                flag(section, place, NameRules.EXCLUDE),
                transform(section, place),
                outOfRange(section, place));
    }

    private @Nullable RowFilter where(JsonNode section, String place) {
        String text = text(section, place, NameRules.WHERE);
        try {
            return text == null ? null : RowFilter.parse(text);
        } catch (IllegalArgumentException e) {
            tell("[" + place + "] " + NameRules.WHERE + ": " + e.getMessage());
            return null;
        }
    }

    private @Nullable OutOfRange outOfRange(JsonNode section, String place) {
        String text = text(section, place, NameRules.OUT_OF_RANGE);
        for (OutOfRange each : OutOfRange.values()) {
            if (each.name().toLowerCase(Locale.ROOT).equals(text)) {
                return each;
            }
        }
        if (text != null) {
            tell(fault(place, NameRules.OUT_OF_RANGE, text, "clamp, null or error"));
        }
        return null;
    }

    private @Nullable ClickHouseType type(JsonNode section, String place) {
        String text = text(section, place, NameRules.TYPE);
        if (text == null) {
            return null;
        }
        try {
            ClickHouseType type = ClickHouseType.parse(text);
            if (!(type.bare() instanceof ClickHouseType.Other)) {
                return type;
            }
        } catch (IllegalArgumentException e) {
            // named below
        }
        tell(fault(place, NameRules.TYPE, text, "a ClickHouse type"));
        return null;
    }

    private @Nullable Transform transform(JsonNode section, String place) {
        String text = text(section, place, NameRules.TRANSFORM);
        try {
            return text == null ? null : Transform.parse(text, HashKey.NONE);
        } catch (IllegalArgumentException e) {
            tell(fault(place, NameRules.TRANSFORM, text, Transform.FORMS));
            return null;
        }
    }

    private boolean flag(JsonNode section, String place, String key) {
        String text = text(section, place, key);
        if (text != null && !text.equals("true") && !text.equals("false")) {
            tell(fault(place, key, text, "true or false"));
        }
        return "true".equals(text);
    }

    private @Nullable String text(JsonNode section, String place, String key) {
        JsonNode value = section.get(key);
        if (value == null) {
            return null;
        }
        String text = ConfigurationLoader.text(value);
        if (text == null || text.isEmpty()) {
            tell(fault(place, key, value.toString(), "one text"));
            return null;
        }
        return text;
    }

    private static String fault(String place, String key, @Nullable String found, String expected) {
        return "[" + place + "] " + key + ": \"" + found + "\" is not " + expected;
    }

    private boolean isSection(JsonNode node, String place) {
        if (!node.isObject()) {
            tell("[" + place + "] must be a section, not a value");
        }
        return node.isObject();
    }

    private void checkKeys(JsonNode section, String place, List<String> known) {
        for (Map.Entry<String, JsonNode> entry : section.properties()) {
            if (!known.contains(entry.getKey())) {
                tell(
                        "unknown key ["
                                + place
                                + "] "
                                + entry.getKey()
                                + ConfigurationLoader.suggestion(entry.getKey(), known));
            }
        }
    }

    /** As TOML spells it. */
    private static String key(String name) {
        return name.matches("[A-Za-z0-9_-]+") ? name : '"' + name + '"';
    }

    /** Plain {@code schema.table}, or with PostgreSQL's quotes; null if it is neither. */
    static @Nullable RelationName relation(String text) {
        int[] at = new int[1];
        String schema = part(text, at);
        if (schema == null || at[0] >= text.length() || text.charAt(at[0]) != '.') {
            return null;
        }
        at[0]++;
        String table = part(text, at);
        return table == null || at[0] < text.length() ? null : new RelationName(schema, table);
    }

    private static @Nullable String part(String text, int[] at) {
        StringBuilder name = new StringBuilder();
        int i = at[0];
        boolean quoted = i < text.length() && text.charAt(i) == '"';
        if (quoted) {
            i++;
        }
        while (i < text.length()) {
            char c = text.charAt(i);
            if (quoted && c == '"') {
                if (i + 1 >= text.length() || text.charAt(i + 1) != '"') {
                    at[0] = i + 1;
                    return name.isEmpty() ? null : name.toString();
                }
                i++;
            } else if (!quoted && c == '.') {
                break;
            }
            name.append(c);
            i++;
        }
        at[0] = i;
        return quoted || name.isEmpty() ? null : name.toString();
    }
}
