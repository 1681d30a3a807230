package dev.walshadow.pipeline.ddl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.value.TypeOid;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A source table whose shape changes as ALTER TABLE would change it. Each call gives a copy. */
record Shapes(
        RelationName name,
        int locator,
        char identity,
        List<AttributeDescriptor> attributes,
        List<Integer> primaryKey,
        List<Integer> identityKey,
        List<TypeDescriptor> types) {
    static final int INT4_ARRAY = 1007;
    static final int TEXT_ARRAY = 1009;

    private static final List<TypeDescriptor> BUILTIN =
            List.of(
                    type(TypeOid.BOOL, "bool", 0),
                    type(TypeOid.INT4, "int4", 0),
                    type(TypeOid.INT8, "int8", 0),
                    type(TypeOid.FLOAT8, "float8", 0),
                    type(TypeOid.TEXT, "text", 0),
                    type(TypeOid.VARCHAR, "varchar", 0),
                    type(TypeOid.NUMERIC, "numeric", 0),
                    type(TypeOid.UUID, "uuid", 0),
                    type(TypeOid.BYTEA, "bytea", 0),
                    type(TypeOid.DATE, "date", 0),
                    type(TypeOid.TIMESTAMP, "timestamp", 0),
                    type(TypeOid.TIMESTAMPTZ, "timestamptz", 0),
                    type(TypeOid.INET, "inet", 0),
                    type(TypeOid.CIDR, "cidr", 0),
                    type(INT4_ARRAY, "_int4", TypeOid.INT4),
                    type(TEXT_ARRAY, "_text", TypeOid.TEXT));

    private static TypeDescriptor type(int oid, String name, int element) {
        return new TypeDescriptor(
                oid, "pg_catalog", name, 'b', 'X', element, 0, -1, -1, false, 'i');
    }

    /** A table with the key column {@code id int4}. */
    static Shapes table(String schema) {
        return new Shapes(
                        new RelationName(schema, "t"),
                        20_000,
                        'd',
                        List.of(),
                        List.of(1),
                        List.of(),
                        BUILTIN)
                .add("id", TypeOid.INT4);
    }

    static int numeric(int precision, int scale) {
        return ((precision << 16) | (scale & 0x7FF)) + 4;
    }

    Shapes add(String column, int type) {
        return add(column, type, -1, null);
    }

    Shapes add(String column, int type, int modifier, @Nullable String missing) {
        return with(attribute(attributes.size() + 1, column, type, modifier, false, missing));
    }

    Shapes drop(String column) {
        AttributeDescriptor old = attribute(column);
        String name = "........pg.dropped." + old.number() + "........";
        return with(attribute(old.number(), name, 0, -1, true, null));
    }

    Shapes rename(String column, String to) {
        AttributeDescriptor old = attribute(column);
        return with(
                attribute(
                        old.number(),
                        to,
                        old.typeOid(),
                        old.typeModifier(),
                        false,
                        old.missingValue()));
    }

    Shapes retype(String column, int type, int modifier) {
        AttributeDescriptor old = attribute(column);
        return with(attribute(old.number(), column, type, modifier, false, old.missingValue()));
    }

    Shapes key(String... columns) {
        List<Integer> key = new ArrayList<>();
        for (String column : columns) {
            key.add(attribute(column).number());
        }
        return new Shapes(name, locator, identity, attributes, key, identityKey, types);
    }

    Shapes rewritten() {
        return new Shapes(name, locator + 1, identity, attributes, primaryKey, identityKey, types);
    }

    Shapes moved(String schema, String table) {
        return new Shapes(
                new RelationName(schema, table),
                locator,
                identity,
                attributes,
                primaryKey,
                identityKey,
                types);
    }

    Shapes identity(char identity) {
        return new Shapes(name, locator, identity, attributes, primaryKey, identityKey, types);
    }

    AttributeDescriptor attribute(String column) {
        return attributes.stream()
                .filter(a -> !a.dropped() && a.name().equals(column))
                .findFirst()
                .orElseThrow();
    }

    private static AttributeDescriptor attribute(
            int number,
            String name,
            int type,
            int modifier,
            boolean dropped,
            @Nullable String missing) {
        return new AttributeDescriptor(
                number, name, type, modifier, -1, false, 'i', 'x', false, dropped, '\0', missing);
    }

    private Shapes with(AttributeDescriptor attribute) {
        List<AttributeDescriptor> all = new ArrayList<>(attributes);
        if (attribute.number() > all.size()) {
            all.add(attribute);
        } else {
            all.set(attribute.number() - 1, attribute);
        }
        return new Shapes(name, locator, identity, all, primaryKey, identityKey, types);
    }

    RelationDescriptor shape() {
        return new RelationDescriptor(
                16_384,
                5,
                name,
                'r',
                'p',
                new RelationLocator(1663, 5, locator),
                0,
                0,
                identity,
                "heap",
                0,
                attributes,
                primaryKey,
                identityKey,
                types);
    }

    TableMapping mapping() {
        Derivation derivation = TableMapping.derive(shape(), MappingRules.defaults());
        assertThat(derivation).isInstanceOf(Derivation.Mapped.class);
        return ((Derivation.Mapped) derivation).mapping();
    }

    /** The decision for the way from this shape to another. */
    ShapeChange to(Shapes after) {
        return to(after, false);
    }

    ShapeChange to(Shapes after, boolean rekeyable) {
        return ShapeChange.decide(
                mapping(), shape(), after.shape(), MappingRules.defaults(), rekeyable);
    }
}
