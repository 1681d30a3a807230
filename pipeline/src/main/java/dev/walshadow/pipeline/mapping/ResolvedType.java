package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.postgres.value.ArrayView;
import dev.walshadow.postgres.value.TypeOid;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A type with its domains resolved and its array taken apart.
 *
 * @param descriptor of the scalar, or of the array's element (its own domains resolved; an array
 *     again where the element is a domain over an array)
 * @param modifier atttypmod that applies to it
 * @param dimensions 0 for a scalar; of an array what its declaration wrote (PostgreSQL enforces
 *     none), at least 1
 */
public record ResolvedType(TypeDescriptor descriptor, int modifier, int dimensions) {

    /** Null, if the descriptor lacks a type on the way. */
    public static @Nullable ResolvedType of(RelationDescriptor shape, AttributeDescriptor column) {
        ResolvedType whole =
                base(shape.types(), column.typeOid(), column.typeModifier(), column.dimensions());
        if (whole == null || !isArray(whole.descriptor())) {
            return whole == null ? null : new ResolvedType(whole.descriptor(), whole.modifier(), 0);
        }
        ResolvedType element =
                base(shape.types(), whole.descriptor().elementOid(), whole.modifier(), 0);
        int dimensions = Math.clamp(whole.dimensions(), 1, ArrayView.MAX_DIMENSIONS);
        return element == null
                ? null
                : new ResolvedType(element.descriptor(), element.modifier(), dimensions);
    }

    /** Whether its values are arrays for everybody: int2vector and oidvector are not. */
    static boolean isArray(TypeDescriptor type) {
        return type.elementOid() != 0
                && type.oid() != TypeOid.INT2VECTOR
                && type.oid() != TypeOid.OIDVECTOR;
    }

    /** What the domains are over. */
    private static @Nullable ResolvedType base(
            List<TypeDescriptor> types, int oid, int modifier, int dimensions) {
        TypeDescriptor type = find(types, oid);
        if (type == null || type.kind() != 'd') {
            return type == null ? null : new ResolvedType(type, modifier, dimensions);
        }
        int inherited = modifier >= 0 ? modifier : type.baseTypeModifier();
        int declared =
                type.structure() instanceof TypeStructure.ArrayDomain domain
                        ? domain.dimensions()
                        : dimensions;
        return base(types, type.baseTypeOid(), inherited, declared);
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
