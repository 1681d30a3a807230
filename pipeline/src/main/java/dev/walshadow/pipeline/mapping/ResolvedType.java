package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A type with its domains resolved and its array taken apart.
 *
 * @param descriptor of the scalar, or of the array's element (its own domains resolved)
 * @param modifier atttypmod that applies to it
 * @param dimensions 0, or 1 for an array: PostgreSQL does not fix how many dimensions it has
 */
public record ResolvedType(TypeDescriptor descriptor, int modifier, int dimensions) {

    /** Null, if the descriptor lacks a type on the way. */
    public static @Nullable ResolvedType of(RelationDescriptor shape, AttributeDescriptor column) {
        return of(shape.types(), column.typeOid(), column.typeModifier(), 0);
    }

    private static @Nullable ResolvedType of(
            List<TypeDescriptor> types, int oid, int modifier, int dimensions) {
        TypeDescriptor type = find(types, oid);
        if (type == null) {
            return null;
        }
        if (type.kind() == 'd') {
            int inherited = modifier >= 0 ? modifier : type.baseTypeModifier();
            return of(types, type.baseTypeOid(), inherited, dimensions);
        }
        if (type.elementOid() != 0) {
            return of(types, type.elementOid(), modifier, dimensions + 1);
        }
        return new ResolvedType(type, modifier, dimensions);
    }

    private static @Nullable TypeDescriptor find(List<TypeDescriptor> types, int oid) {
        for (TypeDescriptor type : types) {
            if (type.oid() == oid) {
                return type;
            }
        }
        return null;
    }
}
