package dev.walshadow.pipeline.ddl;

import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.MetaColumns;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The difference between two mappings with the same key as commands of ALTER TABLE.
 *
 * <p>What ClickHouse 26.7 takes in one statement, and applies as one: DROP, RENAME, MODIFY, ADD
 * behind a renamed column. What it refuses: renaming in a circle, renaming the version, the
 * deletion mark, a column of the sorting key or one with a dot in its name, changing a key column's
 * type, RENAME and MODIFY of the same column in one statement.
 *
 * <p>What it takes and does wrong: a name that two columns have in one statement, the one that is
 * dropped or renamed and the one that comes. Parts are left with one's serialization and statistics
 * for the other, and cannot be read ("Stream b.sparse.idx for column b ... is not found").
 */
final class ColumnSteps {
    private final TableMapping from;
    private final TableMapping to;
    private final Map<Integer, ColumnMapping> old = new HashMap<>();
    private final List<ColumnStep> first = new ArrayList<>();
    private final List<ColumnStep> second = new ArrayList<>();
    private @Nullable String obstacle;

    private ColumnSteps(TableMapping from, TableMapping to) {
        this.from = from;
        this.to = to;
        from.columns().forEach(column -> old.put(column.attributeNumber(), column));
    }

    static ColumnSteps between(TableMapping from, TableMapping to) {
        ColumnSteps steps = new ColumnSteps(from, to);
        steps.drops();
        steps.renames();
        steps.modifications();
        steps.additions();
        return steps;
    }

    /** All of them, in order. */
    List<ColumnStep> all() {
        List<ColumnStep> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }

    /** Each for one statement, in order; none is empty, and none has a name twice. */
    List<List<ColumnStep>> statements() {
        List<List<ColumnStep>> statements = new ArrayList<>();
        split(first, statements);
        split(second, statements);
        return statements;
    }

    private static void split(List<ColumnStep> steps, List<List<ColumnStep>> into) {
        List<ColumnStep> statement = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (ColumnStep step : steps) {
            if (!Collections.disjoint(names, step.names())) {
                into.add(statement);
                statement = new ArrayList<>();
                names.clear();
            }
            statement.add(step);
            names.addAll(step.names());
        }
        if (!statement.isEmpty()) {
            into.add(statement);
        }
    }

    /** Why ALTER TABLE cannot do it; null if it can. */
    @Nullable String obstacle() {
        return obstacle;
    }

    private void drops() {
        Set<Integer> kept = new HashSet<>();
        to.columns().forEach(column -> kept.add(column.attributeNumber()));
        for (ColumnMapping column : from.columns()) {
            if (!kept.contains(column.attributeNumber())) {
                first.add(new ColumnStep.Drop(column.name()));
            }
        }
    }

    private void renames() {
        List<ColumnStep.Rename> open = new ArrayList<>();
        for (ColumnMapping column : to.columns()) {
            ColumnMapping before = old.get(column.attributeNumber());
            if (before != null) {
                rename(before.name(), column.name(), open);
            }
        }
        List<String> oldMeta = names(from.meta());
        List<String> newMeta = names(to.meta());
        for (int i = 0; i < Math.min(oldMeta.size(), newMeta.size()); i++) {
            rename(oldMeta.get(i), newMeta.get(i), open);
        }
        Set<String> fixed = new HashSet<>(from.keyNames());
        fixed.addAll(
                from.key().isEmpty()
                        ? from.meta().stored()
                        : List.of(from.meta().version(), from.meta().isDeleted()));
        for (ColumnStep.Rename rename : open) {
            if (fixed.contains(rename.from()) || isNested(rename)) {
                obstacle =
                        "ClickHouse cannot rename column " + rename.from() + " to " + rename.to();
            }
        }
        inOrder(open);
    }

    private static void rename(String before, String now, List<ColumnStep.Rename> open) {
        if (!before.equals(now)) {
            open.add(new ColumnStep.Rename(before, now));
        }
    }

    private static List<String> names(MetaColumns meta) {
        List<String> names = new ArrayList<>(meta.stored());
        names.add(meta.commitLsn());
        names.add(meta.lsn());
        return names;
    }

    /** ClickHouse takes what is in front of a dot for the name of a Nested column. */
    private static boolean isNested(ColumnStep.Rename rename) {
        return rename.from().indexOf('.') >= 0 || rename.to().indexOf('.') >= 0;
    }

    /** A rename waits until its target is free. */
    private void inOrder(List<ColumnStep.Rename> open) {
        while (!open.isEmpty()) {
            Set<String> taken = new HashSet<>();
            open.forEach(rename -> taken.add(rename.from()));
            List<ColumnStep.Rename> free =
                    open.stream().filter(rename -> !taken.contains(rename.to())).toList();
            if (free.isEmpty()) {
                obstacle = "ClickHouse cannot exchange the names of columns " + taken;
                return;
            }
            first.addAll(free);
            open.removeAll(free);
        }
    }

    private void modifications() {
        for (ColumnMapping column : to.columns()) {
            ColumnMapping before = old.get(column.attributeNumber());
            if (before == null || before.type().equals(column.type())) {
                continue;
            }
            if (from.isKey(before) || to.isKey(column) || !ColumnCopy.modifies(before, column)) {
                obstacle = "ClickHouse cannot change the type of column " + before.name();
            }
            boolean renamed = !before.name().equals(column.name());
            (renamed ? second : first).add(new ColumnStep.Modify(column));
        }
    }

    private void additions() {
        String previous = null;
        for (ColumnMapping column : to.columns()) {
            if (!old.containsKey(column.attributeNumber())) {
                first.add(new ColumnStep.Add(column, previous));
            }
            previous = column.name();
        }
    }
}
