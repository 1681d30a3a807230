package dev.walshadow.catalog;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.RelationLocator;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Relation descriptors as bytes, little-endian; types and type lists that several relations share
 * are written once.
 *
 * <pre>
 * u32 number of types, then each:
 *     i32 oid, string schema, string name, u8 kind, u8 category, i32 element, i32 base,
 *     i32 baseModifier, i32 length, u8 byValue, u8 alignment, u8 delimiter, u8 structure, then
 *     0 plain; 1 array domain: i32 dimensions; 2 enum: u32 count, each i32 oid, string label;
 *     3 composite: i32 relation, attributes; 4 range: i32 subtype; 5 multirange: i32 range;
 *     6 foreign: string library, string function
 * u32 number of type lists, then each: u32 count, u32 type indexes
 * u32 number of relations, then each:
 *     i32 key index, i32 oid, i32 database, string database, string schema, string name, u8 kind,
 *     u8 persistence, u8 hasLocator [i32 tablespace, i32 database, i32 number], i32 toast, i32 owner,
 *     u8 replicaIdentity, string accessMethod, u32 parentOid, attributes,
 *     u32 count, i32 primary key attnums; u32 count, i32 identity key attnums; u32 type list index
 * attributes: u32 count, each:
 *     i32 number, string name, i32 type, i32 modifier, i32 length, u8 byValue, u8 alignment,
 *     u8 storage, u8 notNull, u8 dropped, u8 generated, u8 hasMissing [string missing],
 *     i32 dimensions
 * string: u32 length in bytes, UTF-8
 * </pre>
 */
public final class DescriptorFormat {
    static final int PLAIN = 0;
    static final int ARRAY_DOMAIN = 1;
    static final int ENUMERATION = 2;
    static final int COMPOSITE = 3;
    static final int RANGE = 4;
    static final int MULTIRANGE = 5;
    static final int FOREIGN = 6;

    private DescriptorFormat() {}

    /** Appends the relations. */
    public static void encode(Collection<RelationDescriptor> relations, ByteBuilder out) {
        Map<TypeDescriptor, Integer> types = new LinkedHashMap<>();
        Map<List<TypeDescriptor>, Integer> lists = new LinkedHashMap<>();
        for (RelationDescriptor relation : relations) {
            if (lists.putIfAbsent(relation.types(), lists.size()) == null) {
                for (TypeDescriptor type : relation.types()) {
                    types.putIfAbsent(type, types.size());
                }
            }
        }
        out.putInt(types.size());
        for (TypeDescriptor type : types.keySet()) {
            encodeType(type, out);
        }
        out.putInt(lists.size());
        for (List<TypeDescriptor> list : lists.keySet()) {
            out.putInt(list.size());
            for (TypeDescriptor type : list) {
                out.putInt(types.getOrDefault(type, -1));
            }
        }
        out.putInt(relations.size());
        for (RelationDescriptor relation : relations) {
            encodeRelation(relation, out);
            out.putInt(lists.getOrDefault(relation.types(), -1));
        }
    }

    private static void encodeType(TypeDescriptor type, ByteBuilder out) {
        out.putInt(type.oid());
        putString(type.schema(), out);
        putString(type.name(), out);
        out.putByte(type.kind());
        out.putByte(type.category());
        out.putInt(type.elementOid());
        out.putInt(type.baseTypeOid());
        out.putInt(type.baseTypeModifier());
        out.putInt(type.length());
        putBoolean(type.byValue(), out);
        out.putByte(type.alignment());
        out.putByte(type.delimiter());
        encodeStructure(type.structure(), out);
    }

    private static void encodeStructure(TypeStructure structure, ByteBuilder out) {
        switch (structure) {
            case TypeStructure.Plain _ -> out.putByte(PLAIN);
            case TypeStructure.ArrayDomain domain -> {
                out.putByte(ARRAY_DOMAIN);
                out.putInt(domain.dimensions());
            }
            case TypeStructure.Enumeration enumeration -> {
                out.putByte(ENUMERATION);
                out.putInt(enumeration.labels().size());
                for (TypeStructure.EnumLabel label : enumeration.labels()) {
                    out.putInt(label.oid());
                    putString(label.label(), out);
                }
            }
            case TypeStructure.Composite composite -> {
                out.putByte(COMPOSITE);
                out.putInt(composite.relationOid());
                encodeAttributes(composite.attributes(), out);
            }
            case TypeStructure.Range range -> {
                out.putByte(RANGE);
                out.putInt(range.subtypeOid());
            }
            case TypeStructure.Multirange multirange -> {
                out.putByte(MULTIRANGE);
                out.putInt(multirange.rangeOid());
            }
            case TypeStructure.Foreign foreign -> {
                out.putByte(FOREIGN);
                putString(foreign.library(), out);
                putString(foreign.function(), out);
            }
        }
    }

    private static void encodeRelation(RelationDescriptor relation, ByteBuilder out) {
        out.putInt(relation.keyIndexOid());
        out.putInt(relation.oid());
        out.putInt(relation.databaseOid());
        putString(relation.name().database(), out);
        putString(relation.name().schema(), out);
        putString(relation.name().name(), out);
        out.putByte(relation.kind());
        out.putByte(relation.persistence());
        RelationLocator locator = relation.locator();
        putBoolean(locator != null, out);
        if (locator != null) {
            out.putInt(locator.tablespaceOid());
            out.putInt(locator.databaseOid());
            out.putInt(locator.relationNumber());
        }
        out.putInt(relation.toastRelationOid());
        out.putInt(relation.ownerRelationOid());
        out.putByte(relation.replicaIdentity());
        putString(relation.accessMethod(), out);
        out.putInt(relation.parentOid());
        encodeAttributes(relation.attributes(), out);
        putNumbers(relation.primaryKey(), out);
        putNumbers(relation.identityKey(), out);
    }

    private static void encodeAttributes(List<AttributeDescriptor> attributes, ByteBuilder out) {
        out.putInt(attributes.size());
        for (AttributeDescriptor attribute : attributes) {
            encodeAttribute(attribute, out);
        }
    }

    private static void encodeAttribute(AttributeDescriptor attribute, ByteBuilder out) {
        out.putInt(attribute.number());
        putString(attribute.name(), out);
        out.putInt(attribute.typeOid());
        out.putInt(attribute.typeModifier());
        out.putInt(attribute.length());
        putBoolean(attribute.byValue(), out);
        out.putByte(attribute.alignment());
        out.putByte(attribute.storage());
        putBoolean(attribute.notNull(), out);
        putBoolean(attribute.dropped(), out);
        out.putByte(attribute.generated());
        String missing = attribute.missingValue();
        putBoolean(missing != null, out);
        if (missing != null) {
            putString(missing, out);
        }
        out.putInt(attribute.dimensions());
    }

    private static void putNumbers(List<Integer> numbers, ByteBuilder out) {
        out.putInt(numbers.size());
        for (int number : numbers) {
            out.putInt(number);
        }
    }

    private static void putBoolean(boolean value, ByteBuilder out) {
        out.putByte(value ? 1 : 0);
    }

    private static void putString(String value, ByteBuilder out) {
        byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
        out.putInt(bytes.length);
        out.putBytes(bytes);
    }

    /**
     * Reads what {@link #encode} wrote and must fill exactly {@code length} bytes.
     *
     * @param pool makes equal parts one object; may be shared over many calls
     * @throws dev.walshadow.base.HaltException if the bytes are anything else
     */
    public static List<RelationDescriptor> decode(
            byte[] bytes, int offset, int length, DescriptorPool pool) {
        DescriptorReader reader = new DescriptorReader(bytes, offset, length, pool);
        List<RelationDescriptor> relations = reader.relations();
        reader.expectEnd();
        return relations;
    }

    /** The relation number part of the format in a position that may have none. */
    static @Nullable RelationLocator locator(DescriptorReader reader) {
        return reader.flag()
                ? new RelationLocator(reader.number(), reader.number(), reader.number())
                : null;
    }
}
