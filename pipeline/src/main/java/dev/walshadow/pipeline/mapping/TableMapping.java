package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.Ddl.ColumnDefinition;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A source table and its ClickHouse table. Immutable; pinned in the metadata database as {@link
 * #toJson()} until a resync.
 *
 * @param relationOid the source table's OID
 * @param source the name under which it was mapped
 * @param columns in source order
 * @param key source attnums of the key, in index order; each has a column mapping. Empty: the key
 *     is the tuple's place in the heap ({@code _tid})
 * @param settings of the created table
 * @param filter which rows replicate, over attribute numbers; null: all
 * @param append every version of a row stays, its deletion too: none replaces another
 */
public record TableMapping(
        int relationOid,
        RelationName source,
        String database,
        String table,
        List<ColumnMapping> columns,
        List<Integer> key,
        MetaColumns meta,
        SortedMap<String, String> settings,
        @Nullable RowFilter filter,
        boolean append) {

    static final ClickHouseType VERSION = ClickHouseType.Scalar.UINT128;
    static final ClickHouseType IS_DELETED = ClickHouseType.Scalar.UINT8;
    static final ClickHouseType COMMIT_TIMESTAMP = new ClickHouseType.DateTime64(6, "UTC");
    static final ClickHouseType XID = ClickHouseType.Scalar.UINT32;

    static final ClickHouseType LEAF = ClickHouseType.Scalar.UINT32;

    /** Block number &lt;&lt; 16 | offset number. */
    static final ClickHouseType TID = ClickHouseType.Scalar.UINT64;

    public TableMapping {
        if (key.isEmpty() != (meta.tid() != null)) {
            throw new IllegalArgumentException("a table has either a key or a tid column");
        }
        columns = List.copyOf(columns);
        key = List.copyOf(key);
        settings = new TreeMap<>(settings);
    }

    /** All rows replicate, and the newest version of each is what counts. */
    public TableMapping(
            int relationOid,
            RelationName source,
            String database,
            String table,
            List<ColumnMapping> columns,
            List<Integer> key,
            MetaColumns meta,
            SortedMap<String, String> settings) {
        this(relationOid, source, database, table, columns, key, meta, settings, null, false);
    }

    /** Maps a table by its key (relreplident), its columns' types and the rules. */
    public static Derivation derive(RelationDescriptor shape, MappingRules rules) {
        return new MappingDeriver(shape, rules, null).derive();
    }

    /**
     * The same, where enum labels keep the numbers that {@code pinned} gave them; labels that came
     * later get the next ones, a renamed label keeps its own.
     */
    public static Derivation derive(
            RelationDescriptor shape, MappingRules rules, @Nullable TableMapping pinned) {
        return new MappingDeriver(shape, rules, pinned).derive();
    }

    /** What is wrong with the rules for this table, each a sentence; empty if nothing is. */
    public static List<String> ruleProblems(RelationDescriptor shape, MappingRules rules) {
        return rules.tables().containsKey(shape.name())
                ? new MappingDeriver(shape, rules, null).ruleProblems()
                : List.of();
    }

    /** The same target, its columns read in another way. */
    public TableMapping withColumns(List<ColumnMapping> others) {
        return new TableMapping(
                relationOid, source, database, table, others, key, meta, settings, filter, append);
    }

    /** The same, keeping every version or not. */
    public TableMapping withAppend(boolean other) {
        return new TableMapping(
                relationOid, source, database, table, columns, key, meta, settings, filter, other);
    }

    /** The same with the salt of hashed columns, which is not pinned. */
    public TableMapping withHashKey(@Nullable HashKey key) {
        if (key == null) {
            return this;
        }
        return withColumns(
                columns.stream()
                        .map(column ->
                                column.transform() instanceof Transform.Hash(HashKey known)
                                                && known.equals(key)
                                        ? column.withTransform(new Transform.Hash(key))
                                        : column)
                        .toList());
    }

    /** How messages name the target. */
    public String target() {
        return database + "." + table;
    }

    /** True if rows are told apart by their place in the source's heap only. */
    public boolean isKeyless() {
        return key.isEmpty();
    }

    /** The columns of a block: the mapped ones, then the stored meta columns. */
    public List<String> blockNames() {
        List<String> names = new ArrayList<>();
        columns.forEach(column -> names.add(column.name()));
        names.addAll(meta.stored());
        return names;
    }

    /** The types of {@link #blockNames()}. */
    public List<ClickHouseType> blockTypes() {
        List<ClickHouseType> types = new ArrayList<>();
        columns.forEach(column -> types.add(column.type()));
        types.addAll(List.of(VERSION, IS_DELETED, COMMIT_TIMESTAMP, XID));
        if (meta.leaf() != null) {
            types.add(LEAF);
        }
        if (meta.tid() != null) {
            types.add(TID);
        }
        return types;
    }

    /** Source attnums of the mapped columns. */
    public Set<Integer> attributeNumbers() {
        return columns.stream()
                .map(ColumnMapping::attributeNumber)
                .collect(Collectors.toUnmodifiableSet());
    }

    public boolean isKey(ColumnMapping column) {
        return key.contains(column.attributeNumber());
    }

    /** The mapping of a source column; throws if it has none. */
    public ColumnMapping column(int attributeNumber) {
        for (ColumnMapping column : columns) {
            if (column.attributeNumber() == attributeNumber) {
                return column;
            }
        }
        throw new IllegalArgumentException(source + " maps no attribute " + attributeNumber);
    }

    /** ClickHouse names of the key, in key order. */
    public List<String> keyNames() {
        if (isKeyless()) {
            return Stream.of(meta.leaf(), meta.tid()).filter(Objects::nonNull).toList();
        }
        return key.stream().map(number -> column(number).name()).toList();
    }

    /** What the table is ordered by: the key, and the version where every version stays. */
    public List<String> orderNames() {
        if (!append) {
            return keyNames();
        }
        List<String> names = new ArrayList<>(keyNames());
        names.add(meta.version());
        return names;
    }

    /** Whether a table that is there keeps every version, whatever else it is. */
    public static boolean keepsVersions(@Nullable TableShape there) {
        if (there == null || !there.engine().endsWith("ReplacingMergeTree")) {
            return false;
        }
        return there.columns().stream()
                .anyMatch(column ->
                        column.name().matches("_+version")
                                && column.type().equals(VERSION.print())
                                && (", " + there.sortingKey()).endsWith(", " + column.name()));
    }

    /** The types of {@link #keyNames()}. */
    public List<ClickHouseType> keyTypes() {
        if (isKeyless()) {
            return meta.leaf() == null ? List.of(TID) : List.of(LEAF, TID);
        }
        return key.stream().map(number -> column(number).type()).toList();
    }

    /** The text that creates the table, if it does not exist. */
    public String toDdl() {
        return toDdl(table);
    }

    /** The same under another name, for a table that is built beside and exchanged. */
    public String toDdl(String tableName) {
        return toDdl(database, tableName);
    }

    /** The same in another place. */
    public String toDdl(String databaseName, String tableName) {
        return toDdl(databaseName, tableName, "");
    }

    /** The same with a comment on the table. */
    public String toDdl(String databaseName, String tableName, String comment) {
        return Ddl.createTable(
                new Ddl.TableDefinition(
                        databaseName,
                        tableName,
                        definitions(),
                        engine(),
                        orderNames(),
                        settings,
                        comment));
    }

    /** A merge leaves one of the copies of the same version; versions are not merged. */
    private String engine() {
        if (append) {
            return "ReplacingMergeTree";
        }
        return "ReplacingMergeTree("
                + Ddl.identifier(meta.version())
                + ", "
                + Ddl.identifier(meta.isDeleted())
                + ")";
    }

    private List<ColumnDefinition> definitions() {
        List<ColumnDefinition> all = new ArrayList<>();
        List<String> names = blockNames();
        List<ClickHouseType> types = blockTypes();
        for (int i = 0; i < names.size(); i++) {
            String type = types.get(i).print();
            boolean marked = append && names.get(i).equals(meta.version());
            all.add(
                    new ColumnDefinition(
                            names.get(i),
                            marked
                                    ? type + " COMMENT " + Ddl.literal(ShapeDigest.comment(this))
                                    : type));
        }
        String version = Ddl.identifier(meta.version());
        all.add(
                new ColumnDefinition(
                        meta.commitLsn(),
                        "UInt64 ALIAS toUInt64(bitShiftRight(" + version + ", 64))"));
        all.add(
                new ColumnDefinition(
                        meta.lsn(),
                        "UInt64 ALIAS bitAnd(toUInt64(" + version + "), 18446744073709551614)"));
        return all;
    }

    /**
     * The newest version of each key, as what follows FROM, deletions among them. Reads in the
     * table's order, from its end.
     *
     * @param from the table, as SQL
     * @param condition on the key; empty: none
     */
    public String newestVersions(String from, String condition) {
        return newestVersions(from, condition, keyNames(), meta.version());
    }

    /** The same of a table with this key. */
    public static String newestVersions(
            String from, String condition, List<String> key, String version) {
        String order =
                Stream.concat(key.stream(), Stream.of(version))
                        .map(name -> Ddl.identifier(name) + " DESC")
                        .collect(Collectors.joining(", "));
        return "(SELECT * FROM "
                + from
                + (condition.isEmpty() ? "" : " WHERE " + condition)
                + " ORDER BY "
                + order
                + " LIMIT 1 BY "
                + key.stream().map(Ddl::identifier).collect(Collectors.joining(", "))
                + ")";
    }

    /**
     * Sentences on how an existing ClickHouse table differs from this mapping; empty if it fits.
     */
    public List<String> differences(TableShape existing) {
        return ShapeComparison.differences(this, existing);
    }

    /** The whole mapping as one line of JSON. */
    public String toJson() {
        return MappingJson.print(this);
    }

    /** Reads {@link #toJson()} back. */
    public static TableMapping fromJson(String json) {
        return MappingJson.parse(json);
    }
}
