package dev.walshadow.pipeline.ddl;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MetaColumns;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One decision of {@link ShapeChange#decide}. */
final class ShapeDecision {
    /**
     * @param derived the mapping of {@code after} if there were no pinned one
     * @param rekeyable a key may change by copying the rows that are visible
     */
    record Inputs(
            TableMapping pinned,
            RelationDescriptor before,
            RelationDescriptor after,
            TableMapping derived,
            boolean rekeyable) {}

    private final TableMapping pinned;
    private final RelationDescriptor before;
    private final RelationDescriptor after;
    private final TableMapping derived;
    private final boolean rekeyable;

    /** What this version would have made of the old shape: differences to it are changes. */
    private final Map<Integer, ColumnMapping> derivedBefore;

    private final Map<Integer, ColumnMapping> pinnedColumns;

    ShapeDecision(Inputs inputs, Derivation derivationBefore) {
        this.pinned = inputs.pinned();
        this.before = inputs.before();
        this.after = inputs.after();
        this.derived = inputs.derived();
        this.rekeyable = inputs.rekeyable();
        this.pinnedColumns = byNumber(pinned.columns());
        this.derivedBefore =
                derivationBefore instanceof Derivation.Mapped(TableMapping mapping, var _)
                        ? byNumber(mapping.columns())
                        : Map.of();
    }

    private static Map<Integer, ColumnMapping> byNumber(List<ColumnMapping> columns) {
        Map<Integer, ColumnMapping> all = new HashMap<>();
        columns.forEach(column -> all.put(column.attributeNumber(), column));
        return all;
    }

    ShapeChange decide() {
        TableMapping to = merged();
        String onlySource = onlySource(to);
        if (onlySource != null) {
            return new ShapeChange.Load(to, onlySource);
        }
        if (!pinned.key().equals(to.key())) {
            return new ShapeChange.Rekeyed(to, keyChange(to));
        }
        ColumnSteps steps = ColumnSteps.between(pinned, to);
        String obstacle = steps.obstacle();
        if (obstacle != null) {
            return new ShapeChange.Beside(to, obstacle);
        }
        return steps.all().isEmpty()
                ? new ShapeChange.Unchanged(to)
                : new ShapeChange.InPlace(to, steps.all());
    }

    /** Why ClickHouse's rows do not suffice; null if they do. */
    private @Nullable String onlySource(TableMapping to) {
        boolean rewritten = !Objects.equals(before.locator(), after.locator());
        if (rewritten
                && !(pinned.columns().equals(to.columns()) && pinned.key().equals(to.key()))) {
            return "its rows were rewritten together with a change of its columns";
        }
        if (!pinned.key().equals(to.key()) && (!rekeyable || to.isKeyless())) {
            // rows of the same transaction are logged with either key; places are not stored
            return keyChange(to);
        }
        for (ColumnMapping column : to.columns()) {
            ColumnMapping old = pinnedColumns.get(column.attributeNumber());
            if (old != null
                    && (ColumnCopy.expression(old, column) == null || rendersAnew(column))) {
                return "only PostgreSQL can tell the values of column "
                        + column.sourceName()
                        + " under its new type";
            }
        }
        return null;
    }

    private String keyChange(TableMapping to) {
        return "its key was " + pinned.keyNames() + " and is " + to.keyNames() + " now";
    }

    /**
     * Text that depends on more than the tuple: an enum's label, a composite's attributes. A
     * changed type may print stored values differently. Numbered enum values follow their type by
     * number.
     */
    private boolean rendersAnew(ColumnMapping column) {
        AttributeDescriptor attribute = after.attributes().get(column.attributeNumber() - 1);
        return !isEnumeration(column.type())
                && PrintedTypes.differ(attribute.typeOid(), before.types(), after.types());
    }

    private static boolean isEnumeration(ClickHouseType type) {
        return switch (type.bare()) {
            case ClickHouseType.Enumeration _ -> true;
            case ClickHouseType.Array array -> isEnumeration(array.element());
            default -> false;
        };
    }

    private TableMapping merged() {
        List<ColumnMapping> columns = derived.columns().stream().map(this::merged).toList();
        Set<String> names = new HashSet<>();
        columns.forEach(column -> names.add(column.name()));
        boolean sameKind = pinned.key().isEmpty() == derived.key().isEmpty();
        if (names.size() == columns.size()) {
            if (sameKind && !collides(pinned.meta(), names)) {
                return with(columns, pinned.meta());
            }
            if (!collides(derived.meta(), names)) {
                return with(columns, derived.meta());
            }
        }
        List<ColumnMapping> renamed = new ArrayList<>();
        for (int i = 0; i < columns.size(); i++) {
            renamed.add(named(columns.get(i), derived.columns().get(i).name()));
        }
        return with(renamed, derived.meta());
    }

    private static boolean collides(MetaColumns meta, Set<String> names) {
        return names.contains(meta.commitLsn())
                || names.contains(meta.lsn())
                || meta.stored().stream().anyMatch(names::contains);
    }

    private TableMapping with(List<ColumnMapping> columns, MetaColumns meta) {
        return new TableMapping(
                derived.relationOid(),
                derived.source(),
                derived.database(),
                derived.table(),
                columns,
                derived.key(),
                meta,
                derived.settings(),
                derived.filter(),
                derived.append());
    }

    private ColumnMapping merged(ColumnMapping now) {
        ColumnMapping old = pinnedColumns.get(now.attributeNumber());
        if (old == null) {
            return now;
        }
        boolean keep = keepsType(old, now);
        String name = old.sourceName().equals(now.sourceName()) ? old.name() : now.name();
        return new ColumnMapping(
                now.attributeNumber(),
                now.sourceName(),
                name,
                keep ? old.type() : now.type(),
                keep ? old.conversion() : now.conversion(),
                now.dimensions(),
                now.typeOid(),
                now.typeModifier(),
                (keep ? old.conversion() : now.conversion()) == Conversion.ENUM
                        ? now.enumNumbers()
                        : List.of(),
                now.transform(),
                now.outOfRange());
    }

    private boolean keepsType(ColumnMapping old, ColumnMapping now) {
        ColumnMapping prior = derivedBefore.get(now.attributeNumber());
        boolean sameSource =
                old.typeOid() == now.typeOid() && old.typeModifier() == now.typeModifier();
        if (!Objects.equals(old.transform(), now.transform())
                || old.outOfRange() != now.outOfRange()) {
            return false;
        }
        if (prior == null) {
            return sameSource && pinned.key().equals(derived.key());
        }
        boolean sameTarget =
                prior.type().equals(now.type())
                        && prior.conversion() == now.conversion()
                        && prior.dimensions() == now.dimensions();
        return sameTarget && (sameSource || old.type().equals(prior.type()));
    }

    private static ColumnMapping named(ColumnMapping column, String name) {
        return new ColumnMapping(
                column.attributeNumber(),
                column.sourceName(),
                name,
                column.type(),
                column.conversion(),
                column.dimensions(),
                column.typeOid(),
                column.typeModifier(),
                column.enumNumbers(),
                column.transform(),
                column.outOfRange());
    }
}
