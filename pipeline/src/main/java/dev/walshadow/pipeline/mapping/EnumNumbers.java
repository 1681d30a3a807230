package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.TypeStructure.EnumLabel;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.EnumValue;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Gives numbers to an enum's labels, keeping those that were given before. */
final class EnumNumbers {
    /** Enum16 has 65,536 numbers; those above 0 are used. */
    private static final int MOST = Short.MAX_VALUE;

    private EnumNumbers() {}

    /**
     * The labels with their numbers, by number. Labels of {@code pinned} that the enum no longer
     * has stay, since stored rows may hold them.
     *
     * @return empty if ClickHouse has no such enum: no label at all, or too many
     */
    static List<EnumNumber> of(List<EnumLabel> labels, List<EnumNumber> pinned) {
        Map<Integer, String> names = new HashMap<>();
        labels.forEach(label -> names.put(label.oid(), label.label()));
        Set<String> taken = new HashSet<>(names.values());
        List<EnumNumber> numbers = new ArrayList<>();
        Set<Integer> numbered = new HashSet<>();
        int last = 0;
        for (EnumNumber before : pinned) {
            last = Math.max(last, before.number());
            String name = names.get(before.labelOid());
            if (name == null && !taken.add(before.label())) {
                // dropped by hand and made anew: one name in ClickHouse, so one number
                int successor = oidOf(before.label(), labels);
                if (successor != 0 && !isPinned(successor, pinned)) {
                    numbers.add(new EnumNumber(successor, before.label(), before.number()));
                    numbered.add(successor);
                }
                continue;
            }
            numbers.add(
                    name == null
                            ? before
                            : new EnumNumber(before.labelOid(), name, before.number()));
            numbered.add(before.labelOid());
        }
        for (EnumLabel label : labels) {
            if (numbered.add(label.oid())) {
                numbers.add(new EnumNumber(label.oid(), label.label(), ++last));
            }
        }
        return last > MOST ? List.of() : List.copyOf(numbers);
    }

    private static int oidOf(String name, List<EnumLabel> labels) {
        for (EnumLabel label : labels) {
            if (label.label().equals(name)) {
                return label.oid();
            }
        }
        return 0;
    }

    private static boolean isPinned(int labelOid, List<EnumNumber> pinned) {
        return pinned.stream().anyMatch(number -> number.labelOid() == labelOid);
    }

    static ClickHouseType type(List<EnumNumber> numbers) {
        return new ClickHouseType.Enumeration(
                Short.SIZE,
                numbers.stream().map(n -> new EnumValue(n.label(), n.number())).toList());
    }
}
