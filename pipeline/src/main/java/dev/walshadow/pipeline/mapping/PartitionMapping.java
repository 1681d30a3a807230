package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How a partition's rows go into its partitioned table's table: columns meet by name, since a
 * partition may have them in another order, with dropped ones in between.
 */
public final class PartitionMapping {
    private PartitionMapping() {}

    /**
     * @param root the partitioned table's mapping
     * @param keepsToast as {@link MappingRules#keepsToast}
     */
    public static Derivation of(TableMapping root, RelationDescriptor leaf, boolean keepsToast) {
        List<String> reasons = new ArrayList<>();
        if (leaf.kind() != 'r') {
            reasons.add("its relkind is '" + leaf.kind() + "'; only tables can be decoded");
        } else if (leaf.persistence() != 'p') {
            reasons.add("it is unlogged, so its rows are not in the WAL");
        } else if (!leaf.accessMethod().equals("heap")) {
            reasons.add("its access method is " + leaf.accessMethod() + "; only heap is decoded");
        }
        Map<String, Integer> numbers = new HashMap<>();
        for (AttributeDescriptor attribute : leaf.attributes()) {
            if (!attribute.dropped()) {
                numbers.put(attribute.name(), attribute.number());
            }
        }
        List<ColumnMapping> columns = new ArrayList<>();
        for (ColumnMapping column : root.columns()) {
            Integer number = numbers.get(column.sourceName());
            if (number == null) {
                reasons.add("it has no column " + column.sourceName());
            } else {
                columns.add(column.at(number));
            }
        }
        String key = keyProblem(root, leaf, numbers);
        if (key != null) {
            reasons.add(key);
        }
        if (!reasons.isEmpty()) {
            return new Derivation.HeldBack(reasons);
        }
        List<Integer> numbered =
                root.key().stream()
                        .map(number -> numbers.get(root.column(number).sourceName()))
                        .toList();
        String unlogged =
                root.filter() == null || keepsToast
                        ? null
                        : RowFilterCheck.unlogged(leaf, columns, numbered);
        if (unlogged != null) {
            return new Derivation.HeldBack(
                    List.of("its partitioned table's where is refused: " + unlogged));
        }
        return new Derivation.Mapped(
                new TableMapping(
                        leaf.oid(),
                        leaf.name(),
                        root.database(),
                        root.table(),
                        columns,
                        numbered,
                        root.meta(),
                        root.settings(),
                        filter(root, numbers),
                        root.append()),
                List.of());
    }

    private static @Nullable RowFilter filter(TableMapping root, Map<String, Integer> numbers) {
        RowFilter filter = root.filter();
        return filter == null
                ? null
                : filter.renamed(column -> {
                    String name = root.column(RowFilter.number(column)).sourceName();
                    return RowFilter.ofNumber(numbers.getOrDefault(name, 0));
                });
    }

    /** Whether the partition logs what tells its rows apart in the partitioned table. */
    private static @Nullable String keyProblem(
            TableMapping root, RelationDescriptor leaf, Map<String, Integer> numbers) {
        if (root.isKeyless()) {
            return null;
        }
        Set<Integer> logged =
                new HashSet<>(
                        switch (leaf.replicaIdentity()) {
                            case 'd' -> leaf.primaryKey();
                            case 'i' -> leaf.identityKey();
                            case 'f' -> numbers.values().stream().toList();
                            default -> List.<Integer>of();
                        });
        for (int number : root.key()) {
            String name = root.column(number).sourceName();
            if (!logged.contains(numbers.getOrDefault(name, 0))) {
                return "its replica identity ('"
                        + leaf.replicaIdentity()
                        + "') does not log the column "
                        + name
                        + " of the partitioned table's primary key; ALTER TABLE "
                        + leaf.label()
                        + " REPLICA IDENTITY DEFAULT logs it";
            }
        }
        return null;
    }
}
