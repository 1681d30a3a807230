package dev.walshadow.daemon.verify;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.ResolvedType;
import dev.walshadow.pipeline.mapping.RowFilter;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What of a table is compared: by its descriptor and by the mapping that its rows arrive in. */
final class ComparedTables {
    /** pg_attribute.attgenerated of columns that are computed when they are read. */
    private static final char VIRTUAL = 'v';

    private ComparedTables() {}

    /** What of a table's columns a comparison by this mapping would leave out; null if nothing. */
    static @Nullable String uncovered(
            RelationDescriptor relation, TableMapping mapping, TargetTables tables) {
        Set<Integer> mapped = new HashSet<>();
        mapping.columns().forEach(column -> mapped.add(column.attributeNumber()));
        for (AttributeDescriptor attribute : relation.attributes()) {
            boolean stored = !attribute.dropped() && attribute.generated() != VIRTUAL;
            boolean there = mapped.remove(attribute.number());
            if (stored && !there && !tables.excludes(relation, attribute.name())) {
                return "its column " + attribute.name() + " is not in ClickHouse";
            }
            if (!stored && there) {
                return "its column " + attribute.name() + " is gone on the source";
            }
        }
        return mapped.isEmpty() ? null : "columns " + mapped + " are gone on the source";
    }

    /**
     * @param session with the table's database
     */
    static ComparedTable compared(
            RelationDescriptor relation, TableMapping mapping, Connection session)
            throws SQLException {
        boolean utf8 = SourceRows.hasUtf8(session);
        Map<Integer, AttributeDescriptor> attributes = new HashMap<>();
        relation.attributes().forEach(attribute -> attributes.put(attribute.number(), attribute));
        List<ComparedTable.Column> columns = new ArrayList<>();
        for (ColumnMapping column : mapping.columns()) {
            AttributeDescriptor attribute = attributes.get(column.attributeNumber());
            if (attribute == null || column.conversion() == Conversion.HEX) {
                continue;
            }
            ResolvedType type = ResolvedType.of(relation, attribute);
            String shown = shownType(column, type);
            boolean key = mapping.isKey(column);
            columns.add(
                    new ComparedTable.Column(
                            attribute.name(),
                            shown,
                            type == null ? ',' : type.descriptor().delimiter(),
                            column.name(),
                            column.type(),
                            key,
                            LargeValues.has(column, key, shown, utf8),
                            column.outOfRange(),
                            column.transform()));
        }
        return new ComparedTable(
                relation.name(),
                SourceRows.from(session, relation),
                mapping.database(),
                mapping.table(),
                mapping.meta().version(),
                mapping.meta().isDeleted(),
                columns,
                where(relation, mapping),
                mapping.append() ? mapping.keyNames() : List.of());
    }

    private static String where(RelationDescriptor relation, TableMapping mapping) {
        RowFilter filter = mapping.filter();
        return filter == null
                ? ""
                : filter.print(column ->
                        SourceRows.quoteIdentifier(
                                relation.attributes().get(RowFilter.number(column) - 1).name()));
    }

    static List<String> leftOut(RelationDescriptor relation, TableMapping mapping) {
        Set<Integer> mapped = new HashSet<>();
        mapping.columns().stream()
                .filter(column -> column.conversion() != Conversion.HEX)
                .forEach(column -> mapped.add(column.attributeNumber()));
        return relation.attributes().stream()
                .filter(a ->
                        !a.dropped() && a.generated() != VIRTUAL && !mapped.contains(a.number()))
                .map(a -> relation.label() + "." + a.name())
                .toList();
    }

    /** Bytes that were mapped as PostgreSQL's text are compared as text. */
    private static String shownType(ColumnMapping column, @Nullable ResolvedType type) {
        if (type == null) {
            return "";
        }
        String name = type.descriptor().name();
        if (name.equals("bytea") && column.conversion() != Conversion.BYTES) {
            return "";
        }
        return (type.dimensions() > 0 ? "_" : "") + name;
    }
}
