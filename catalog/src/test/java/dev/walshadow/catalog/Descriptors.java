package dev.walshadow.catalog;

import dev.walshadow.postgres.RelationLocator;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Makes descriptors for tests. */
final class Descriptors {
    static final int DATABASE = 5;

    private Descriptors() {}

    static TypeDescriptor type(int oid, String name) {
        return new TypeDescriptor(oid, "pg_catalog", name, 'b', 'N', 0, 0, -1, 4, true, 'i');
    }

    static AttributeDescriptor attribute(int number, String name) {
        return new AttributeDescriptor(
                number, name, 23, -1, 4, true, 'i', 'p', false, false, '\0', null);
    }

    static RelationDescriptor table(int oid, int relationNumber, String... columns) {
        List<AttributeDescriptor> attributes = new ArrayList<>();
        for (String column : columns) {
            attributes.add(attribute(attributes.size() + 1, column));
        }
        return new RelationDescriptor(
                oid,
                DATABASE,
                new RelationName("public", "t" + oid),
                'r',
                'p',
                locator(relationNumber),
                0,
                0,
                'd',
                "heap",
                0,
                attributes,
                columns.length == 0 ? List.of() : List.of(1),
                List.of(),
                List.of(type(23, "int4")));
    }

    static RelationLocator locator(int relationNumber) {
        return new RelationLocator(1663, DATABASE, relationNumber);
    }

    /** Every field of a relation random. */
    static RelationDescriptor random(Random random) {
        List<AttributeDescriptor> attributes = new ArrayList<>();
        for (int i = 0; i < random.nextInt(6); i++) {
            attributes.add(
                    new AttributeDescriptor(
                            i + 1,
                            "c é" + random.nextInt(100),
                            random.nextInt(),
                            random.nextInt(),
                            random.nextInt(-2, 20),
                            random.nextBoolean(),
                            "csid".charAt(random.nextInt(4)),
                            "pxem".charAt(random.nextInt(4)),
                            random.nextBoolean(),
                            random.nextBoolean(),
                            "\0sv".charAt(random.nextInt(3)),
                            random.nextBoolean() ? null : "missing " + random.nextInt(),
                            random.nextInt(4)));
        }
        List<TypeDescriptor> types = new ArrayList<>();
        for (int i = 0; i < random.nextInt(4); i++) {
            types.add(
                    new TypeDescriptor(
                            random.nextInt(),
                            "s" + random.nextInt(3),
                            "n" + random.nextInt(),
                            'e',
                            'A',
                            random.nextInt(),
                            random.nextInt(),
                            random.nextInt(),
                            random.nextInt(-2, 20),
                            random.nextBoolean(),
                            'd',
                            ",;:".charAt(random.nextInt(3)),
                            structure(random)));
        }
        return new RelationDescriptor(
                random.nextInt(),
                random.nextInt(),
                new RelationName("s" + random.nextInt(5), "Ünï \"" + random.nextInt()),
                'm',
                'u',
                random.nextBoolean()
                        ? null
                        : new RelationLocator(random.nextInt(), random.nextInt(), random.nextInt()),
                random.nextInt(),
                random.nextInt(),
                'f',
                "heap" + random.nextInt(2),
                random.nextInt(),
                attributes,
                List.of(random.nextInt(), random.nextInt()),
                List.of(random.nextInt()),
                types);
    }

    private static TypeStructure structure(Random random) {
        return switch (random.nextInt(6)) {
            case 0 -> TypeStructure.PLAIN;
            case 1 -> new TypeStructure.ArrayDomain(random.nextInt());
            case 2 ->
                    new TypeStructure.Enumeration(
                            List.of(
                                    new TypeStructure.EnumLabel(random.nextInt(), ""),
                                    new TypeStructure.EnumLabel(random.nextInt(), "ü 'x'")));
            case 3 ->
                    new TypeStructure.Composite(
                            random.nextInt(), List.of(attribute(1, "a"), attribute(2, "ß")));
            case 4 -> new TypeStructure.Range(random.nextInt());
            default -> new TypeStructure.Multirange(random.nextInt());
        };
    }
}
