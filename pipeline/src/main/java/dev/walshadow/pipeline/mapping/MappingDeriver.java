package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.pipeline.mapping.MappingRules.ColumnRule;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One derivation; collects every reason, not only the first. */
final class MappingDeriver {
    /** Databases of ClickHouse itself. */
    private static final Set<String> SYSTEM_DATABASES = Set.of("system", "information_schema");

    /** Columns that MergeTree tables may not have, or that hide one that every such table has. */
    private static final Set<String> RESERVED_COLUMNS =
            Set.of(
                    "_row_exists",
                    "_part",
                    "_part_index",
                    "_part_uuid",
                    "_part_offset",
                    "_part_data_version",
                    "_part_starting_offset",
                    "_part_granule_offset",
                    "_partition_id",
                    "_partition_value",
                    "_sample_factor",
                    "_block_number",
                    "_block_offset",
                    "_database",
                    "_table",
                    "_disk_name",
                    "_distance");

    private final RelationDescriptor shape;
    private final MappingRules rules;
    private final TableRule rule;
    private final TypeMapper types;
    private final @Nullable TableMapping pinned;
    private final List<String> reasons = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    MappingDeriver(RelationDescriptor shape, MappingRules rules, @Nullable TableMapping pinned) {
        this.shape = shape;
        this.rules = rules;
        this.rule = rules.table(shape.name());
        this.types = new TypeMapper(rules.time64(), new TypeCodecs(shape.types(), null));
        this.pinned = pinned;
    }

    Derivation derive() {
        checkKind();
        List<Integer> key = key();
        String database = rules.database(shape.name());
        checkDatabase(database);
        String ownName = rule.table();
        String table = ownName == null ? shape.name().name() : ownName;
        List<ColumnMapping> columns = columns(key);
        if (!reasons.isEmpty()) {
            return new Derivation.HeldBack(reasons);
        }
        Set<String> names = new HashSet<>();
        columns.forEach(column -> names.add(column.name()));
        MetaColumns meta = MetaColumns.beside(names, shape.kind() == 'p', key.isEmpty());
        noteMetaNames(meta);
        return new Derivation.Mapped(
                new TableMapping(
                        shape.oid(),
                        shape.name(),
                        database,
                        table,
                        columns,
                        key,
                        meta,
                        rules.settings()),
                notes);
    }

    private void checkKind() {
        if ("rpm".indexOf(shape.kind()) < 0) {
            hold(
                    ("it is no table (relkind '%s'); only tables, partitioned tables and"
                                    + " materialized views are replicated")
                            .formatted(shape.kind()));
        }
        if (shape.persistence() != 'p') {
            hold(
                    ("it is %s, so its rows are not in the WAL; ALTER TABLE ... SET LOGGED puts"
                                    + " them there")
                            .formatted(shape.persistence() == 'u' ? "unlogged" : "temporary"));
        }
        if (shape.kind() != 'p' && !shape.accessMethod().equals("heap")) {
            hold(
                    "its access method is %s; only heap tables can be decoded"
                            .formatted(shape.accessMethod()));
        }
    }

    /** What the WAL logs as old key, by relreplident; empty if that is nothing usable. */
    private List<Integer> key() {
        // what a partitioned table's own identity says means nothing: its partitions log
        List<Integer> key =
                switch (shape.kind() == 'p' ? 'd' : shape.replicaIdentity()) {
                    case 'd', 'f' -> shape.primaryKey();
                    case 'i' -> shape.identityKey();
                    default -> List.of();
                };
        if (key.isEmpty()) {
            notes.add(
                    ("%s: it has no usable key (replica identity '%s'), so its rows are told apart"
                                    + " by their place in the source's heap; VACUUM FULL and"
                                    + " CLUSTER load it anew. A primary key that is not deferrable"
                                    + " avoids that")
                            .formatted(shape.label(), shape.replicaIdentity()));
        }
        return key;
    }

    private void checkDatabase(String database) {
        boolean taken =
                SYSTEM_DATABASES.contains(database.toLowerCase(Locale.ROOT))
                        || database.equals(rules.metadataDatabase());
        if (taken || database.isEmpty()) {
            hold(
                    ("its ClickHouse database would be \"%s\", which is not free for tables; name"
                                    + " another one for schema %s in the configuration")
                            .formatted(database, shape.name().schema()));
        }
    }

    private List<ColumnMapping> columns(List<Integer> key) {
        List<ColumnMapping> columns = new ArrayList<>();
        Set<String> taken = new HashSet<>();
        for (AttributeDescriptor attribute : shape.attributes()) {
            if (attribute.dropped()) {
                continue;
            }
            if (attribute.generated() == 'v') {
                notes.add(
                        shape.label()
                                + ": column "
                                + attribute.name()
                                + " is a virtual generated column: PostgreSQL does not store it, so"
                                + " it is not replicated");
                continue;
            }
            ColumnMapping column = column(attribute, key.contains(attribute.number()));
            if (column != null && !taken.add(column.name())) {
                hold(
                        "two of its columns would be named \"%s\"; rename one"
                                .formatted(column.name()));
            } else if (column != null) {
                columns.add(column);
            }
        }
        return columns;
    }

    private @Nullable ColumnMapping column(AttributeDescriptor attribute, boolean isKey) {
        ResolvedType resolved = ResolvedType.of(shape, attribute);
        if (resolved == null) {
            hold(
                    "the type of column %s (OID %s) is not in the captured catalog"
                            .formatted(
                                    attribute.name(),
                                    Integer.toUnsignedString(attribute.typeOid())));
            return null;
        }
        ColumnRule own = rule.columns().getOrDefault(attribute.name(), ColumnRule.NONE);
        TypeMapper.Target target =
                target(resolved, own.type(), isKey, enumNumbers(attribute, resolved));
        if (target == null) {
            hold(
                    "column %s has the type %s.%s, which this version cannot convert%s"
                            .formatted(
                                    attribute.name(),
                                    resolved.descriptor().schema(),
                                    resolved.descriptor().name()
                                            + (resolved.dimensions() > 0 ? "[]" : ""),
                                    isKey ? " as a key column" : ""));
            return null;
        }
        String ownName = own.name();
        return new ColumnMapping(
                attribute.number(),
                attribute.name(),
                ownName == null ? allowedName(attribute.name()) : ownName,
                finished(target, resolved.dimensions(), isKey),
                target.conversion(),
                resolved.dimensions(),
                resolved.descriptor().oid(),
                resolved.modifier(),
                target.enumNumbers());
    }

    /** What the enum's labels were numbered before. */
    private List<EnumNumber> enumNumbers(AttributeDescriptor attribute, ResolvedType resolved) {
        if (pinned == null) {
            return List.of();
        }
        return pinned.columns().stream()
                .filter(before ->
                        before.attributeNumber() == attribute.number()
                                && before.typeOid() == resolved.descriptor().oid())
                .findFirst()
                .map(ColumnMapping::enumNumbers)
                .orElse(List.of());
    }

    private TypeMapper.@Nullable Target target(
            ResolvedType resolved,
            @Nullable ClickHouseType wanted,
            boolean isKey,
            List<EnumNumber> numbers) {
        boolean text = wanted != null && wanted.bare() == Scalar.STRING;
        if (resolved.dimensions() > 0) {
            // an array in ORDER BY would need nullable elements, which ClickHouse refuses
            return isKey || text
                    ? types.arrayText(resolved.descriptor())
                    : types.element(resolved, numbers);
        }
        if (text) {
            return types.text(resolved.descriptor());
        }
        return isKey ? types.key(resolved, numbers) : types.scalar(resolved, numbers);
    }

    private static ClickHouseType finished(
            TypeMapper.Target target, int dimensions, boolean isKey) {
        if (isKey) {
            return target.type();
        }
        ClickHouseType type = target.type().nullable();
        if (target.conversion() != Conversion.ARRAY_TEXT) {
            for (int i = 0; i < dimensions; i++) {
                type = new ClickHouseType.Array(type);
            }
        }
        return type;
    }

    private String allowedName(String name) {
        if (!RESERVED_COLUMNS.contains(name)) {
            return name;
        }
        Set<String> taken = new HashSet<>(RESERVED_COLUMNS);
        shape.attributes().forEach(attribute -> taken.add(attribute.name()));
        String free = MetaColumns.free(name, taken);
        notes.add(
                shape.label()
                        + ": column "
                        + name
                        + " is named "
                        + free
                        + " in ClickHouse, where "
                        + name
                        + " is reserved");
        return free;
    }

    private void noteMetaNames(MetaColumns meta) {
        MetaColumns usual = MetaColumns.beside(Set.of(), meta.leaf() != null, meta.tid() != null);
        if (!meta.equals(usual)) {
            notes.add(
                    shape.label()
                            + ": it has columns with names of walshadow's own, which are therefore "
                            + String.join(", ", meta.stored())
                            + ", "
                            + meta.commitLsn()
                            + ", "
                            + meta.lsn());
        }
    }

    private void hold(String reason) {
        reasons.add(reason);
    }
}
