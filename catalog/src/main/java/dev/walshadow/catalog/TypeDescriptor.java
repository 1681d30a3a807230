package dev.walshadow.catalog;

/**
 * A type as {@code pg_type} has it, as far as decoding needs it.
 *
 * @param kind typtype: 'b' base, 'c' composite, 'd' domain, 'e' enum, 'r' range, 'm' multirange,
 *     'p' pseudo
 * @param category typcategory, e.g. 'A' for arrays
 * @param elementOid typelem; for true arrays (typsubscript = array_subscript_handler) the element
 *     type, else 0
 * @param baseTypeOid typbasetype of a domain, else 0
 * @param baseTypeModifier typtypmod of a domain, else -1
 * @param length typlen of this type (used for array elements)
 * @param delimiter typdelim: what array_out puts between elements of this type
 * @param structure labels, attributes, subtype
 */
public record TypeDescriptor(
        int oid,
        String schema,
        String name,
        char kind,
        char category,
        int elementOid,
        int baseTypeOid,
        int baseTypeModifier,
        int length,
        boolean byValue,
        char alignment,
        char delimiter,
        TypeStructure structure) {

    /** A type that is made of nothing else, and whose arrays have commas. */
    public TypeDescriptor(
            int oid,
            String schema,
            String name,
            char kind,
            char category,
            int elementOid,
            int baseTypeOid,
            int baseTypeModifier,
            int length,
            boolean byValue,
            char alignment) {
        this(
                oid,
                schema,
                name,
                kind,
                category,
                elementOid,
                baseTypeOid,
                baseTypeModifier,
                length,
                byValue,
                alignment,
                ',',
                TypeStructure.PLAIN);
    }

    /** The same type with another structure. */
    public TypeDescriptor with(TypeStructure other) {
        return new TypeDescriptor(
                oid,
                schema,
                name,
                kind,
                category,
                elementOid,
                baseTypeOid,
                baseTypeModifier,
                length,
                byValue,
                alignment,
                delimiter,
                other);
    }
}
