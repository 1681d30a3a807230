package dev.walshadow.catalog;

import java.util.List;

/** What a type is made of, beyond its {@code pg_type} row. Immutable. */
public sealed interface TypeStructure {
    /** Nothing more is known: built-in base types, pseudo types, domains over scalars. */
    TypeStructure PLAIN = new Plain();

    record Plain() implements TypeStructure {}

    /**
     * A base type that does not come with PostgreSQL.
     *
     * @param library probin of its output function, e.g. {@code $libdir/seg}; empty if that is one
     *     of PostgreSQL's own
     * @param function prosrc, its symbol in the library
     */
    record Foreign(String library, String function) implements TypeStructure {
        /** Whether PostgreSQL itself has the output function. */
        public boolean isBuiltin() {
            return library.isEmpty();
        }
    }

    /**
     * A domain over an array.
     *
     * @param dimensions typndims: as many as its declaration wrote; PostgreSQL enforces none
     */
    record ArrayDomain(int dimensions) implements TypeStructure {}

    /**
     * An enum's labels in their sort order.
     *
     * @param labels an added label has an OID of its own, a renamed one keeps its OID
     */
    record Enumeration(List<EnumLabel> labels) implements TypeStructure {
        public Enumeration {
            labels = List.copyOf(labels);
        }
    }

    /**
     * @param oid pg_enum.oid: what a stored value is
     */
    record EnumLabel(int oid, String label) {}

    /**
     * A composite type's attributes, dropped ones included.
     *
     * @param relationOid typrelid: what invalidation messages name
     * @param attributes by attnum from 1
     */
    record Composite(int relationOid, List<AttributeDescriptor> attributes)
            implements TypeStructure {
        public Composite {
            attributes = List.copyOf(attributes);
        }
    }

    /**
     * @param subtypeOid rngsubtype
     */
    record Range(int subtypeOid) implements TypeStructure {}

    /**
     * @param rangeOid the range type that it holds
     */
    record Multirange(int rangeOid) implements TypeStructure {}
}
