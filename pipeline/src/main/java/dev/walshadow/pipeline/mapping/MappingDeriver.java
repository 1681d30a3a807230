package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.pipeline.mapping.MappingRules.ColumnRule;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One derivation; collects every reason, not only the first. */
final class MappingDeriver {
    private static final int FILE_NAME_BYTES = 255;

    /** {@code database.table.uuid.sql}. */
    private static final int FILE_NAME_REST = 1 + 1 + 36 + 4;

    /** Databases of ClickHouse itself. */
    private static final Set<String> SYSTEM_DATABASES =
            Set.of("system", "information_schema", "_temporary_and_external_tables");

    private final RelationDescriptor shape;
    private final MappingRules rules;
    private final TableRule rule;
    private final TypeMapper types;
    private final @Nullable TableMapping pinned;
    private final List<String> reasons = new ArrayList<>();
    private final List<String> ruleProblems = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    MappingDeriver(RelationDescriptor shape, MappingRules rules, @Nullable TableMapping pinned) {
        this.shape = shape;
        this.rules = rules;
        this.rule = rules.table(shape.name());
        this.types =
                new TypeMapper(
                        rules.time64(),
                        new TypeCodecs(shape.types(), null, new ForeignCodecs(rules.renderer())));
        this.pinned = pinned;
    }

    Derivation derive() {
        checkKind();
        List<Integer> key = key();
        String database = rules.database(shape.name());
        checkDatabase(database);
        String ownName = rule.table();
        String table = ownName == null ? shape.name().name() : ownName;
        checkLength(database, table);
        List<ColumnMapping> columns = columns(key);
        if (!reasons.isEmpty()) {
            return new Derivation.HeldBack(reasons);
        }
        RowFilter filter = filter(columns, key);
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
                        rules.settings(),
                        filter,
                        rules.appends(shape.name())),
                notes);
    }

    /** The rule's, over attribute numbers; null if there is none, or if it is refused. */
    private @Nullable RowFilter filter(List<ColumnMapping> columns, List<Integer> key) {
        RowFilter where = rule.where();
        if (where == null) {
            return null;
        }
        Map<String, String> numbers = new HashMap<>();
        for (ColumnMapping column : columns) {
            String number = RowFilter.ofNumber(column.attributeNumber());
            if (!column.sourceName().startsWith("$")) {
                numbers.put(column.sourceName(), number);
            }
            numbers.put(number, number);
        }
        for (String column : where.columns()) {
            if (!numbers.containsKey(column)) {
                refuseFilter("it has no replicated column " + column);
                return null;
            }
        }
        RowFilter resolved = where.renamed(column -> numbers.getOrDefault(column, column));
        try {
            RowFilterCheck.evaluable(shape, resolved);
        } catch (IllegalArgumentException e) {
            refuseFilter(String.valueOf(e.getMessage()));
        }
        String unlogged = rules.keepsToast() ? null : RowFilterCheck.unlogged(shape, columns, key);
        if (unlogged != null) {
            refuseFilter(unlogged);
        }
        return resolved;
    }

    private void refuseFilter(String why) {
        String problem = "the configuration's where is refused: " + why;
        ruleProblems.add(problem);
        hold(problem);
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
                    ("its ClickHouse database would be \"%s\", which is not free for tables; give"
                                    + " its schema another one in the configuration:"
                                    + " [schemas.%s] database = \"...\"")
                            .formatted(database, tomlKey(shape.name().schema())));
        }
    }

    /**
     * A dropped table's metadata lies in a file that is named by database, table and UUID; a name
     * of 63 bytes is up to 189 there.
     */
    private void checkLength(String database, String table) {
        int bytes = fileNameBytes(database) + fileNameBytes(table) + FILE_NAME_REST;
        if (bytes > FILE_NAME_BYTES) {
            hold(
                    ("its name in ClickHouse would be %d bytes too long for a file name there,"
                         + " where a character that is no ASCII letter or digit takes three bytes"
                         + " or more; give it a shorter one in the configuration: [tables.%s] table"
                         + " = \"...\"")
                            .formatted(bytes - FILE_NAME_BYTES, tomlKey(shape.name().toString())));
        }
    }

    private static int fileNameBytes(String name) {
        int bytes = 0;
        for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
            bytes += b == '_' || (b >= 0 && Character.isLetterOrDigit(b)) ? 1 : 3;
        }
        return bytes;
    }

    private static String tomlKey(String name) {
        return name.matches("[A-Za-z0-9_-]+")
                ? name
                : '"' + name.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
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
            boolean isKey = key.contains(attribute.number());
            ColumnRule own = columnRule(attribute.name(), isKey);
            if (own.exclude()) {
                notes.add(shape.label() + ": column " + attribute.name() + " is excluded");
                continue;
            }
            ColumnMapping column = column(attribute, own, isKey, taken);
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

    /** The rule without what a key cannot have. */
    private ColumnRule columnRule(String column, boolean isKey) {
        ColumnRule own = rule.columns().getOrDefault(column, ColumnRule.NONE);
        Transform transform = own.transform();
        String name = own.name();
        if (isKey && own.exclude()) {
            refuse(column, "it is part of the key, so it cannot be excluded");
        } else if (isKey && transform != null && !transform.keepsApart()) {
            refuse(
                    column,
                    "it is part of the key, so its values must stay different ones; of the"
                            + " transformations only hash keeps them apart");
        }
        if (transform != null && own.type() != null) {
            refuse(column, "a transformed column is a String; it cannot have another type");
        }
        if (name != null && !ColumnNames.isFree(name)) {
            refuse(column, "the name " + name + " is reserved in ClickHouse, or has a dot");
        }
        return isKey && own.exclude()
                ? new ColumnRule(
                        own.name(), own.type(), own.lossy(), false, transform, own.outOfRange())
                : own;
    }

    private void refuse(String column, String why) {
        String problem = "the configuration's rule for column " + column + " is refused: " + why;
        ruleProblems.add(problem);
        hold(problem);
    }

    private @Nullable ColumnMapping column(
            AttributeDescriptor attribute, ColumnRule own, boolean isKey, Set<String> given) {
        ResolvedType resolved = ResolvedType.of(shape, attribute);
        if (resolved == null) {
            hold(
                    "the type of column %s (OID %s) is not in the captured catalog"
                            .formatted(
                                    attribute.name(),
                                    Integer.toUnsignedString(attribute.typeOid())));
            return null;
        }
        TypeMapper.Target target = target(attribute, resolved, own, isKey);
        if (target == null && own.type() != null && own.transform() == null) {
            return null; // refused
        }
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
        if (target.conversion() == Conversion.HEX) {
            notes.add(
                    shape.label()
                            + ": column "
                            + attribute.name()
                            + " has the type "
                            + resolved.descriptor().schema()
                            + "."
                            + resolved.descriptor().name()
                            + ", which only its extension's library can print, and that is not"
                            + " installed beside the shadow's PostgreSQL: its stored bytes arrive"
                            + " as hexadecimal digits, and it is not verified. Install the library"
                            + " and resync the table");
        }
        String ownName = own.name();
        return new ColumnMapping(
                attribute.number(),
                attribute.name(),
                ownName == null ? allowedName(attribute.name(), given) : ownName,
                finished(target, resolved.dimensions(), isKey),
                target.conversion(),
                resolved.dimensions(),
                resolved.descriptor().oid(),
                resolved.modifier(),
                target.enumNumbers(),
                own.transform(),
                outOfRange(attribute, target, own, isKey));
    }

    private @Nullable OutOfRange outOfRange(
            AttributeDescriptor attribute,
            TypeMapper.Target target,
            ColumnRule own,
            boolean isKey) {
        OutOfRange wanted = own.outOfRange();
        if (wanted == null) {
            return null;
        }
        boolean time =
                switch (target.conversion()) {
                    case DATE32, DATETIME64 -> true;
                    default -> false;
                };
        if (isKey) {
            refuse(attribute.name(), "it is part of the key, whose values are never changed");
        } else if (!time && target.conversion() != Conversion.DECIMAL) {
            refuse(
                    attribute.name(),
                    "as "
                            + target.type().print()
                            + " it holds every value, so nothing is out of"
                            + " its range");
        } else if (!time && wanted == OutOfRange.CLAMP) {
            refuse(attribute.name(), "what is no number has no nearest one; use null or error");
        }
        return wanted;
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
            AttributeDescriptor attribute, ResolvedType resolved, ColumnRule own, boolean isKey) {
        if (own.transform() != null) {
            return transformed(resolved, own.transform());
        }
        TypeMapper.Target usual = usual(resolved, isKey, enumNumbers(attribute, resolved));
        if (own.type() == null) {
            return usual;
        }
        TypeOverride override = new TypeOverride(types, resolved, usual, own, isKey);
        TypeMapper.Target target = override.choose();
        if (target == null) {
            refuse(
                    attribute.name(),
                    "it cannot be "
                            + own.type().print()
                            + (usual == null ? "" : " instead of " + usual.type().print())
                            + ": "
                            + override.refusal()
                            + ". String always holds PostgreSQL's text");
        }
        return target;
    }

    private TypeMapper.@Nullable Target usual(
            ResolvedType resolved, boolean isKey, List<EnumNumber> numbers) {
        if (resolved.dimensions() > 0) {
            // an array in ORDER BY would need nullable elements, which ClickHouse refuses
            return isKey
                    ? types.arrayText(resolved.descriptor())
                    : types.element(resolved, numbers);
        }
        return isKey ? types.key(resolved, numbers) : types.scalar(resolved, numbers);
    }

    /** A transformation works on PostgreSQL's text, unless it does not care. */
    private TypeMapper.@Nullable Target transformed(ResolvedType resolved, Transform transform) {
        TypeMapper.Target text =
                resolved.dimensions() > 0
                        ? types.arrayText(resolved.descriptor())
                        : types.text(resolved.descriptor());
        return text == null && transform.isFixed()
                ? new TypeMapper.Target(Scalar.STRING, Conversion.CHARACTERS)
                : text;
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

    private String allowedName(String name, Set<String> given) {
        if (ColumnNames.isFree(name)) {
            return name;
        }
        Set<String> others = new HashSet<>(given);
        shape.attributes().forEach(attribute -> others.add(attribute.name()));
        String free = ColumnNames.allowed(name, others);
        notes.add(
                shape.label()
                        + ": column "
                        + name
                        + " is named "
                        + free
                        + " in ClickHouse, where "
                        + (ColumnNames.isReserved(name)
                                ? name + " is reserved"
                                : "a dot makes it part of a Nested column"));
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

    /** What is wrong with the rules for this table, each a sentence. */
    List<String> ruleProblems() {
        derive();
        return ruleProblems;
    }

    private void hold(String reason) {
        reasons.add(reason);
    }
}
