package dev.walshadow.pipeline.ddl;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Whether values that are stored already print differently under a changed catalog. */
final class PrintedTypes {
    private final Map<Integer, TypeDescriptor> before = new HashMap<>();
    private final Map<Integer, TypeDescriptor> after = new HashMap<>();
    private final Set<Integer> seen = new HashSet<>();

    private PrintedTypes(List<TypeDescriptor> before, List<TypeDescriptor> after) {
        before.forEach(type -> this.before.put(type.oid(), type));
        after.forEach(type -> this.after.put(type.oid(), type));
    }

    /** Of the type or anything that it is made of. */
    static boolean differ(int typeOid, List<TypeDescriptor> before, List<TypeDescriptor> after) {
        return new PrintedTypes(before, after).differs(typeOid);
    }

    private boolean differs(int oid) {
        TypeDescriptor old = before.get(oid);
        TypeDescriptor now = after.get(oid);
        if (old == null || now == null || !seen.add(oid)) {
            return false;
        }
        if (differs(now.elementOid()) || differs(now.baseTypeOid())) {
            return true;
        }
        return switch (now.structure()) {
            case TypeStructure.Plain _, TypeStructure.Foreign _, TypeStructure.ArrayDomain _ ->
                    false;
            case TypeStructure.Enumeration labels ->
                    old.structure() instanceof TypeStructure.Enumeration known
                            && !labels.labels().containsAll(known.labels());
            case TypeStructure.Composite row ->
                    (old.structure() instanceof TypeStructure.Composite known
                                    && !sameFields(known.attributes(), row.attributes()))
                            || row.attributes().stream()
                                    .anyMatch(attribute -> differs(attribute.typeOid()));
            case TypeStructure.Range range -> differs(range.subtypeOid());
            case TypeStructure.Multirange multirange -> differs(multirange.rangeOid());
        };
    }

    private static boolean sameFields(List<AttributeDescriptor> a, List<AttributeDescriptor> b) {
        boolean same = a.size() == b.size();
        for (int i = 0; same && i < a.size(); i++) {
            AttributeDescriptor one = a.get(i);
            AttributeDescriptor other = b.get(i);
            same =
                    one.typeOid() == other.typeOid()
                            && one.typeModifier() == other.typeModifier()
                            && one.dropped() == other.dropped()
                            && Objects.equals(one.missingValue(), other.missingValue());
        }
        return same;
    }
}
