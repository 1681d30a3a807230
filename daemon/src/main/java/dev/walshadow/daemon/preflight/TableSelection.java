package dev.walshadow.daemon.preflight;

import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.daemon.state.TableDecisions;
import dev.walshadow.pipeline.mapping.TablePattern;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * Which tables replicate: those that match an include pattern and no exclude pattern ({@link
 * TablePattern}). System schemas never match.
 *
 * <p>What an operator decided about a single table comes before the patterns. The decisions are
 * replaced by one thread at a time, the WAL pump once it runs; everything else is fixed.
 */
public final class TableSelection {
    private final List<TablePattern> included;
    private final List<TablePattern> excluded;
    private final boolean byLeaf;
    private volatile TableDecisions decisions = TableDecisions.NONE;

    /**
     * @param byLeaf each partition is a table of its own, and partitioned tables are not
     */
    public TableSelection(List<String> include, List<String> exclude, boolean byLeaf) {
        this.byLeaf = byLeaf;
        this.included = include.stream().map(TablePattern::of).toList();
        this.excluded = exclude.stream().map(TablePattern::of).toList();
    }

    /** From now on these come before the patterns. */
    public void decide(TableDecisions now) {
        decisions = now;
    }

    public TableDecisions decisions() {
        return decisions;
    }

    public boolean matches(RelationName name) {
        if (isSystem(name)) {
            return false;
        }
        TableDecisions decided = decisions;
        return decided.isAdded(name) || (!decided.isRemoved(name) && matchesPatterns(name));
    }

    private static boolean isSystem(RelationName name) {
        String schema = name.schema();
        return schema.equals("information_schema") || schema.startsWith("pg_");
    }

    /** What the configuration says, whatever was decided since. */
    public boolean matchesPatterns(RelationName name) {
        if (isSystem(name)) {
            return false;
        }
        return included.stream().anyMatch(entry -> entry.matches(name))
                && excluded.stream().noneMatch(entry -> entry.matches(name));
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

    /** Each partition is a table of its own. */
    public boolean byLeaf() {
        return byLeaf;
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
        return included.stream()
                .filter(entry -> isUnknown(entry, relations))
                .map(TablePattern::text)
                .toList();
    }

    private static boolean isUnknown(TablePattern entry, Collection<RelationDescriptor> relations) {
        return !entry.hasWildcard()
                && relations.stream()
                        .filter(relation -> "rmp".indexOf(relation.kind()) >= 0)
                        .noneMatch(relation -> entry.matches(relation.name()));
    }

    /** Of these, those without a wildcard that name no table of their own, each with the reason. */
    public List<String> withoutTable(
            List<String> patterns, Collection<RelationDescriptor> relations) {
        List<String> reasons = new ArrayList<>();
        for (TablePattern entry : patterns.stream().map(TablePattern::of).toList()) {
            boolean partition =
                    !byLeaf
                            && !entry.hasWildcard()
                            && relations.stream()
                                    .filter(relation -> entry.matches(relation.name()))
                                    .anyMatch(RelationDescriptor::partition);
            if (isUnknown(entry, relations)) {
                reasons.add(entry.text() + ", but the source has no such table");
            } else if (partition) {
                reasons.add(
                        entry.text()
                                + ", but that is a partition, whose rows arrive in its partitioned"
                                + " table's; name that one");
            }
        }
        return reasons;
    }
}
