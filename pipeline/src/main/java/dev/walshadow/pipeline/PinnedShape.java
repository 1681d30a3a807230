package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.MappingRules.ColumnRule;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Whether a pinned mapping still covers its source table. */
final class PinnedShape {
    private PinnedShape() {}

    /**
     * The first difference on the source's side, for people to read; null if there is none. How a
     * value is mapped is the pin's own affair: a later version's other choice is no difference.
     */
    static @Nullable String difference(
            TableMapping pinned, RelationDescriptor shape, MappingRules rules) {
        if (!pinned.source().equals(shape.name())) {
            return "it was " + pinned.source() + " and is " + shape.name() + " now";
        }
        return switch (TableMapping.derive(shape, rules, pinned)) {
            case Derivation.HeldBack held -> String.join("; ", held.reasons());
            case Derivation.Mapped mapped -> difference(pinned, mapped.mapping(), rules);
        };
    }

    /**
     * What the rules say of this table now must hold; names and types without a rule may differ.
     */
    private static @Nullable String ruled(
            TableMapping pinned, TableMapping now, MappingRules rules) {
        TableRule rule = rules.tables().get(now.source());
        if (rule == null) {
            return null;
        }
        if (!pinned.target().equals(now.target())) {
            return "it is in " + pinned.target() + ", and the rules say " + now.target();
        }
        for (ColumnMapping column : now.columns()) {
            ColumnRule own = rule.columns().get(column.sourceName());
            boolean other =
                    own != null
                            && pinned.columns().stream()
                                    .filter(c -> c.attributeNumber() == column.attributeNumber())
                                    .anyMatch(c ->
                                            (own.name() != null && !c.name().equals(own.name()))
                                                    || (own.type() != null
                                                            && !c.type().equals(column.type())));
            if (other) {
                return "the rules for column " + column.sourceName() + " are other ones";
            }
        }
        return null;
    }

    private static @Nullable String difference(
            TableMapping pinned, TableMapping now, MappingRules rules) {
        String rule = ruled(pinned, now, rules);
        if (rule != null) {
            return rule;
        }
        if (!pinned.key().equals(now.key())) {
            return "its key was " + pinned.key() + " (attnums) and is " + now.key() + " now";
        }
        if (!Objects.equals(pinned.filter(), now.filter())) {
            return "the rule says of other rows that they replicate";
        }
        if (pinned.append() != now.append()) {
            return now.append()
                    ? "it is to keep every version now ([tables] append)"
                    : "it is not to keep every version any more ([tables] append)";
        }
        Map<Integer, ColumnMapping> left = new HashMap<>();
        pinned.columns().forEach(column -> left.put(column.attributeNumber(), column));
        for (ColumnMapping column : now.columns()) {
            ColumnMapping before = left.remove(column.attributeNumber());
            if (before == null) {
                return "column " + column.sourceName() + " was added";
            }
            if (!before.sourceName().equals(column.sourceName())) {
                return "column " + before.sourceName() + " was renamed to " + column.sourceName();
            }
            if (before.typeOid() != column.typeOid()
                    || before.typeModifier() != column.typeModifier()) {
                return "column " + column.sourceName() + " has another type";
            }
            if (!Objects.equals(before.transform(), column.transform())
                    || before.outOfRange() != column.outOfRange()) {
                return "the rules for column " + column.sourceName() + " are other ones";
            }
            if (!before.enumNumbers().isEmpty()
                    && !before.enumNumbers().equals(column.enumNumbers())) {
                return "the enum of column " + column.sourceName() + " has other labels";
            }
        }
        return left.isEmpty()
                ? null
                : "column " + left.values().iterator().next().sourceName() + " was dropped";
    }
}
