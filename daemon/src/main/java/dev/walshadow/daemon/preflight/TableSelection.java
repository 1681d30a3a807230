package dev.walshadow.daemon.preflight;

import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Which tables replicate: those that match an include pattern and no exclude pattern. Patterns are
 * {@code schema.table} or {@code table} (any schema), {@code *} matching any run of characters.
 * System schemas never match.
 */
public final class TableSelection {
    private final List<String> includes;
    private final List<Pattern> included;
    private final List<Pattern> excluded;
    private final boolean byLeaf;

    /**
     * @param byLeaf each partition is a table of its own, and partitioned tables are not
     */
    public TableSelection(List<String> include, List<String> exclude, boolean byLeaf) {
        this.byLeaf = byLeaf;
        this.includes = List.copyOf(include);
        this.included = include.stream().map(TableSelection::compile).toList();
        this.excluded = exclude.stream().map(TableSelection::compile).toList();
    }

    private static Pattern compile(String pattern) {
        StringBuilder regex = new StringBuilder(pattern.contains(".") ? "" : "[^.]*\\.");
        for (String literal : pattern.split("(?<=\\*)|(?=\\*)", -1)) {
            regex.append(literal.equals("*") ? ".*" : Pattern.quote(literal));
        }
        return Pattern.compile(regex.toString(), Pattern.DOTALL);
    }

    public boolean matches(RelationName name) {
        String schema = name.schema();
        if (schema.equals("information_schema") || schema.startsWith("pg_")) {
            return false;
        }
        String text = name.toString();
        return included.stream().anyMatch(pattern -> pattern.matcher(text).matches())
                && excluded.stream().noneMatch(pattern -> pattern.matcher(text).matches());
    }

    /**
     * True for a permanent or unlogged table or materialized view that is selected by name; a
     * partition is selected by the name of its partitioned table.
     *
     * @param parents finds the relations that this one can be a partition of
     */
    public boolean matches(RelationDescriptor relation, Partitions.Lookup parents) {
        if (relation.persistence() == 't') {
            return false;
        }
        return switch (relation.kind()) {
            case 'r' -> matchesTable(relation, parents);
            case 'm' -> matches(relation.name());
            case 'p' -> !byLeaf && !relation.partition() && matches(relation.name());
            default -> false;
        };
    }

    private boolean matchesTable(RelationDescriptor relation, Partitions.Lookup parents) {
        if (byLeaf || !relation.partition()) {
            return matches(relation.name());
        }
        RelationDescriptor root = Partitions.root(relation, parents);
        return root != null && matches(root.name());
    }

    /** Of all relations of a database, those that are selected. */
    public List<RelationDescriptor> of(Collection<RelationDescriptor> relations) {
        Partitions.Lookup parents = Partitions.among(relations);
        return relations.stream().filter(relation -> matches(relation, parents)).toList();
    }

    /** Include entries without a wildcard that name no table of the source. */
    public List<String> unknown(Collection<RelationDescriptor> relations) {
        List<String> unknown = new ArrayList<>();
        for (int i = 0; i < includes.size(); i++) {
            Pattern pattern = included.get(i);
            boolean found =
                    includes.get(i).contains("*")
                            || relations.stream()
                                    .filter(relation -> "rmp".indexOf(relation.kind()) >= 0)
                                    .anyMatch(r -> pattern.matcher(r.name().toString()).matches());
            if (!found) {
                unknown.add(includes.get(i));
            }
        }
        return unknown;
    }
}
