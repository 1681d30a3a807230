package dev.walshadow.catalog;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Reads {@link DescriptorFormat}'s bytes, never past their end. */
final class DescriptorReader {
    private final byte[] bytes;
    private final int end;
    private final DescriptorPool pool;
    private int at;

    DescriptorReader(byte[] bytes, int offset, int length, DescriptorPool pool) {
        this.bytes = bytes;
        this.at = offset;
        this.end = offset + length;
        this.pool = pool;
    }

    List<RelationDescriptor> relations() {
        int typeCount = count(8);
        List<TypeDescriptor> types = new ArrayList<>(typeCount);
        for (int i = 0; i < typeCount; i++) {
            types.add(pool.one(type()));
        }
        int listCount = count(4);
        List<List<TypeDescriptor>> lists = new ArrayList<>(listCount);
        for (int i = 0; i < listCount; i++) {
            int size = count(4);
            List<TypeDescriptor> list = new ArrayList<>(size);
            for (int j = 0; j < size; j++) {
                list.add(types.get(index(types.size())));
            }
            lists.add(pool.one(List.copyOf(list)));
        }
        int relationCount = count(8);
        List<RelationDescriptor> relations = new ArrayList<>(relationCount);
        for (int i = 0; i < relationCount; i++) {
            relations.add(relation(lists));
        }
        return relations;
    }

    private TypeDescriptor type() {
        return new TypeDescriptor(
                number(),
                string(),
                string(),
                character(),
                character(),
                number(),
                number(),
                number(),
                number(),
                flag(),
                character(),
                character(),
                structure());
    }

    private TypeStructure structure() {
        int tag = character();
        return switch (tag) {
            case DescriptorFormat.PLAIN -> TypeStructure.PLAIN;
            case DescriptorFormat.ARRAY_DOMAIN -> new TypeStructure.ArrayDomain(number());
            case DescriptorFormat.ENUMERATION -> enumeration();
            case DescriptorFormat.COMPOSITE -> new TypeStructure.Composite(number(), attributes());
            case DescriptorFormat.RANGE -> new TypeStructure.Range(number());
            case DescriptorFormat.MULTIRANGE -> new TypeStructure.Multirange(number());
            case DescriptorFormat.FOREIGN -> new TypeStructure.Foreign(string(), string());
            default -> throw malformed("a type structure of 0 to 5, found " + tag);
        };
    }

    private TypeStructure enumeration() {
        int count = count(8);
        List<TypeStructure.EnumLabel> labels = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            labels.add(new TypeStructure.EnumLabel(number(), string()));
        }
        return new TypeStructure.Enumeration(labels);
    }

    private RelationDescriptor relation(List<List<TypeDescriptor>> lists) {
        int keyIndexOid = number();
        return new RelationDescriptor(
                number(),
                number(),
                new RelationName(string(), string(), string()),
                character(),
                character(),
                DescriptorFormat.locator(this),
                number(),
                number(),
                character(),
                string(),
                number(),
                attributes(),
                numbers(),
                numbers(),
                lists.get(index(lists.size())),
                keyIndexOid);
    }

    private List<AttributeDescriptor> attributes() {
        int count = count(8);
        List<AttributeDescriptor> attributes = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            attributes.add(pool.one(attribute()));
        }
        return pool.one(List.copyOf(attributes));
    }

    private AttributeDescriptor attribute() {
        return new AttributeDescriptor(
                number(),
                string(),
                number(),
                number(),
                number(),
                flag(),
                character(),
                character(),
                flag(),
                flag(),
                character(),
                flag() ? string() : null,
                number());
    }

    List<Integer> numbers() {
        int count = count(4);
        List<Integer> numbers = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            numbers.add(number());
        }
        return pool.one(List.copyOf(numbers));
    }

    int number() {
        require(4);
        int value = LittleEndian.getInt(bytes, at);
        at += 4;
        return value;
    }

    long longNumber() {
        require(8);
        long value = LittleEndian.getLong(bytes, at);
        at += 8;
        return value;
    }

    boolean flag() {
        int value = character();
        if (value > 1) {
            throw malformed("a flag of 0 or 1, found " + value);
        }
        return value == 1;
    }

    private char character() {
        require(1);
        return (char) (bytes[at++] & 0xFF);
    }

    private String string() {
        int length = count(1);
        String value = new String(bytes, at, length, StandardCharsets.UTF_8);
        at += length;
        return pool.one(value);
    }

    /** A number of parts that take at least {@code leastBytes} each. */
    private int count(int leastBytes) {
        int count = number();
        if (count < 0 || (long) count * leastBytes > end - at) {
            throw malformed("a count that fits " + (end - at) + " bytes, found " + count);
        }
        return count;
    }

    private int index(int size) {
        int index = number();
        if (index < 0 || index >= size) {
            throw malformed("an index below " + size + ", found " + index);
        }
        return index;
    }

    private void require(int count) {
        if (end - at < count) {
            throw malformed(count + " more bytes, found " + (end - at));
        }
    }

    boolean isAtEnd() {
        return at == end;
    }

    void expectEnd() {
        if (at != end) {
            throw malformed("the end, found " + (end - at) + " more bytes");
        }
    }

    private HaltException malformed(String expected) {
        return new HaltException(
                CatalogCodes.LOG_CORRUPT,
                "malformed relation descriptors: expected "
                        + expected
                        + " at byte "
                        + at
                        + " of the entry. The descriptor log was damaged: restore the state"
                        + " directory or bootstrap anew.");
    }
}
