package dev.walshadow.catalog;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Compares what two descriptors mean for decoding and mapping. */
public final class RelationShapes {
    private RelationShapes() {}

    /**
     * The first difference that matters, for people to read; null if there is none. NOT NULL, where
     * it is stored, storage strategies and the TOAST relation's OID do not matter; that it has a
     * TOAST relation at all does, for row filters.
     */
    public static @Nullable String shapeDiffers(RelationDescriptor a, RelationDescriptor b) {
        String difference = relationDiffers(a, b);
        if (difference == null) {
            difference = columnsDiffer(a, b);
        }
        boolean toasts = a.toastRelationOid() == 0 && b.toastRelationOid() != 0;
        return difference == null && toasts ? "values may be stored out of line now" : difference;
    }

    private static @Nullable String relationDiffers(RelationDescriptor a, RelationDescriptor b) {
        if (a.oid() != b.oid() || a.databaseOid() != b.databaseOid()) {
            return "another relation: OID "
                    + Integer.toUnsignedString(a.oid())
                    + " became "
                    + Integer.toUnsignedString(b.oid());
        }
        if (!a.name().equals(b.name())) {
            return changed("the name", a.name(), b.name());
        }
        if (a.kind() != b.kind()) {
            return changed("relkind", a.kind(), b.kind());
        }
        if (a.persistence() != b.persistence()) {
            return changed("relpersistence", a.persistence(), b.persistence());
        }
        if (!a.accessMethod().equals(b.accessMethod())) {
            return changed("the access method", a.accessMethod(), b.accessMethod());
        }
        if (a.replicaIdentity() != b.replicaIdentity()) {
            return changed("the replica identity", a.replicaIdentity(), b.replicaIdentity());
        }
        if (a.parentOid() != b.parentOid()) {
            return b.partition() ? "it became a partition" : "it is no partition any more";
        }
        if (!a.primaryKey().equals(b.primaryKey())) {
            return changed(
                    "the primary key", keyNames(a, a.primaryKey()), keyNames(b, b.primaryKey()));
        }
        if (!a.identityKey().equals(b.identityKey())) {
            return changed(
                    "the identity index",
                    keyNames(a, a.identityKey()),
                    keyNames(b, b.identityKey()));
        }
        return null;
    }

    private static @Nullable String columnsDiffer(RelationDescriptor a, RelationDescriptor b) {
        Map<Integer, TypeDescriptor> typesOfA = types(a);
        Map<Integer, TypeDescriptor> typesOfB = types(b);
        int common = Math.min(a.attributes().size(), b.attributes().size());
        for (int i = 0; i < common; i++) {
            String difference =
                    columnDiffers(a.attributes().get(i), b.attributes().get(i), typesOfA, typesOfB);
            if (difference != null) {
                return difference;
            }
        }
        if (b.attributes().size() > common) {
            return "column " + b.attributes().get(common).name() + " was added";
        }
        if (a.attributes().size() > common) {
            return "column " + a.attributes().get(common).name() + " is gone";
        }
        return typesDiffer(typesOfA, typesOfB);
    }

    private static @Nullable String columnDiffers(
            AttributeDescriptor a,
            AttributeDescriptor b,
            Map<Integer, TypeDescriptor> typesOfA,
            Map<Integer, TypeDescriptor> typesOfB) {
        if (a.dropped() != b.dropped()) {
            return "column " + (b.dropped() ? a : b).name() + " was dropped";
        }
        if (!a.dropped() && !a.name().equals(b.name())) {
            return "column " + a.name() + " was renamed to " + b.name();
        }
        String column = "column " + a.name();
        if (a.typeOid() != b.typeOid() || a.typeModifier() != b.typeModifier()) {
            return changed(column + "'s type", typeLabel(a, typesOfA), typeLabel(b, typesOfB));
        }
        if (a.dimensions() != b.dimensions()) {
            return changed(column + "'s declared dimensions", a.dimensions(), b.dimensions());
        }
        if (a.length() != b.length()
                || a.alignment() != b.alignment()
                || a.byValue() != b.byValue()) {
            return changed(
                    column + "'s length and alignment",
                    a.length() + " " + a.alignment(),
                    b.length() + " " + b.alignment());
        }
        if (a.generated() != b.generated()) {
            return column + " is generated in another way";
        }
        if (!Objects.equals(a.missingValue(), b.missingValue())) {
            return changed(column + "'s missing value", a.missingValue(), b.missingValue());
        }
        return null;
    }

    private static @Nullable String typesDiffer(
            Map<Integer, TypeDescriptor> a, Map<Integer, TypeDescriptor> b) {
        for (TypeDescriptor type : a.values()) {
            TypeDescriptor other = b.get(type.oid());
            if (other != null && !type.equals(other)) {
                return "type "
                        + type.schema()
                        + "."
                        + type.name()
                        + " changed"
                        + labelsDiffer(type.structure(), other.structure());
            }
        }
        return null;
    }

    /** Which label, where only labels differ; else empty. */
    private static String labelsDiffer(TypeStructure a, TypeStructure b) {
        if (!(a instanceof TypeStructure.Enumeration before)
                || !(b instanceof TypeStructure.Enumeration after)) {
            return "";
        }
        Map<Integer, String> known = new HashMap<>();
        before.labels().forEach(label -> known.put(label.oid(), label.label()));
        for (TypeStructure.EnumLabel label : after.labels()) {
            String was = known.get(label.oid());
            if (was == null) {
                return ": label " + label.label() + " was added";
            }
            if (!was.equals(label.label())) {
                return ": label " + was + " was renamed to " + label.label();
            }
        }
        return "";
    }

    private static Map<Integer, TypeDescriptor> types(RelationDescriptor relation) {
        Map<Integer, TypeDescriptor> types = new HashMap<>();
        for (TypeDescriptor type : relation.types()) {
            types.put(type.oid(), type);
        }
        return types;
    }

    private static String typeLabel(
            AttributeDescriptor attribute, Map<Integer, TypeDescriptor> types) {
        TypeDescriptor type = types.get(attribute.typeOid());
        String name = type == null ? Integer.toUnsignedString(attribute.typeOid()) : type.name();
        return attribute.typeModifier() < 0
                ? name
                : name + " (typmod " + attribute.typeModifier() + ")";
    }

    private static String keyNames(RelationDescriptor relation, List<Integer> numbers) {
        if (numbers.isEmpty()) {
            return "none";
        }
        StringBuilder names = new StringBuilder("(");
        for (int number : numbers) {
            names.append(names.length() > 1 ? ", " : "");
            names.append(
                    number >= 1 && number <= relation.attributes().size()
                            ? relation.attributes().get(number - 1).name()
                            : "attribute " + number);
        }
        return names.append(')').toString();
    }

    private static String changed(String what, @Nullable Object from, @Nullable Object to) {
        return what + " changed from " + from + " to " + to;
    }
}
