package dev.walshadow.pipeline.mapping;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseType;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A mapping as JSON, for pinning. Its format grows when an older reader would misunderstand it:
 * tables without a key are {@link #KEYLESS_FORMAT}.
 */
final class MappingJson {
    private static final int FORMAT = 1;
    private static final int KEYLESS_FORMAT = 2;

    /** With transformed columns, whose plain values an older version would send. */
    private static final int TRANSFORM_FORMAT = 3;

    /** With a filter of rows, or other policies, which an older version would not keep to. */
    private static final int FILTER_FORMAT = 4;

    /** Every version stays; an older version would sweep, and ask for the newest one only. */
    private static final int APPEND_FORMAT = 5;

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private MappingJson() {}

    static String print(TableMapping mapping) {
        ObjectNode root = JSON.createObjectNode();
        boolean transforms = mapping.columns().stream().anyMatch(c -> c.transform() != null);
        int format = mapping.isKeyless() ? KEYLESS_FORMAT : FORMAT;
        boolean policies =
                mapping.filter() != null
                        || mapping.columns().stream().anyMatch(c -> c.outOfRange() != null);
        int lowest = policies ? FILTER_FORMAT : transforms ? TRANSFORM_FORMAT : format;
        root.put("format", mapping.append() ? APPEND_FORMAT : lowest);
        root.put("relation_oid", Integer.toUnsignedLong(mapping.relationOid()));
        if (!mapping.source().database().isEmpty()) {
            root.put("source_database", mapping.source().database());
        }
        root.put("schema", mapping.source().schema());
        root.put("name", mapping.source().name());
        root.put("database", mapping.database());
        root.put("table", mapping.table());
        ArrayNode columns = root.putArray("columns");
        for (ColumnMapping column : mapping.columns()) {
            ObjectNode node = columns.addObject();
            node.put("attnum", column.attributeNumber());
            node.put("source", column.sourceName());
            node.put("name", column.name());
            node.put("type", column.type().print());
            node.put("conversion", column.conversion().name());
            node.put("dimensions", column.dimensions());
            node.put("type_oid", Integer.toUnsignedLong(column.typeOid()));
            node.put("type_modifier", column.typeModifier());
            if (column.transform() != null) {
                node.put("transform", column.transform().print());
            }
            if (column.outOfRange() != null) {
                node.put("out_of_range", column.outOfRange().name());
            }
            if (!column.enumNumbers().isEmpty()) {
                enumNumbers(column.enumNumbers(), node.putArray("enum"));
            }
        }
        ArrayNode key = root.putArray("key");
        mapping.key().forEach(key::add);
        ObjectNode meta = root.putObject("meta");
        meta.put("version", mapping.meta().version());
        meta.put("is_deleted", mapping.meta().isDeleted());
        meta.put("commit_ts", mapping.meta().commitTimestamp());
        meta.put("xid", mapping.meta().xid());
        meta.put("commit_lsn", mapping.meta().commitLsn());
        meta.put("lsn", mapping.meta().lsn());
        if (mapping.meta().leaf() != null) {
            meta.put("leaf", mapping.meta().leaf());
        }
        if (mapping.meta().tid() != null) {
            meta.put("tid", mapping.meta().tid());
        }
        if (mapping.filter() != null) {
            root.put("where", mapping.filter().print());
        }
        if (mapping.append()) {
            root.put("append", true);
        }
        ObjectNode settings = root.putObject("settings");
        mapping.settings().forEach(settings::put);
        return root.toString();
    }

    private static void enumNumbers(List<EnumNumber> numbers, ArrayNode nodes) {
        for (EnumNumber number : numbers) {
            ObjectNode node = nodes.addObject();
            node.put("oid", Integer.toUnsignedLong(number.labelOid()));
            node.put("label", number.label());
            node.put("number", number.number());
        }
    }

    static TableMapping parse(String json) {
        try {
            JsonNode root = JSON.readTree(json);
            int format = root.required("format").asInt();
            if (format < FORMAT || format > APPEND_FORMAT) {
                throw bad(
                        "it has format " + format + ", this version reads up to " + APPEND_FORMAT,
                        json,
                        null);
            }
            return new TableMapping(
                    (int) root.required("relation_oid").asLong(),
                    new RelationName(
                            root.path("source_database").asString(""),
                            text(root, "schema"),
                            text(root, "name")),
                    text(root, "database"),
                    text(root, "table"),
                    columns(root.required("columns")),
                    key(root.required("key")),
                    meta(root.required("meta")),
                    settings(root.required("settings")),
                    root.has("where") ? RowFilter.parse(text(root, "where")) : null,
                    root.path("append").asBoolean(false));
        } catch (JacksonException | IllegalArgumentException e) {
            throw bad(String.valueOf(e.getMessage()), json, e);
        }
    }

    private static List<ColumnMapping> columns(JsonNode nodes) {
        List<ColumnMapping> columns = new ArrayList<>();
        for (JsonNode node : nodes) {
            columns.add(
                    new ColumnMapping(
                            node.required("attnum").asInt(),
                            text(node, "source"),
                            text(node, "name"),
                            ClickHouseType.parse(text(node, "type")),
                            Conversion.valueOf(text(node, "conversion")),
                            node.required("dimensions").asInt(),
                            (int) node.required("type_oid").asLong(),
                            node.required("type_modifier").asInt(),
                            enumNumbers(node.path("enum")),
                            node.has("transform")
                                    ? Transform.parse(text(node, "transform"), null)
                                    : null,
                            node.has("out_of_range")
                                    ? OutOfRange.valueOf(text(node, "out_of_range"))
                                    : null));
        }
        return columns;
    }

    private static List<EnumNumber> enumNumbers(JsonNode nodes) {
        List<EnumNumber> numbers = new ArrayList<>();
        for (JsonNode node : nodes) {
            numbers.add(
                    new EnumNumber(
                            (int) node.required("oid").asLong(),
                            text(node, "label"),
                            node.required("number").asInt()));
        }
        return numbers;
    }

    private static List<Integer> key(JsonNode nodes) {
        List<Integer> key = new ArrayList<>();
        nodes.forEach(node -> key.add(node.asInt()));
        return key;
    }

    private static MetaColumns meta(JsonNode node) {
        return new MetaColumns(
                text(node, "version"),
                text(node, "is_deleted"),
                text(node, "commit_ts"),
                text(node, "xid"),
                text(node, "commit_lsn"),
                text(node, "lsn"),
                node.has("leaf") ? text(node, "leaf") : null,
                node.has("tid") ? text(node, "tid") : null);
    }

    private static SortedMap<String, String> settings(JsonNode node) {
        SortedMap<String, String> settings = new TreeMap<>();
        node.properties().forEach(e -> settings.put(e.getKey(), e.getValue().asString()));
        return settings;
    }

    private static String text(JsonNode node, String name) {
        return node.required(name).asString();
    }

    private static QuarantineException bad(
            String problem, String json, @org.jspecify.annotations.Nullable Throwable cause) {
        return new QuarantineException(
                MappingCodes.PINNED,
                "the mapping that is pinned in the metadata database cannot be read: "
                        + problem
                        + " in "
                        + (json.length() > 200 ? json.substring(0, 200) + "..." : json)
                        + "; resync the table to derive it anew",
                cause);
    }
}
